import { RE2JS } from 're2js';
import { budgets } from '../core/budgets.js';
import { invalid } from '../core/errors.js';
import { normalizePath, parseFullPath } from './full-path.js';
import { compileGlob, hasWildcard, literalPrefix } from './glob.js';
import { fold } from './names.js';

/** A regular expression found anywhere in a path, case-insensitively, in linear time. */
export function compilePathRegex(field: string, pattern: string): (path: string) => boolean {
  if (Buffer.byteLength(pattern) > budgets.regexpBytes) {
    throw invalid(
      field,
      `A regular expression may have ${budgets.regexpBytes} bytes (budget regexpBytes).`,
    );
  }
  try {
    const regex = RE2JS.compile(pattern.normalize('NFC'), RE2JS.CASE_INSENSITIVE);
    return (path) => regex.test(path.normalize('NFC'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalid(field, `Not a supported regular expression: ${reason}.`);
  }
}

/** A glob over full paths; the domain and vault are patterns as well. All three are folded already. */
export interface PathGlob {
  /** Folded; null for any account, undefined for the caller's own. */
  readonly domain: string | null | undefined;
  /** Folded; null for the caller's personal vault, undefined for the vault that the filter names. */
  readonly vault: string | null | undefined;
  readonly path: string;
  /** What every matching folded path begins with. */
  readonly pathPrefix: string;
}

/**
 * Reads the glob of contract 6.3: a full path in any form or, where the filter names a vault, a path.
 * Choice: a vault with wildcards and no domain means vaults of every account, as in `*` + `/**` for everything; without
 * wildcards it is the caller's account, as in any full path.
 */
export function parseGlob(field: string, pattern: string, hasVault: boolean): PathGlob {
  if (Buffer.byteLength(pattern) > budgets.regexpBytes) {
    throw invalid(field, `A pattern may have ${budgets.regexpBytes} bytes (budget regexpBytes).`);
  }
  if (hasVault && (pattern.startsWith('/') || !isFullPath(pattern))) {
    return { domain: null, vault: undefined, ...foldedPath(pattern) };
  }
  const parsed = parseFullPath(pattern);
  if (parsed === undefined) throw invalid(field, 'A glob begins with a vault: vault:/folder/*.');
  const vault = parsed.vault === null ? null : fold(parsed.vault);
  const domain =
    parsed.domain !== null
      ? fold(parsed.domain)
      : vault !== null && hasWildcard(vault)
        ? null
        : undefined;
  return { domain, vault, ...foldedPath(parsed.path) };
}

/** Whether a folded text matches one part of a glob. */
export function compilePart(pattern: string): (folded: string) => boolean {
  return hasWildcard(pattern) ? compileGlob(pattern) : (folded) => folded === pattern;
}

/** With a vault given, only a text that spells out one (`a:/…`, `~/…`) is a full path. */
function isFullPath(pattern: string): boolean {
  return /^[^/]*:\//.test(pattern) || pattern.startsWith('~');
}

function foldedPath(path: string): Pick<PathGlob, 'path' | 'pathPrefix'> {
  const folded = fold(normalizePath(path));
  return { path: folded, pathPrefix: literalPrefix(folded) };
}

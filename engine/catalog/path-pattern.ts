import { RE2JS } from 're2js';
import { budgets } from '../core/budgets.js';
import { invalidError } from '../core/errors.js';
import { normalizePath, parseFullPath } from './full-path.js';
import { compileGlob, hasWildcard, literalPrefix } from './glob.js';
import { foldName } from './object-names.js';

/** Compiles a regular expression that is searched anywhere in a path, ignoring case, in linear time. Throws if it is unsupported. */
export function compilePathRegex(field: string, pattern: string): (path: string) => boolean {
  requireLength(field, 'A regular expression', pattern);
  try {
    const regex = RE2JS.compile(pattern.normalize('NFC'), RE2JS.CASE_INSENSITIVE);
    return (path) => regex.test(path.normalize('NFC'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalidError(field, `Not a supported regular expression: ${reason}.`);
  }
}

/** A glob over full paths, in parts that are case-folded patterns. */
interface PathGlob {
  /** The pattern of the domain; null for any account, undefined for the caller's account. */
  readonly domain: string | null | undefined;
  /**
   * The pattern for the vault's name. Null means the caller's personal vault; undefined means that the path names no vault, so that the
   * vault filter of the request applies.
   */
  readonly vault: string | null | undefined;
  readonly path: string;
  /** A prefix of every matching path. */
  readonly pathPrefix: string;
}

/**
 * Parses the glob of contract 6.3: a full path in any form or, if the filter names a vault, a path.
 * Choice: if a glob has no domain and its vault has wildcards, the vaults of all accounts are matched, so that `*:/**` matches everything;
 * a vault without wildcards belongs to the caller's account, as in any full path.
 */
export function parseGlob(field: string, pattern: string, hasVault: boolean): PathGlob {
  requireLength(field, 'A glob', pattern);
  if (hasVault && (pattern.startsWith('/') || !isFullPath(pattern))) {
    return { domain: null, vault: undefined, ...foldPath(pattern) };
  }
  const fullPath = parseFullPath(pattern);
  if (fullPath === undefined)
    throw invalidError(field, 'A glob begins with a vault: vault:/folder/*.');
  const vault = fullPath.vault === null ? null : foldName(fullPath.vault);
  const domain =
    fullPath.domain !== null
      ? foldName(fullPath.domain)
      : vault !== null && hasWildcard(vault)
        ? null
        : undefined;
  return { domain, vault, ...foldPath(fullPath.path) };
}

function requireLength(field: string, what: string, pattern: string): void {
  const bytes = Buffer.byteLength(pattern);
  if (bytes <= budgets.regexpBytes) return;
  throw invalidError(
    field,
    `${what} may have at most ${budgets.regexpBytes} bytes, and this one has ${bytes}: shorten it, or send several requests.`,
  );
}

/** Compiles one part of a glob to a matcher of case-folded text. */
export function compileFoldedPattern(pattern: string): (folded: string) => boolean {
  return hasWildcard(pattern) ? compileGlob(pattern) : (folded) => folded === pattern;
}

/** Whether a pattern names a vault (`a:/…`, `~/…`). If the filter already names a vault, only such a pattern is a full path. */
function isFullPath(pattern: string): boolean {
  return /^[^/]*:\//.test(pattern) || pattern.startsWith('~');
}

function foldPath(path: string): Pick<PathGlob, 'path' | 'pathPrefix'> {
  const foldedText = foldName(normalizePath(path));
  return { path: foldedText, pathPrefix: literalPrefix(foldedText) };
}

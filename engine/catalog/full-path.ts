import { AppError } from '../core/errors.js';

/** A full path taken apart. `domain` null is the caller's account, `vault` null the caller's personal vault. */
export interface FullPath {
  readonly domain: string | null;
  readonly vault: string | null;
  /** Begins with a slash and does not end with one, except the root `/`. */
  readonly path: string;
}

/**
 * Reads every form of contract 6.2: `domain:vault:/path`, `domain:vault/path`, `vault:/path`, `vault/path`, `~/path`,
 * `~:/path`, and each without the path. Undefined if the text names no vault. The vault ends at the first slash, so a path may
 * hold colons (`/folder/project: ABCD`).
 */
export function parseFullPath(text: string): FullPath | undefined {
  const slash = text.indexOf('/');
  const head = slash === -1 ? text : text.slice(0, slash);
  const rest = slash === -1 ? '' : text.slice(slash);
  const parts = head.split(':');
  if (parts.length > 1 && parts.at(-1) === '') parts.pop(); // the colon before the path
  const [first = '', second, ...more] = parts.map((part, i) => (i < 2 ? part.trim() : part));
  if (first === '~') {
    const inPath = second === undefined ? [] : [second, ...more];
    return { domain: null, vault: null, path: normalizePath(inPath.join(':') + rest) };
  }
  if (first === '' || second === '') return undefined;
  if (second === undefined) return { domain: null, vault: first, path: normalizePath(rest) };
  const vault = second === '~' ? null : second;
  return { domain: first, vault, path: normalizePath(more.join(':') + rest) };
}

/** A path with one slash in front, none at the end and none doubled; the root is `/`. */
export function normalizePath(path: string): string {
  const names = path.split('/').filter((name) => name !== '');
  return `/${names.join('/')}`;
}

/** The names of a path, root first. */
export function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '');
}

/** `acme:Lab:/runs/variants`. */
export function formatFullPath(domain: string, vault: string, path: string): string {
  return `${domain}:${vault}:${path}`;
}

/** The same, for a text that must be one; `field` is the request's key that the error names. */
export function requireFullPath(field: string, text: string): FullPath {
  const parsed = parseFullPath(text);
  if (parsed !== undefined) return parsed;
  const message = `${JSON.stringify(text.slice(0, 200))} is not a full path such as vault:/folder/name.`;
  throw new AppError('invalid', message, { [field]: [message] });
}

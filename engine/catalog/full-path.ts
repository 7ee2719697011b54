import { AppError } from '../core/errors.js';

/** A parsed full path. `domain` is null for the caller's account, `vault` is null for the caller's personal vault. */
export interface FullPath {
  readonly domain: string | null;
  readonly vault: string | null;
  /** The path: it starts with a slash and, except for the root `/`, does not end with one. */
  readonly path: string;
}

/**
 * Parses every form of contract 6.2: `domain:vault:/path`, `domain:vault/path`, `vault:/path`, `vault/path`, `~/path`, `~:/path`, and each
 * without the path. Returns undefined if the text names no vault. The vault ends at the first slash, or at the second colon before it (the
 * first colon for `~`), so a path may contain colons (`/folder/project: ABCD`).
 */
export function parseFullPath(text: string): FullPath | undefined {
  const slash = text.indexOf('/');
  const head = slash === -1 ? text : text.slice(0, slash);
  const restOfText = slash === -1 ? '' : text.slice(slash);
  const parts = head.split(':');
  if (parts.length > 1 && parts.at(-1) === '') parts.pop(); // the empty part after the colon that precedes the path
  const [first = '', second, ...more] = parts.map((part, i) => (i < 2 ? part.trim() : part));
  if (first === '~') {
    const inPath = second === undefined ? [] : [second, ...more];
    return { domain: null, vault: null, path: normalizePath(inPath.join(':') + restOfText) };
  }
  if (first === '' || second === '') return undefined;
  if (second === undefined) return { domain: null, vault: first, path: normalizePath(restOfText) };
  const vault = second === '~' ? null : second;
  return { domain: first, vault, path: normalizePath(more.join(':') + restOfText) };
}

/** The path with one leading slash, no trailing slash and no empty components; the root is `/`. */
export function normalizePath(path: string): string {
  const names = path.split('/').filter((name) => name !== '');
  return `/${names.join('/')}`;
}

/** The components of a path, root first. */
export function pathSegments(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '');
}

/** Parses a full path; throws if the text is not one. `field` is the key of the request that the error names. */
export function requireFullPath(field: string, text: string): FullPath {
  const fullPath = parseFullPath(text);
  if (fullPath !== undefined) return fullPath;
  const message = `${JSON.stringify(text.slice(0, 200))} is not a full path such as vault:/folder/name.`;
  throw new AppError('invalid', message, { [field]: [message] });
}

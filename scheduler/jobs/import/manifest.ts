import type { JsonObject } from '../../../engine/core/types.js';
import type { FileHints } from './check.js';

/** One file of a manifest, as the import keeps it; checked when the import was created. */
export interface ManifestEntry {
  readonly place:
    | { readonly kind: 'object'; readonly objectId: number }
    | { readonly kind: 'url'; readonly url: string };
  /** As given; empty names count as none. */
  readonly name: string | null;
  readonly format: string | null;
  readonly bytes: number | null;
  /** Lower-case hex, from `md5` or `base64_md5`. */
  readonly md5: string | null;
  readonly readerParams: JsonObject | null;
  readonly entityParams: JsonObject | null;
  readonly validationParams: JsonObject | null;
}

/** The files of a manifest, in its order. */
export function manifestEntries(manifest: JsonObject): readonly ManifestEntry[] {
  const files = Array.isArray(manifest['files'])
    ? (manifest['files'] as readonly JsonObject[])
    : [];
  return files.map((file) => ({
    place: isText(file['url'])
      ? { kind: 'url', url: file['url'] }
      : { kind: 'object', objectId: Number(file['object_id']) },
    name: text(file['name']),
    format: text(file['format']),
    bytes: file['size'] === null || file['size'] === undefined ? null : Number(file['size']),
    md5: md5Of(file),
    readerParams: object(file['reader_params']),
    entityParams: object(file['entity_params']),
    validationParams: object(file['validation_params']),
  }));
}

/** What the entry and the file's own name say of how to read it. */
export function hintsOf(filename: string, entry: ManifestEntry | null): FileHints {
  return {
    names: entry?.name ? [entry.name, filename] : [filename],
    format: entry?.format ?? null,
    readerParams: entry?.readerParams ?? null,
  };
}

function md5Of(file: JsonObject): string | null {
  const hex = text(file['md5']);
  if (hex !== null) return hex.toLowerCase();
  const base64 = text(file['base64_md5']);
  return base64 === null ? null : Buffer.from(base64, 'base64').toString('hex');
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function text(value: unknown): string | null {
  return isText(value) ? value : null;
}

function object(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null;
}

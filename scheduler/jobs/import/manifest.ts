import type { JsonObject } from '../../../engine/core/types.js';
import type { FileHints } from './reader-choice.js';

/** A file of a manifest, which was checked when the import was created. */
export interface ManifestEntry {
  readonly location:
    | { readonly kind: 'object'; readonly objectId: number }
    | { readonly kind: 'url'; readonly url: string };
  /** The name of the file; null if it is missing or empty. */
  readonly name: string | null;
  readonly format: string | null;
  readonly bytes: number | null;
  /** Lower-case hex, from `md5` or `base64_md5`. */
  readonly md5: string | null;
  readonly readerParams: JsonObject | null;
  readonly entityParams: JsonObject | null;
  readonly validationParams: JsonObject | null;
}

/** Returns the files of a manifest, in order. */
export function manifestEntries(manifest: JsonObject): readonly ManifestEntry[] {
  const files = Array.isArray(manifest['files'])
    ? (manifest['files'] as readonly JsonObject[])
    : [];
  return files.map((file) => ({
    location: isNonEmpty(file['url'])
      ? { kind: 'url', url: file['url'] }
      : { kind: 'object', objectId: Number(file['object_id']) },
    name: nonEmptyOrNull(file['name']),
    format: nonEmptyOrNull(file['format']),
    bytes: file['size'] === null || file['size'] === undefined ? null : Number(file['size']),
    md5: md5Of(file),
    readerParams: objectOrNull(file['reader_params']),
    entityParams: objectOrNull(file['entity_params']),
    validationParams: objectOrNull(file['validation_params']),
  }));
}

/** Returns what a manifest's entry and the file's own name say about the reader. */
export function fileHintsOf(filename: string, entry: ManifestEntry | null): FileHints {
  return {
    names: entry?.name ? [entry.name, filename] : [filename],
    format: entry?.format ?? null,
    readerParams: entry?.readerParams ?? null,
  };
}

function md5Of(file: JsonObject): string | null {
  const hex = nonEmptyOrNull(file['md5']);
  if (hex !== null) return hex.toLowerCase();
  const base64 = nonEmptyOrNull(file['base64_md5']);
  return base64 === null ? null : Buffer.from(base64, 'base64').toString('hex');
}

function isNonEmpty(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function nonEmptyOrNull(value: unknown): string | null {
  return isNonEmpty(value) ? value : null;
}

function objectOrNull(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null;
}

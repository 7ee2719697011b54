import type { JsonObject } from '../../../engine/core/types.js';
import { invalid } from '../../../engine/core/errors.js';
import { readerForFile, readerNamed, readers } from '../../../readers/index.js';
import type { Reader } from '../../../readers/reader.js';

/** The reader that an import of this file would use: the one that is asked for, else by the file's name. */
export function readerOf(filename: string, params: JsonObject | null): Reader {
  const asked = params?.['reader'];
  return typeof asked === 'string' && asked !== '' ? readerNamed(asked) : readerForFile(filename);
}

/**
 * The parameters as the reader itself gets them. The import's genome build is one of them, for readers that know of
 * builds; one in the parameters themselves goes before it.
 */
export function parametersOf(params: JsonObject | null, genomeBuild: string | null): JsonObject {
  const { reader: _, ...own } = params ?? {};
  return genomeBuild === null ? own : { genome_build: genomeBuild, ...own };
}

/** Refuses, with the request's field, an import whose reader or its parameters are wrong: before a task exists. */
export function checkReader(
  filename: string,
  params: JsonObject | null,
  genomeBuild: string | null,
): void {
  readerOf(filename, params).params(parametersOf(params, genomeBuild));
}

/** Whether a file of that name can be imported without naming a reader. */
export function canImport(filename: string): boolean {
  const name = filename.toLowerCase().replace(/\.(?:gz|bgz|bgzf)$/, '');
  return readers.some(({ extensions }) => extensions.some((one) => name.endsWith(`.${one}`)));
}

/** What says how a file of a manifest is to be read. */
export interface FileHints {
  /** Best first: the name that the manifest gives, then the file's own. */
  readonly names: readonly string[];
  readonly format: string | null;
  readonly readerParams: JsonObject | null;
}

/**
 * The name of the reader of a file of a manifest. What is said of the file goes before what is said of the import, and what is said
 * before what a name suggests: its `reader_params.reader`, its `format`, the import's `reader_params.reader`, its names.
 */
export function readerOfFile(
  { names, format, readerParams }: FileHints,
  general: JsonObject | null,
): { readonly reader: string; readonly isAsked: boolean } {
  const own = readerParams?.['reader'];
  if (typeof own === 'string' && own !== '')
    return { reader: readerNamed(own).name, isAsked: true };
  if (format !== null) return { reader: readerOfFormat(format).name, isAsked: true };
  const name = names.find(canImport) ?? names[0] ?? '';
  const asked = general?.['reader'];
  return {
    reader: readerOf(name, general).name,
    isAsked: typeof asked === 'string' && asked !== '',
  };
}

/** Choice: `format` is a reader's name or an extension, with or without its dot and `.gz`. */
function readerOfFormat(format: string): Reader {
  const plain = format
    .trim()
    .toLowerCase()
    .replace(/^\./, '')
    .replace(/\.(?:gz|bgz|bgzf)$/, '');
  const found =
    readers.find(({ name }) => name === plain) ??
    readers.find(({ extensions }) => extensions.includes(plain));
  if (found !== undefined) return found;
  const known = readers.map(({ name }) => name).join(', ');
  throw invalid(
    'format',
    `unknown format "${format.slice(0, 40)}", expected one of ${known} or an extension`,
  );
}

/** Refuses a file of a manifest whose reader or its parameters are wrong, as `checkReader` does for a single one. */
export function checkFile(
  hints: FileHints,
  general: JsonObject | null,
  genomeBuild: string | null,
): void {
  const { reader } = readerOfFile(hints, general);
  const own = Object.entries(hints.readerParams ?? {}).filter(([, value]) => value !== null);
  const params = { ...general, ...Object.fromEntries(own) };
  readerNamed(reader).params(parametersOf(params, genomeBuild));
}

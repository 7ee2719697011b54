import type { Json } from '../engine/catalog/rows.js';
import { readerForFile, readerNamed, readers } from '../readers/index.js';
import type { Reader } from '../readers/reader.js';

/** The reader that an import of this file would use: the one that is asked for, else by the file's name. */
export function readerOf(filename: string, params: Json | null): Reader {
  const asked = params?.['reader'];
  return typeof asked === 'string' && asked !== '' ? readerNamed(asked) : readerForFile(filename);
}

/**
 * The parameters as the reader itself gets them. The import's genome build is one of them, for readers that know of
 * builds; one in the parameters themselves goes before it.
 */
export function parametersOf(params: Json | null, genomeBuild: string | null): Json {
  const { reader: _, ...own } = params ?? {};
  return genomeBuild === null ? own : { genome_build: genomeBuild, ...own };
}

/** Refuses, with the request's field, an import whose reader or its parameters are wrong: before a task exists. */
export function checkReader(
  filename: string,
  params: Json | null,
  genomeBuild: string | null,
): void {
  readerOf(filename, params).params(parametersOf(params, genomeBuild));
}

/** Whether a file of that name can be imported without naming a reader. */
export function canImport(filename: string): boolean {
  const name = filename.toLowerCase().replace(/\.(?:gz|bgz|bgzf)$/, '');
  return readers.some(({ extensions }) => extensions.some((one) => name.endsWith(`.${one}`)));
}

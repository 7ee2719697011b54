import type { JsonObject } from '../../../engine/core/types.js';
import { invalidError } from '../../../engine/core/errors.js';
import { didYouMean, suggestionFor } from '../../../engine/core/suggestion.js';
import { readBuildParam } from '../../../readers/genome-build.js';
import {
  commonParameterHelp,
  inlineReader,
  readerForFile,
  readerNamed,
  readers,
} from '../../../readers/index.js';
import type { Reader } from '../../../readers/reader.js';
import { removeCompressionExtension } from '../../../readers/source/compression.js';

/** Returns the reader for a file: the one that `reader_params` names, or else the one for the file's extension. */
function readerForFilename(filename: string, params: JsonObject | null): Reader {
  const readerParam = params?.['reader'];
  return typeof readerParam === 'string' && readerParam !== ''
    ? readerNamed(readerParam)
    : readerForFile(filename);
}

/**
 * Returns the parameters that the reader itself parses. They include the genome build of the import, unless `params` has its own
 * `genome_build`.
 */
export function parametersWithBuild(
  params: JsonObject | null,
  genomeBuild: string | null,
): JsonObject {
  const { reader: _, ...own } = params ?? {};
  return genomeBuild === null ? own : { genome_build: genomeBuild, ...own };
}

/** Throws `invalid` with the field of the request if the reader of an import, or one of its parameters, is wrong. */
export function checkReaderParams(
  filename: string,
  params: JsonObject | null,
  genomeBuild: string | null,
): void {
  const reader = readerForFilename(filename, params);
  checkKnownParameters(
    reader,
    params,
    typeof params?.['reader'] === 'string' ? [] : recognizingReaders,
  );
  reader.params(parametersWithBuild(params, genomeBuild));
}

/** The readers that may read a file whatever its name, because they recognise their format by its content. */
const recognizingReaders = readers.filter(({ recognizes }) => recognizes !== undefined);

/**
 * Throws `invalid` for a parameter other than null that is not common to all readers and that neither `reader` nor any of the `others`,
 * which may read the file instead, has. A parameter without effect is an error: it is misspelt, or another reader than expected reads the
 * file.
 */
function checkKnownParameters(
  reader: Reader,
  params: JsonObject | null,
  others: readonly Reader[],
): void {
  // The genome build is checked even if the reader does not use it.
  readBuildParam(params?.['genome_build']);
  for (const [name, value] of Object.entries(params ?? {})) {
    const isKnown = [reader, ...others].some(({ parameters }) => Object.hasOwn(parameters, name));
    if (isKnown || Object.hasOwn(commonParameterHelp, name) || value === null) continue;
    const knownParams = [...Object.keys(reader.parameters), ...Object.keys(commonParameterHelp)];
    const fix =
      didYouMean(suggestionFor(name, knownParams)) || ` It has ${knownParams.join(', ')}.`;
    throw invalidError(
      'reader_params',
      `${name.slice(0, 100)}: the reader ${reader.name} has no such parameter.${fix}`,
    );
  }
}

/** Throws `invalid` for a parameter other than null that no reader has. */
export function checkParameterNames(params: JsonObject | null): void {
  checkKnownParameters(inlineReader, params, readers);
}

/** Whether the name of a file selects a reader. */
export function canImport(filename: string): boolean {
  const name = removeCompressionExtension(filename).toLowerCase();
  return readers.some(({ extensions }) => extensions.some((one) => name.endsWith(`.${one}`)));
}

/** What selects the reader of a file: its names, and its entry in a manifest if it has one. */
export interface FileHints {
  /** Names of the file, the preferred one first: the name in the manifest, then the file's own name. */
  readonly names: readonly string[];
  readonly format: string | null;
  readonly readerParams: JsonObject | null;
}

/**
 * Returns the name of the reader for a file: the first of the file's `reader_params.reader`, the file's `format`, the import's
 * `reader_params.reader`, and the reader for one of the file's names. Also returns whether one of the first three names it. `general` are
 * the parameters of the import.
 */
export function readerByHints(
  { names, format, readerParams }: FileHints,
  general: JsonObject | null,
): { readonly reader: string; readonly isNamed: boolean } {
  const ownReader = readerParams?.['reader'];
  if (typeof ownReader === 'string' && ownReader !== '')
    return { reader: readerNamed(ownReader).name, isNamed: true };
  if (format !== null) return { reader: readerByFormat(format).name, isNamed: true };
  const name = names.find(canImport) ?? names[0] ?? '';
  const generalReader = general?.['reader'];
  return {
    reader: readerForFilename(name, general).name,
    isNamed: typeof generalReader === 'string' && generalReader !== '',
  };
}

/** Choice: `format` is the name of a reader or an extension, with or without the dot and the extension of a compression, such as `.gz`. */
function readerByFormat(format: string): Reader {
  const plainFormat = removeCompressionExtension(format.trim()).toLowerCase().replace(/^\./, '');
  const matchingReader =
    readers.find(({ name }) => name === plainFormat) ??
    readers.find(({ extensions }) => extensions.includes(plainFormat));
  if (matchingReader !== undefined) return matchingReader;
  const knownReaders = readers.map(({ name }) => name).join(', ');
  throw invalidError(
    'format',
    `unknown format "${format.slice(0, 40)}", expected one of ${knownReaders} or an extension`,
  );
}

/** Checks the reader and the parameters for a file of a manifest, as `checkReaderParams` does. */
export function checkFileHints(
  hints: FileHints,
  general: JsonObject | null,
  genomeBuild: string | null,
): void {
  const { reader, isNamed } = readerByHints(hints, general);
  checkKnownParameters(readerNamed(reader), hints.readerParams, isNamed ? [] : recognizingReaders);
  // Parameters of the import may be meant for other files, so they may be parameters of any reader.
  checkKnownParameters(readerNamed(reader), general, readers);
  const ownParams = Object.entries(hints.readerParams ?? {}).filter(([, value]) => value !== null);
  const params = { ...general, ...Object.fromEntries(ownParams) };
  readerNamed(reader).params(parametersWithBuild(params, genomeBuild));
}

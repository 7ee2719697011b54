import { AppError, invalidError } from '../engine/core/errors.js';
import { didYouMean, suggestionFor, type Synonyms } from '../engine/core/suggestion.js';
import { bedReader } from './bed/bed.js';
import { csvReader, tsvReader } from './csv/csv.js';
import { gff3Reader } from './gff/gff3.js';
import { gtfReader } from './gff/gtf.js';
import { jsonlReader } from './jsonl/jsonl.js';
import { nirvanaReader } from './nirvana/nirvana.js';
import type { Reader, TableReading } from './reader.js';
import type { HeaderSource } from './source/source.js';
import { removeCompressionExtension } from './source/compression.js';
import { vcfReader } from './vcf/vcf.js';
import { xmlReader } from './xml/xml.js';

/**
 * All readers. Files with an extension are read by the first reader that has it, unless their content is certainly of another format. If
 * several readers recognize a content, the one for the extension precedes the others, and then the order counts.
 */
export const readers: readonly Reader[] = [
  eraseReaderTypes(vcfReader),
  eraseReaderTypes(jsonlReader),
  eraseReaderTypes(csvReader),
  eraseReaderTypes(tsvReader),
  eraseReaderTypes(xmlReader),
  eraseReaderTypes(gtfReader),
  eraseReaderTypes(gff3Reader),
  eraseReaderTypes(bedReader),
  eraseReaderTypes(nirvanaReader),
];

/** The reader of the records that a request contains. */
export const inlineReader: Reader = eraseReaderTypes(jsonlReader);

/** The `reader_params` that every reader has, with their descriptions. */
export const commonParameterHelp = {
  reader: 'Name of the reader; when absent, the extension of the file and its content decide.',
  genome_build: 'GRCh37, GRCh38 or T2T-CHM13; precedes what the file says, and the `genome_build` of the import.',
}; // prettier-ignore

/** Erases the types of a reader's parameters and header, which only the reader itself examines. */
function eraseReaderTypes<P, H>(reader: Reader<P, H>): Reader {
  return reader as unknown as Reader;
}

/** Other names of formats, for which the error about an unknown reader suggests the reader. */
const readerSynonyms: Synonyms = {
  jsonl: ['json'],
  jsonlines: ['json'],
  ndjson: ['json'],
  txt: ['tsv'],
  tab: ['tsv'],
  maf: ['tsv'],
  gff: ['gff3'],
  gvf: ['gff3'],
};

/** Returns the reader with this name, in any letter case; throws `invalid` if there is none. */
export function readerNamed(name: string): Reader {
  const namedReader = readers.find((reader) => reader.name === name.toLowerCase());
  if (namedReader === undefined) {
    const readerNames = readers.map((reader) => reader.name);
    const suggestion = didYouMean(suggestionFor(name, readerNames, readerSynonyms));
    throw invalidError(
      'reader_params',
      `reader: unknown reader "${name.slice(0, 40)}", expected one of ${readerNames.join(', ')}.${suggestion}`,
    );
  }
  return namedReader;
}

/** Returns the reader for the extension of a file name, before `.gz`, `.bgz`, `.bgzf` or `.bz2`; throws `invalid` if there is none. */
export function readerForFile(filename: string): Reader {
  const extension = extensionOf(filename);
  const matchingReader = readers.find((reader) => reader.extensions.includes(extension));
  if (matchingReader === undefined) {
    const knownExtensions = readers
      .flatMap((reader) => reader.extensions.map((one) => `.${one}`))
      .join(', ');
    throw invalidError(
      'object_id',
      `no reader for the file name "${filename.slice(0, 200)}": expected ${knownExtensions} (also with .gz or .bz2), or set reader_params.reader`,
    );
  }
  return matchingReader;
}

/** Number of bytes at the start of a file from which its format is recognized. */
const formatSampleBytes = 64 << 10;

/**
 * Returns the reader for a file whose name implies `namedReader`: that reader, unless the content is certainly of another format (a VCF
 * file named `.txt`, a GTF file named `.gff`).
 */
export async function detectReaderForContent(
  namedReader: Reader,
  source: HeaderSource,
): Promise<Reader> {
  const { bytes } = await source.firstBytes(formatSampleBytes);
  const start = Buffer.from(bytes.subarray(0, formatSampleBytes)).toString();
  if (namedReader.recognizes?.(start)) return namedReader;
  return readers.find((reader) => reader.recognizes?.(start)) ?? namedReader;
}

/** How an uploaded file is read as a table, and the name of its reader. */
interface TableFormat extends TableReading {
  readonly reader: string;
}

const tableFormats: readonly TableFormat[] = readers.flatMap(({ name, tables = [] }) =>
  tables.map((table) => ({ ...table, reader: name })),
);

/** The extensions of files that are queried without an import, such as `.csv`; they may also precede the extension of a compression. */
export const tableExtensions: readonly string[] = tableFormats.flatMap(({ extensions }) =>
  extensions.map((one) => `.${one}`),
);

/** Returns the table format for a file name; throws `invalid` for a file that cannot be queried. */
export function tableFormatOf(filename: string): TableFormat {
  const extension = extensionOf(filename);
  const matchingFormat = tableFormats.find(({ extensions }) => extensions.includes(extension));
  if (matchingFormat !== undefined) return matchingFormat;
  throw new AppError(
    'invalid',
    `${filename}: a file of this kind cannot be queried; ${tableExtensions.join(', ')} can, also with .gz or .bz2`,
  );
}

/** Returns the extension of a file name, before `.gz`, `.bgz`, `.bgzf` or `.bz2`, in lower case. */
function extensionOf(filename: string): string {
  const name = removeCompressionExtension(filename).toLowerCase();
  return name.slice(name.lastIndexOf('.') + 1);
}

import type { FuzzCase } from './case.js';
import { PropertyFailure } from './outcome.js';
import { naiveRecordsOf, parseRowsByCsvParse } from '../readers/csv/oracle.js';
import type { Column, Columns, Row, Value } from '../../engine/core/types.js';
import type { CsvHeader } from '../../readers/csv/csv-header.js';
import { parse } from 'csv-parse/sync';
import { lenientParams } from '../readers/import-pieces.js';
import type { SourceImport } from '../readers/import-source.js';

/** Compares an import under lenient validation with the result of a simple parser of the same text, if the format has such a parser. */
export function compareWithOracle(one: FuzzCase, sourceImport: SourceImport): void {
  if (
    one.validation !== lenientParams &&
    JSON.stringify(one.validation) !== JSON.stringify(lenientParams)
  )
    return;
  oracleByReader[one.reader]?.(one, sourceImport, decodeText(one.bytes));
}

type CompareWithOracle = (one: FuzzCase, read: SourceImport, text: string) => void;

const oracleByReader: Readonly<Record<string, CompareWithOracle>> = {
  json: compareJsonLines,
  csv: compareTable,
  tsv: compareTable,
  vcf: compareVcf,
  gtf: compareFeatures,
  gff3: compareFeatures,
  nirvana: compareNirvana,
};

function decodeText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes);
}

function expectSameJson(what: string, foundValue: unknown, expectedValue: unknown): void {
  const [a, b] = [foundValue, expectedValue].map((value) =>
    JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item)),
  );
  if (a !== b)
    throw new PropertyFailure(
      'oracle',
      `${what}: ${a?.slice(0, 500)}\n  instead of: ${b?.slice(0, 500)}`,
    );
}

/** Compares the records with the lines as JSON.parse reads them; integers beyond the safe range become bigints. */
function compareJsonLines(
  _: FuzzCase,
  { rows, error, findings, columns }: SourceImport,
  text: string,
): void {
  // Texts with NaN or Infinity, which the reader accepts and JSON.parse rejects, and texts with the key `__proto__` are not compared.
  if (/NaN|Infinity|"__proto__"/.test(text)) return;
  const lines = text.split(/\r\n|\n|\r/).filter((line) => /[^ \t]/.test(line));
  if (lines.some((line) => line.length > 30_000 || line.replace(/[^[{]/g, '').length > 60)) return;
  const values = lines.map(parseJsonLine);
  const malformed = values.filter((value) => !isObject(value)).length;
  const errorExamples = findings.examples.filter(
    ({ code, level }) => code === 0 && level === 'error',
  );
  expectSameJson(
    'lines that are not a JSON object',
    errorExamples.reduce((sum, { count }) => sum + count, 0),
    malformed,
  );
  if (error !== null) return;
  expectSameJson('records', rows.length, values.length);
  for (const [i, row] of rows.entries())
    if (!isSameJsonRecord(values[i], row, columns)) expectSameJson(`record ${i}`, row, values[i]);
}

const rootColumn: Column = { name: '', physical: '', type: 'object', isList: false };

function parseJsonLine(line: string): unknown {
  try {
    return JSON.parse(line, (_, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' &&
      /^-?\d+$/.test(context?.source ?? '') &&
      !Number.isSafeInteger(value)
        ? BigInt(context!.source!)
        : replaceLoneSurrogates(value),
    );
  } catch {
    return undefined;
  }
}

/** Replaces lone surrogates in values and keys by U+FFFD, as the reader does. */
function replaceLoneSurrogates(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (!isObject(value) || Object.keys(value as Row).every((key) => key.isWellFormed()))
    return value;
  return Object.fromEntries(
    Object.entries(value as Row).map(([key, item]) => [key.toWellFormed(), item]),
  );
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a stored record equals a record of the oracle, given the columns. */
export function isSameJsonRecord(record: unknown, row: Row, columns: Columns): boolean {
  return isSameValue(withoutReserved(record as Row) as Row, row, {
    ...rootColumn,
    children: columns,
  });
}

/** Whether a stored value equals a value of the oracle, given the column. */
function isSameValue(value: Value | undefined, shown: Value | undefined, column: Column): boolean {
  if (value === null || value === undefined) return shown === null || shown === undefined;
  if (column.type === 'json')
    return JSON.stringify(value, normalizeNumber) === JSON.stringify(shown, normalizeNumber);
  if (column.isList) {
    const items = Array.isArray(value) ? (value as Value[]) : [value];
    if (!Array.isArray(shown) || shown.length !== items.length) return false;
    return items.every((item, i) =>
      isSameValue(item, (shown as Value[])[i], { ...column, isList: false }),
    );
  }
  switch (column.type) {
    case 'object': {
      const keys = Object.keys(value as Row);
      if (
        !isObject(shown) ||
        keys.some((key) => (value as Row)[key] !== null && !hasNamedColumn(column.children!, key))
      )
        return false;
      return column.children!.every((child) => {
        const ownMember = (record: unknown) =>
          Object.hasOwn(record as Row, child.name) ? (record as Row)[child.name] : undefined;
        return isSameValue(ownMember(value), ownMember(shown), child);
      });
    }
    case 'boolean':
      return value === shown;
    case 'long':
    case 'double':
      return typeof value === 'bigint' || typeof shown === 'bigint'
        ? BigInt(value as bigint) === BigInt(shown as bigint) || Number(value) === Number(shown)
        : value === shown || (value === 0 && shown === 0);
    case 'string':
      return typeof value === 'string' ? value.toWellFormed() === shown : typeof shown === 'string';
    default:
      return typeof shown === 'string';
  }
}

function normalizeNumber(_: string, item: unknown): unknown {
  return typeof item === 'bigint' ? Number(item) : item === 0 ? 0 : item;
}

function hasNamedColumn(columns: Columns, name: string): boolean {
  return columns.some((column) => column.name === name);
}

/** Compares the rows with those of csv-parse, for texts that csv-parse accepts. */
function compareTable(
  { params, bytes }: FuzzCase,
  { rows, error, ...rest }: SourceImport,
  text: string,
): void {
  const names = Object.keys(params);
  if (error !== null || names.some((name) => name !== 'delimiter')) return;
  // The detection of the delimiter and of names in a comment is not compared here; the tests of the reader cover it.
  const { delimiter } = rest.header as CsvHeader;
  if (rest.warnings.some((warning) => warning.includes('those of the comment'))) return;
  // Texts that are not well-formed tables are not compared: next to a comment or a quote, csv-parse and the reader differ in whether a
  // carriage return ends a line.
  if (!isWellFormedTable(bytes, delimiter) || text.includes('\ufffd') || text.includes('\u0000'))
    return;
  const parsedRows = parseRowsByCsvParse(bytes, delimiter);
  const header = parsedRows[0] ?? [];
  expectSameJson('records', rows.length, Math.max(0, parsedRows.length - 1));
  if (rest.findings.warnings > 0 || rest.warnings.length > 0) return;
  if (parsedRows.slice(1).some((row) => row.slice(header.length).some((cell) => cell !== '')))
    throw new PropertyFailure('oracle', 'a row of another length went unnoticed');
  const expectedRows = naiveRecordsOf(header, parsedRows.slice(1));
  for (const [i, row] of rows.entries()) {
    const { maf } = rest.header as CsvHeader;
    const derivedNames = maf === null ? [] : ['genomic_coordinates', maf.variantFieldName];
    const readEntries = Object.entries(row).filter(([name]) => !derivedNames.includes(name));
    expectSameJson(
      `record ${i}`,
      Object.fromEntries(readEntries),
      withoutReserved(expectedRows[i]!),
    );
  }
}

/** Removes `_id` and `_commit`, which the store assigns and the reader discards. */
function withoutReserved<V>(record: Readonly<Record<string, V>>): Record<string, V> {
  const { _id, _commit, ...otherFields } = record;
  return otherFields;
}

function isWellFormedTable(bytes: Buffer, delimiter: string): boolean {
  try {
    parse(bytes, {
      delimiter,
      bom: true,
      relax_column_count: true,
      skip_empty_lines: true,
      record_delimiter: ['\r\n', '\n', '\r'],
      comment: '#',
      comment_no_infix: true,
    });
    return true;
  } catch {
    return false;
  }
}

/** Compares the records with the lines of the VCF file: one record for each alternate allele, with POS, ID, REF and the allele. */
function compareVcf({ params }: FuzzCase, { rows, error }: SourceImport, text: string): void {
  if (error !== null || params['explode_annotations'] === true) return;
  const lines = text.split(/\r?\n/);
  const head = lines.findIndex((line) => line.startsWith('#CHROM'));
  if (head < 0) return;
  const expectedRows = lines
    .slice(head + 1)
    // Comment lines may also follow the #CHROM line.
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [, position, id, reference, alternates = ''] = line.split('\t');
      return alternates
        .split(',')
        .map((allele) => [
          Number(position),
          id === '.' || id === '' ? null : id,
          reference,
          allele === '.' ? reference : allele,
        ]);
    });
  const foundRows = rows.map((row) => [
    Number((row['genomic_coordinates'] as Row | null)?.['start']),
    row['row_id'],
    row['reference_allele'],
    row['allele'],
  ]);
  expectSameJson('records', foundRows.length, expectedRows.length);
  for (const [i, one] of expectedRows.entries()) expectSameJson(`record ${i}`, foundRows[i], one);
}

/** Compares the number, the starts and the ends of the records with those of the feature lines, split at tabs. */
function compareFeatures(
  { reader, params }: FuzzCase,
  { rows, error }: SourceImport,
  text: string,
): void {
  if (error !== null || params['comment'] !== undefined) return;
  const expectedRows: (readonly (number | null)[])[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (reader === 'gff3' && /^(?:>|##\s*FASTA\s*$)/i.test(line)) break;
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, , , start, end] = line.split('\t');
    expectedRows.push([numberOrNull(start), numberOrNull(end)]);
  }
  expectSameJson('records', rows.length, expectedRows.length);
  for (const [i, one] of expectedRows.entries())
    expectSameJson(
      `record ${i}`,
      [rows[i]!['start'], rows[i]!['end']].map((value) => (value === null ? null : Number(value))),
      one,
    );
}

function numberOrNull(cell: string | undefined): number | null {
  return cell === '.' || cell === '' ? null : Number(cell);
}

/** Compares the number of records with the number of positions in the document, which JSON.parse reads as a whole, if it is well-formed. */
function compareNirvana(_: FuzzCase, { rows, error }: SourceImport, text: string): void {
  const document = parseJsonLine(text.replace(/^\ufeff/, '')) as
    { positions?: unknown } | undefined;
  if (error !== null || !isObject(document) || !Array.isArray(document?.positions)) return;
  expectSameJson('positions', rows.length, document.positions.length);
}

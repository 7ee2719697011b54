import type { FuzzCase } from './case.js';
import { Failure } from './outcome.js';
import { recordsOf, rowsByOracle } from '../readers/csv/oracle.js';
import type { Column, Columns, Row, Value } from '../../engine/core/types.js';
import type { CsvHeader } from '../../readers/csv/csv-header.js';
import { parse } from 'csv-parse/sync';
import { lenientParams } from '../readers/import-pieces.js';
import type { SourceImport } from '../readers/import-source.js';

/** Compares an import with the result of a simple parser for the same text, if there is one for the format. */
export function agreesWithOracle(one: FuzzCase, read: SourceImport): void {
  if (
    one.validation !== lenientParams &&
    JSON.stringify(one.validation) !== JSON.stringify(lenientParams)
  )
    return;
  oracles[one.reader]?.(one, read, textOf(one.bytes));
}

type Oracle = (one: FuzzCase, read: SourceImport, text: string) => void;

const oracles: Readonly<Record<string, Oracle>> = {
  json: jsonOracle,
  csv: tableOracle,
  tsv: tableOracle,
  vcf: vcfOracle,
  gtf: featureOracle,
  gff3: featureOracle,
  nirvana: nirvanaOracle,
};

function textOf(bytes: Buffer): string {
  return new TextDecoder().decode(bytes);
}

function expectSame(what: string, found: unknown, want: unknown): void {
  const [a, b] = [found, want].map((value) =>
    JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item)),
  );
  if (a !== b)
    throw new Failure('oracle', `${what}: ${a?.slice(0, 500)}\n  instead of: ${b?.slice(0, 500)}`);
}

/** Compares the records with the lines as JSON.parse reads them; integers that a double cannot represent become bigints. */
function jsonOracle(
  _: FuzzCase,
  { rows, error, findings, columns }: SourceImport,
  text: string,
): void {
  // The reader accepts NaN and infinities, which JSON.parse rejects, and rejects values beyond budgets.
  if (/NaN|Infinity|"__proto__"/.test(text)) return;
  const lines = text.split(/\r\n|\n|\r/).filter((line) => /[^ \t]/.test(line));
  if (lines.some((line) => line.length > 30_000 || line.replace(/[^[{]/g, '').length > 60)) return;
  const values = lines.map(parsed);
  const malformed = values.filter((value) => !isObject(value)).length;
  const errorExamples = findings.examples.filter(
    ({ code, level }) => code === 0 && level === 'error',
  );
  expectSame(
    'lines that are not a JSON object',
    errorExamples.reduce((sum, { count }) => sum + count, 0),
    malformed,
  );
  if (error !== null) return;
  expectSame('records', rows.length, values.length);
  for (const [i, row] of rows.entries())
    if (!jsonAgrees(values[i], row, columns)) expectSame(`record ${i}`, row, values[i]);
}

const root: Column = { name: '', physical: '', type: 'object', isList: false };

function parsed(line: string): unknown {
  try {
    return JSON.parse(line, (_, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' &&
      /^-?\d+$/.test(context?.source ?? '') &&
      !Number.isSafeInteger(value)
        ? BigInt(context!.source!)
        : wellFormed(value),
    );
  } catch {
    return undefined;
  }
}

/** Replaces lone surrogates in values and keys by U+FFFD, as the reader does. */
function wellFormed(value: unknown): unknown {
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
export function jsonAgrees(record: unknown, row: Row, columns: Columns): boolean {
  return agreesWith(withoutReserved(record as Row) as Row, row, { ...root, children: columns });
}

/** Whether a stored value equals a value of the oracle, given the column. */
function agreesWith(value: Value | undefined, shown: Value | undefined, column: Column): boolean {
  if (value === null || value === undefined) return shown === null || shown === undefined;
  if (column.type === 'json')
    return JSON.stringify(value, plainNumbers) === JSON.stringify(shown, plainNumbers);
  if (column.isList) {
    const items = Array.isArray(value) ? (value as Value[]) : [value];
    if (!Array.isArray(shown) || shown.length !== items.length) return false;
    return items.every((item, i) =>
      agreesWith(item, (shown as Value[])[i], { ...column, isList: false }),
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
        const ownMember = (of: unknown) =>
          Object.hasOwn(of as Row, child.name) ? (of as Row)[child.name] : undefined;
        return agreesWith(ownMember(value), ownMember(shown), child);
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

function plainNumbers(_: string, item: unknown): unknown {
  return typeof item === 'bigint' ? Number(item) : item === 0 ? 0 : item;
}

function hasNamedColumn(columns: Columns, name: string): boolean {
  return columns.some((column) => column.name === name);
}

/** Compares the rows with those of csv-parse, for texts that csv-parse accepts. */
function tableOracle(
  { params, bytes }: FuzzCase,
  { rows, error, ...rest }: SourceImport,
  text: string,
): void {
  const names = Object.keys(params);
  if (error !== null || names.some((name) => name !== 'delimiter')) return;
  // The recognition of the delimiter and of names in a comment is tested beside the reader.
  const { delimiter } = rest.header as CsvHeader;
  if (rest.warnings.some((warning) => warning.includes('those of the comment'))) return;
  // Next to a comment or a quote, the two differ in whether a carriage return ends a line.
  if (!isWellFormed(bytes, delimiter) || text.includes('\ufffd') || text.includes('\u0000')) return;
  const all = rowsByOracle(bytes, delimiter);
  const header = all[0] ?? [];
  expectSame('records', rows.length, Math.max(0, all.length - 1));
  if (rest.findings.warnings > 0 || rest.warnings.length > 0) return;
  if (all.slice(1).some((row) => row.slice(header.length).some((cell) => cell !== '')))
    throw new Failure('oracle', 'a row of another length went unnoticed');
  const expectedRows = recordsOf(header, all.slice(1));
  for (const [i, row] of rows.entries()) {
    const { maf } = rest.header as CsvHeader;
    const madeNames = maf === null ? [] : ['genomic_coordinates', maf.variant];
    const read = Object.entries(row).filter(([name]) => !madeNames.includes(name));
    expectSame(`record ${i}`, Object.fromEntries(read), withoutReserved(expectedRows[i]!));
  }
}

/** Removes `_id` and `_commit`, which the store assigns and the reader discards. */
function withoutReserved<V>(record: Readonly<Record<string, V>>): Record<string, V> {
  const { _id, _commit, ...kept } = record;
  return kept;
}

function isWellFormed(bytes: Buffer, delimiter: string): boolean {
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

/** A record for each alternate allele of each line, with the values of the first columns. */
function vcfOracle({ params }: FuzzCase, { rows, error }: SourceImport, text: string): void {
  if (error !== null || params['explode_annotations'] === true) return;
  const lines = text.split(/\r?\n/);
  const head = lines.findIndex((line) => line.startsWith('#CHROM'));
  if (head < 0) return;
  const expectedRows = lines
    .slice(head + 1)
    // Comments may follow the #CHROM line.
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
  const found = rows.map((row) => [
    Number((row['genomic_coordinates'] as Row | null)?.['start']),
    row['row_id'],
    row['reference_allele'],
    row['allele'],
  ]);
  expectSame('records', found.length, expectedRows.length);
  for (const [i, one] of expectedRows.entries()) expectSame(`record ${i}`, found[i], one);
}

/** The feature lines, split at tabs. */
function featureOracle(
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
    expectedRows.push([numberIn(start), numberIn(end)]);
  }
  expectSame('records', rows.length, expectedRows.length);
  for (const [i, one] of expectedRows.entries())
    expectSame(
      `record ${i}`,
      [rows[i]!['start'], rows[i]!['end']].map((value) => (value === null ? null : Number(value))),
      one,
    );
}

function numberIn(cell: string | undefined): number | null {
  return cell === '.' || cell === '' ? null : Number(cell);
}

/** Compares the number of records with the positions of the document, parsed as a whole, if it is well-formed. */
function nirvanaOracle(_: FuzzCase, { rows, error }: SourceImport, text: string): void {
  const document = parsed(text.replace(/^\ufeff/, '')) as { positions?: unknown } | undefined;
  if (error !== null || !isObject(document) || !Array.isArray(document?.positions)) return;
  expectSame('positions', rows.length, document.positions.length);
}

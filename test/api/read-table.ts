import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parse } from 'csv-parse/sync';
import ExcelJS from 'exceljs';
import { parquetReadObjects, parquetSchema, parquetMetadata } from 'hyparquet';

/* Reads exported files with independent libraries instead of Strandlake's own code. */

/** The columns of a file, and its records as lists of values, one per column. */
interface FileTable {
  readonly names: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

const tableReaders: Readonly<Record<string, (bytes: Buffer) => Promise<FileTable>>> = {
  csv: async (bytes) => parseDelimitedTable(bytes, ','),
  'csv-expand': async (bytes) => parseDelimitedTable(bytes, ','),
  'csv-gz': async (bytes) => parseDelimitedTable(gunzipSync(bytes), ','),
  tsv: async (bytes) => parseDelimitedTable(bytes, '\t'),
  'tsv-gz': async (bytes) => parseDelimitedTable(gunzipSync(bytes), '\t'),
  excel: readWorksheetTable,
  'excel-expand': readWorksheetTable,
  async parquet(bytes) {
    const file = Uint8Array.from(bytes).buffer;
    const names = parquetSchema(parquetMetadata(file)).children.map(({ element }) => element.name);
    const compressors = {
      ZSTD: (data: Uint8Array, length: number) =>
        zstdDecompressSync(data, { maxOutputLength: Math.max(length, 1) }),
    };
    const objects = (await parquetReadObjects({ file, compressors })) as readonly Row[];
    return { names, rows: objects.map((object) => names.map((name) => object[name])) };
  },
  async arrow(bytes) {
    const table = tableFromIPC(bytes);
    const names = table.schema.fields.map(({ name }) => name);
    const dateColumns = new Set(
      table.schema.fields.flatMap(({ name, type }) =>
        String(type).startsWith('Timestamp') ? [name] : [],
      ),
    );
    const rows = table.toArray().map((row: { toJSON(): Row } | null) => {
      const object = row!.toJSON();
      return names.map((name) =>
        dateColumns.has(name) && object[name] !== null
          ? new Date(Number(object[name]))
          : object[name],
      );
    });
    return { names, rows };
  },
};

type Row = Readonly<Record<string, unknown>>;

/**
 * Compares a file with records given as JSON: they must have the same fields in the same order, and the same values. Returns the
 * differences.
 */
export async function findRecordDifferences(
  format: string,
  bytes: Buffer,
  expectedRecords: readonly Row[],
): Promise<readonly string[]> {
  const { names, rows } = await tableReaders[format]!(bytes);
  const differences: string[] = [];
  const expectedFields = fieldsOf(expectedRecords).join(' ');
  const fileFields = [...new Set(names.map((name) => name.split('.')[0]!))].join(' ');
  // If there are no records, the JSON does not name the fields.
  if (expectedRecords.length > 0 && fileFields !== expectedFields)
    differences.push(`fields: ${fileFields}, wanted ${expectedFields}`);
  if (rows.length !== expectedRecords.length)
    differences.push(`${rows.length} records, wanted ${expectedRecords.length}`);
  for (const [i, row] of rows.entries()) {
    for (const [c, name] of names.entries()) {
      const expectedValue = memberAt(expectedRecords[i], name.split('.'));
      const fileText = JSON.stringify(toComparableValue(row[c], expectedValue));
      const expectedText = JSON.stringify(normalizeValue(expectedValue));
      if (fileText !== expectedText)
        differences.push(`record ${i}, ${name}: ${fileText}, wanted ${expectedText}`);
    }
  }
  return differences;
}

/** Returns the names of the fields of records, in the order of their first occurrence, except that `_errors` is last. */
function fieldsOf(records: readonly Row[]): readonly string[] {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  const hasErrors = names.delete('_errors');
  return [...names, ...(hasErrors ? ['_errors'] : [])];
}

function memberAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined || value === null || value === undefined) return value ?? null;
  return memberAt((value as Row)[name], rest);
}

/** Converts a value of a file to the form that the JSON has, given the value that the JSON has. */
function toComparableValue(fileValue: unknown, jsonValue: unknown): unknown {
  if (fileValue instanceof Date) return fileValue.toISOString().slice(0, String(jsonValue).length);
  if (typeof fileValue !== 'string') return normalizeValue(fileValue);
  if (jsonValue === null) return fileValue === '' ? null : fileValue;
  if (typeof jsonValue === 'number') return Number(fileValue);
  if (typeof jsonValue === 'boolean') return fileValue === 'true';
  return typeof jsonValue === 'object' ? normalizeValue(JSON.parse(fileValue)) : fileValue;
}

/** Returns a value with numbers for bigints, lists for vectors, and objects with sorted members and without null members. */
function normalizeValue(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object') return value;
  if (Symbol.iterator in value && !('toJSON' in value && !('toArray' in value)))
    return Array.from(value as Iterable<unknown>, normalizeValue);
  const object = 'toJSON' in value ? (value as { toJSON(): object }).toJSON() : value;
  const members = Object.entries(object as Row).map(
    ([key, one]) => [key, normalizeValue(one)] as const,
  );
  return Object.fromEntries(members.filter(([, one]) => one !== null).sort(([a], [b]) => (a < b ? -1 : 1))); // prettier-ignore
}

function parseDelimitedTable(bytes: Buffer, delimiter: string): FileTable {
  const options = delimiter === ',' ? {} : { delimiter };
  const [names, ...rows] = parse(bytes, options) as string[][];
  return { names: names!, rows };
}

async function readWorksheetTable(bytes: Buffer): Promise<FileTable> {
  const workbook = new ExcelJS.Workbook();
  await workbook.xlsx.load(bytes as unknown as ExcelJS.Buffer);
  const worksheet = workbook.getWorksheet('records')!;
  const rows = Array.from(
    { length: worksheet.rowCount },
    (_, rowIndex) =>
    Array.from({ length: worksheet.columnCount }, (_, i) => worksheet.getRow(rowIndex + 1).getCell(i + 1).value), // prettier-ignore
  );
  return { names: rows[0]!.map(String), rows: rows.slice(1) };
}

import { Buffer, isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { naiveRecordsOf, parseRowsByCsvParse } from './oracle.js';
import { importFile } from '../import-source.js';

const fixtureFolder = 'test/fixtures/csv';
const fileCases = readFileSync(`${fixtureFolder}/expected.txt`, 'utf8')
  .split('\n')
  .filter((line) => line.includes(' ==> ') && !line.startsWith('#'))
  .map((line) => {
    const [file, readerText, count] = line.split(' ==> ') as [string, string, string];
    const [reader, params] = [
      readerText.slice(0, 3),
      JSON.parse(readerText.slice(4)) as CsvTestParams,
    ];
    return { file, reader, params, count: Number(count) };
  });
interface CsvTestParams extends Record<string, unknown> {
  readonly delimiter?: string;
  readonly comment?: string;
  readonly header?: number | null;
  readonly headercols?: readonly string[];
}

/** The names of derived columns, by file. */
const derivedColumnsByFile: Readonly<Record<string, readonly string[]>> = {
  'genome_nexus_input.maf': ['genomic_coordinates', 'variant'],
  'tcga_ov_head.maf': ['genomic_coordinates', 'variant_2'],
  'tcga_test.maf': ['genomic_coordinates', 'variant'],
  'vcf2maf_grch38.maf': ['genomic_coordinates', 'variant'],
  'vcf2maf_input.maf': ['genomic_coordinates', 'variant'],
};

describe.each(fileCases)('$file', ({ file, reader, params, count }) => {
  test('has the records of the independent count, as csv-parse reads them', async () => {
    const importedFile = await importFile(resolve(fixtureFolder, file), file, reader, { params });
    expect(importedFile.error).toBeNull();
    expect(importedFile.rows).toHaveLength(count);
    const bytes = readFileSync(`${fixtureFolder}/${file}`);
    const unpackedBytes = file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    const text = isUtf8(unpackedBytes)
      ? unpackedBytes
      : Buffer.from(unpackedBytes.toString('latin1'));
    const delimiter = params.delimiter ?? (reader === 'csv' ? ',' : '\t');
    const rows = parseRowsByCsvParse(text, delimiter, params.comment);
    const header = params.headercols ? -1 : params.header === null ? -1 : (params.header ?? 0);
    const positionNames = rows[0]!.map((_, k) => `column_${k}`);
    const names = params.headercols ?? (header < 0 ? positionNames : rows[header]!);
    const expectedRecords = naiveRecordsOf(names, rows.slice(header + 1));
    // Columns that are derived from those of a MAF file have their own test.
    const isDerived = (name: string) => !Object.hasOwn(expectedRecords[0] ?? {}, name);
    const shownRows = importedFile.rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !isDerived(name))),
    );
    expect(shownRows).toEqual(expectedRecords);
    const derivedNames = importedFile.columns
      .filter(({ name }) => isDerived(name))
      .map(({ name }) => name);
    expect(derivedNames).toEqual(derivedColumnsByFile[file] ?? []);
    expect(importedFile.ordering.map(([, ordering]) => ordering)).toEqual(
      importedFile.ordering.map((_, i) => i),
    );
  });

  test('gives the same records for any chunk size', async () => {
    const wholeRead = await importFile(resolve(fixtureFolder, file), file, reader, { params });
    for (const targetBytes of [700, 20_011]) {
      const { chunks, rewritten, ...read } = await importFile(
        resolve(fixtureFolder, file),
        file,
        reader,
        {
          params,
          targetBytes,
        },
      );
      expect(chunks).toBeGreaterThanOrEqual(wholeRead.chunks);
      expect(rewritten).toBeLessThanOrEqual(chunks);
      expect({ ...wholeRead, ...read }).toEqual(wholeRead);
    }
  });
});

describe('invalid files', () => {
  const outcomes: readonly (readonly [string, string, string | number])[] = [
    ['bad/csv_utf16le.csv', 'csv', 1],
    // A quote at the end of a cell that does not begin with one is text, and a row of empty cells is a record of nulls.
    ['bad/csv_ragged_rows.csv', 'csv', 10],
    ['bad/csv_invalid_bytes.csv', 'csv', 23],
    ['bad/tsv_malformed.tsv', 'tsv', 'line 9: a quote that is opened here is never closed'],
    ['imdb_backslash_escapes.csv', 'csv', 100],
  ];
  test.each(outcomes)('%s', async (file, reader, outcome) => {
    const { error, rows, findings } = await importFile(resolve(fixtureFolder, file), file, reader);
    if (typeof outcome === 'number') expect([error, rows.length]).toEqual([null, outcome]);
    else expect(error).toContain(outcome);
    if (file.includes('invalid')) {
      expect(findings.examples[0]).toMatchObject({ code: 0, level: 'warning', line: 3, count: 20 });
    }
  });

  test('backslashes are ordinary characters: strange.csv', async () => {
    const file = 'strange.csv';
    const params = { delimiter: ';', headercols: ['name', 'year'], header: null };
    const { rows, findings, error } = await importFile(resolve(fixtureFolder, file), file, 'csv', {
      params,
    });
    expect(error).toBeNull();
    expect(rows).toHaveLength(6);
    expect(rows[0]).toEqual({ name: '\\Hacksaw\\" Jim Duggan"', year: 1987 });
    expect(rows[2]).toEqual({ name: 'Rafael Halperin', year: null });
    expect(findings.examples).toMatchObject([{ level: 'warning', line: 4, count: 1 }]);
  });

  test('every fixture is in one of the two tables', () => {
    const listedFiles = new Set([
      ...fileCases.map(({ file }) => file),
      ...outcomes.map(([file]) => file),
    ]);
    const files = readdirSync(fixtureFolder).filter((file) => /\.(?:csv|tsv|maf|gz)$/.test(file));
    expect(files.filter((file) => !listedFiles.has(file))).toEqual(['strange.csv']);
  });
});

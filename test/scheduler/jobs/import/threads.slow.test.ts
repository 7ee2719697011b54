import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from '@jest/globals';
import type { ImportRow } from '../../../../engine/catalog/imports.js';
import { generateText } from '../../../fuzz/grammar.js';
import { seededRandom } from '../../../random.js';
import { Lake } from '../../lake.js';

/*
 * Imports a file of every format but BED, large enough for several chunks, with pools of different sizes. The records and their order, the
 * fields and the findings must be the same (F16).
 */

const threadCounts = [1, 2, 4, 8];
/** Factor for the sizes of the files; with STRANDLAKE_SCALE=5, the type of a field changes only after a million rows. */
const sizeFactor = Number(process.env['STRANDLAKE_SCALE'] ?? 1);
const textBytes = 2_300_000 * sizeFactor;

/** Returns the first `headLines` lines of a fixture, followed by its other lines up to `tail`, repeated, and `tail`. */
function repeatFile(path: string, headLines: number, tail = ''): string {
  const bytes = readFileSync(`test/fixtures/${path}`);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  let bodyAt = 0;
  for (let line = 0; line < headLines; line++) bodyAt = text.indexOf('\n', bodyAt) + 1;
  const end = tail === '' ? text.length : text.lastIndexOf(tail);
  const body = text.slice(bodyAt, end).replace(/\n*$/, '\n');
  return text.slice(0, bodyAt) + body.repeat(Math.ceil(textBytes / body.length)) + tail;
}

function vcfText(): string {
  const path = 'vcf/freebayes_7_samples.vcf';
  const lines = readFileSync(`test/fixtures/${path}`, 'utf8').split('\n');
  return repeatFile(path, lines.findIndex((line) => line.startsWith('#CHROM')) + 1);
}

function nirvanaText(): string {
  const [head, ...lines] = generateText('nirvana', seededRandom(24)).toString().split('\n');
  const positions = lines
    .filter((line) => line.startsWith('{"chromosome"'))
    .map((line) => line.replace(/,$/, ''));
  const manyPositions = Array.from(
    { length: Math.ceil(textBytes / positions.join('').length) },
    () => positions,
  ).flat();
  return `${head}\n${manyPositions.join(',\n')}\n]}\n`;
}

/** Returns records with a field that is a number in all of them except the last, where it is a string. */
function textWithLateTypeChange(): string {
  const lines = Array.from({ length: 200_000 * sizeFactor }, (_, i) => `{"n":${i},"k":${i % 7}}`);
  return `${lines.join('\n')}\n{"n":"none","k":1.5}\n`;
}

const importedFiles: readonly (readonly [name: string, text: () => string, reader?: string])[] = [
  ['many.vcf', vcfText],
  ['many.json', () => repeatFile('jsonl/clinvar_ten_records.json', 0)],
  ['many.csv', () => repeatFile('csv/tubs_newlines.csv', 1)],
  ['many.tsv', () => repeatFile('csv/civic_variant_summaries.tsv', 1)],
  ['many.xml', () => repeatFile('xml/clinvar_ten_records.xml', 2, '</ClinVarVariationRelease>')],
  ['many.gtf', () => repeatFile('gtf/ensembl_grch37_head.gtf.gz', 0)],
  ['many.gff3', () => repeatFile('gff3/protein_domains_messy.gff3', 0)],
  ['nirvana.json', nirvanaText, 'nirvana'],
  ['flipped.json', textWithLateTypeChange],
];

interface ImportOutcome {
  readonly status: string;
  readonly error: string | null;
  readonly rows: number;
  readonly segments: number;
  readonly digest: string;
  readonly fields: readonly unknown[];
  readonly validation: unknown;
}

/** Imports the files with a pool of `threads` threads; returns the result of each import. */
async function importAllFiles(threads: number): Promise<Map<string, ImportOutcome>> {
  const lake = await Lake.make();
  const scheduler = await lake.startScheduler({
    config: { threads, workerMemoryMb: 2048 },
    report: () => undefined,
  });
  try {
    const outcomes = new Map<string, ImportOutcome>();
    for (const [name, text, reader] of importedFiles) {
      const datasetId = await lake.createDataset(name);
      const task = await lake.queueFileImport(datasetId, await lake.createFile(name, text()), {
        readerParams: reader === undefined ? {} : { reader },
      });
      scheduler.wake();
      await scheduler.wait(task.id);
      const row = (await lake.catalog.imports.get(task.resourceId)) as ImportRow;
      const fields = await lake.catalog.fields.all(datasetId);
      const snapshot = await lake.store.snapshot(datasetId);
      outcomes.set(name, {
        status: row.status,
        error: row.errorMessage,
        rows: snapshot.rows,
        segments: snapshot.segments.length,
        digest: await recordDigestOf(snapshot.files),
        fields: fields.map(({ name, path, dataType, isList, ordering }) => ({
          name,
          path,
          dataType,
          isList,
          ordering,
        })),
        validation: row.metadata['validation'],
      });
    }
    return outcomes;
  } finally {
    await scheduler.close();
    await lake.remove();
  }
}

/** Returns a digest of the records in order, without `_id` and `_commit`. */
async function recordDigestOf(files: readonly string[]): Promise<string> {
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  try {
    const list = files.map((file) => `'${file}'`).join(', ');
    await duckdb.run(
      `CREATE TABLE t AS SELECT * FROM read_parquet([${list}], union_by_name = true) ORDER BY _id`,
    );
    // The order of the columns depends on the threads, so only names and values are compared.
    const describedTable = await duckdb.runAndReadAll('DESCRIBE t');
    const names = describedTable
      .getRows()
      .map(([name]) => String(name))
      .filter((name) => !name.startsWith('_'));
    const columns = names.sort().map((name) => `"${name.replaceAll('"', '""')}"`);
    const parts = columns
      .map((column) => `coalesce(${column}::VARCHAR, 'NULL')`)
      .join(` || '|' || `);
    const result = await duckdb.runAndReadAll(
      `SELECT md5(string_agg(md5(${parts}), '' ORDER BY _id)) FROM t`,
    );
    return String(result.getRows()[0]![0]);
  } finally {
    duckdb.closeSync();
  }
}

describe('any number of threads', () => {
  test('gives the same records, fields and findings for every format but BED (F6, F16)', async () => {
    const firstOutcomes = await importAllFiles(threadCounts[0]!);
    for (const [name, { status, error, rows }] of firstOutcomes) {
      expect([name, error, status]).toEqual([name, null, 'completed']);
      expect(rows).toBeGreaterThan(100);
    }
    for (const threads of threadCounts.slice(1)) {
      for (const [name, outcome] of await importAllFiles(threads)) {
        const { segments: _, ...firstOutcome } = firstOutcomes.get(name)!;
        const { segments, ...otherOutcome } = outcome;
        expect([threads, name, segments > 1]).toEqual([threads, name, true]);
        expect({ threads, name, ...otherOutcome }).toEqual({ threads, name, ...firstOutcome });
      }
    }
    expect(firstOutcomes.get('flipped.json')!.fields).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'n', dataType: 'string' }),
        expect.objectContaining({ name: 'k', dataType: 'double' }),
      ]),
    );
  });
});

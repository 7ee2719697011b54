import { spawnSync } from 'node:child_process';
import { writeFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BatchBuilder, type Batch } from '../engine/ingest/batch.js';
import { FindingCollector } from '../engine/ingest/findings.js';
import { readerNamed } from '../readers/index.js';
import { chunkStartOf } from '../readers/source/chunks.js';
import { loadChunk } from '../readers/source/load-chunk.js';
import { openSource } from '../readers/source/open-source.js';
import { computeFields } from '../scheduler/expressions/columns/compute-fields.js';
import { measureJoin } from './expressions-join.js';
import { cacheFolder, generateFile } from './generate.js';
import { type BenchServer, startServer } from './server.js';
import {
  type ResultLine,
  lineOrFailure,
  machineText,
  markdownTable,
  median,
  writeResult,
} from './table.js';

/** Computed fields that exercise the typical work of expressions, each with the same expression in Python over a record as a dict. */
const computedFields = [
  {
    name: 'bin',
    data_type: 'long',
    expression: 'record.genomic_coordinates.start // 16384 + 4681',
    python: "record['genomic_coordinates']['start'] // 16384 + 4681",
  },
  {
    name: 'variation',
    data_type: 'string',
    expression: "' / '.join((record.info.CLNVC or '').split('_'))",
    python: "' / '.join((record['info'].get('CLNVC') or '').split('_'))",
  },
  {
    name: 'change',
    data_type: 'string',
    expression:
      "'SNV' if len(record.reference_allele) == len(record.allele or '') == 1 else 'insertion' if len(record.allele or '') > len(record.reference_allele) else 'deletion'",
    python:
      "'SNV' if len(record['reference_allele']) == len(record['allele'] or '') == 1 else 'insertion' if len(record['allele'] or '') > len(record['reference_allele']) else 'deletion'",
  },
  {
    name: 'consequences',
    data_type: 'string',
    is_list: true,
    expression: "[c.split('|')[1] for c in record.info.MC or [] if '|' in c]",
    python: "[c.split('|')[1] for c in record['info'].get('MC') or [] if '|' in c]",
  },
  {
    name: 'gene_symbol',
    data_type: 'string',
    expression: "record.info.get('GENEINFO', '')",
    python: "record['info'].get('GENEINFO', '')",
  },
] as const;

const targetFields = computedFields.map((field) => ({ ...field, python: undefined }));
const bundledFile = 'examples/clinvar_grch38_2026_69k.vcf.gz';
const runsPerMeasurement = 5;

/**
 * `npm run bench -- expressions`: compares an import with five computed fields with the same import without them, an import that joins
 * another dataset with the same join in DuckDB, and the evaluation alone with CPython on the same records.
 */
export async function runExpressions(flags: ReadonlySet<string>): Promise<void> {
  const givenSizes = [...flags].flatMap((flag) => /^--records=(\d+)$/.exec(flag)?.[1] ?? []);
  const records =
    givenSizes.length > 0 ? Number(givenSizes[0]) : flags.has('--quick') ? 20_000 : 1_000_000;
  const file = await generateFile(`clinvar-${records}.vcf.gz`, () => clinvarLines(records), 'bgzf');
  const server = await startServer();
  try {
    const lines = [
      await lineOrFailure('import', () => measureImport(server, file, records)),
      await lineOrFailure('join', () => measureJoin(server, records)),
      await lineOrFailure('evaluation', () => measureEvaluation(server, file, records)),
    ];
    const text = `${markdownTable(lines)}\n\n${machineText({ Python: pythonVersion() })}`;
    process.stdout.write(`${text}\n`);
    if (flags.has('--write')) writeResult('expressions', text);
  } finally {
    await server.stop();
  }
}

/** Yields the bundled records of ClinVar repeatedly, each time at other positions. */
function* clinvarLines(records: number): Generator<string> {
  const fileLines = gunzipSync(readFileSync(bundledFile)).toString('latin1').trimEnd().split('\n');
  const firstRecordLine = fileLines.findIndex((line) => !line.startsWith('#'));
  yield `${fileLines.slice(0, firstRecordLine).join('\n')}\n`;
  const rows = fileLines.slice(firstRecordLine);
  for (let i = 0; i < records; i++) {
    const [chromosome, position, ...rest] = rows[i % rows.length]!.split('\t');
    yield `${chromosome!}\t${Number(position) + Math.floor(i / rows.length)}\t${rest.join('\t')}\n`;
  }
}

async function measureImport(
  server: BenchServer,
  file: string,
  records: number,
): Promise<ResultLine> {
  const objectId = await server.upload(file);
  const secondsByKind: Record<'plain' | 'computed', number[]> = { plain: [], computed: [] };
  for (let run = 0; run < runsPerMeasurement; run++)
    for (const kind of ['plain', 'computed'] as const) {
      const datasetId = await server.createDataset(`${kind}-${run}`);
      const fieldParams = kind === 'plain' ? {} : { target_fields: targetFields };
      secondsByKind[kind].push(
        await server.import(datasetId, objectId, records, undefined, fieldParams),
      );
      await server.waitUntilIdle();
      await server.call('DELETE', `/v2/objects/${datasetId}`);
    }
  const [ours, plain] = [median(secondsByKind.computed), median(secondsByKind.plain)];
  return {
    measurement: `import of ${records.toLocaleString('en-US')} records with five computed fields`,
    ours: `${ours.toFixed(2)} s`,
    peer: `import without them ${plain.toFixed(2)} s`,
    ratio: ours / plain,
    limit: 1.5,
  };
}

async function measureEvaluation(
  server: BenchServer,
  file: string,
  records: number,
): Promise<ResultLine> {
  const evaluatedRecords = Math.min(records, 200_000);
  const batches = await readBatches(file, evaluatedRecords);
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const ourTimes = Array.from({ length: 3 + runsPerMeasurement }, () =>
    measureEvaluationSeconds(batches),
  ).slice(3);
  const ourMedian = median(ourTimes);
  const theirSeconds = await measurePythonSeconds(server, file, rows, records);
  return {
    measurement: `evaluation of five fields of ${rows.toLocaleString('en-US')} records, one thread`,
    ours: `${(1000 * ourMedian).toFixed(0)} ms`,
    peer: `CPython ${(1000 * theirSeconds).toFixed(0)} ms`,
    ratio: ourMedian / theirSeconds,
    limit: 0.2,
  };
}

/** Reads a VCF file from its start, chunk by chunk, until there are `minRows` records; returns one record batch per chunk. */
async function readBatches(file: string, minRows: number): Promise<readonly Batch[]> {
  const source = await openSource(join(process.cwd(), file), file);
  const batches: Batch[] = [];
  try {
    const reader = readerNamed('vcf');
    const params = reader.params({});
    const { header, bodyOffset } = await reader.header(source.head, params);
    const splitter = reader.splitter?.(header, params);
    let rows = 0;
    for await (const { ref } of source.chunks(bodyOffset, 8 << 20, undefined, splitter)) {
      const out = new BatchBuilder();
      const bytes = (await loadChunk(ref)).slice();
      const report = new FindingCollector(validationRules, true);
      const chunkStart = { columns: [], isFinal: true, hints: [], ...chunkStartOf(ref) };
      reader.read(bytes, header, params, out, report, chunkStart);
      const batch = out.finish();
      batches.push(batch);
      rows += batch.rows;
      if (rows >= minRows) break;
    }
    return batches;
  } finally {
    await source.close();
  }
}

const validationRules = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: true,
};

/** Evaluates `computedFields` for all batches; returns the processor time in seconds. */
function measureEvaluationSeconds(batches: readonly Batch[]): number {
  const expressions = {
    fields: targetFields,
    data: '{}',
    includeErrors: true,
    declared: targetFields.map(({ name }) => name),
    targetDatasetId: '1',
    sourceFilename: 'clinvar.vcf.gz',
    preExpression: '',
    postExpression: '',
    user: { name: '', email: '' },
    now: 0,
  };
  const from = process.cpuUsage();
  for (const batch of batches) {
    const { findings, release } = computeFields({
      batch,
      expressions,
      columns: [],
      inputs: batch.columns,
      host: {},
      isLenient: false,
      lineOf: () => 1,
    });
    release();
    if (findings.warnings > 0) throw new Error(`an expression failed: ${JSON.stringify(findings)}`);
  }
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1e6;
}

/** Returns the seconds that CPython takes to compute `computedFields`, on the records as the interface returns them. */
async function measurePythonSeconds(
  server: BenchServer,
  file: string,
  rows: number,
  records: number,
): Promise<number> {
  const datasetId = await server.createDataset('rows');
  await server.import(datasetId, await server.upload(file), records);
  const path = join(cacheFolder, 'expressions-rows.jsonl');
  writeFileSync(path, '');
  for (let offset = 0; offset < rows; offset += 10_000) {
    const page = { offset, limit: Math.min(10_000, rows - offset) };
    const { results } = await server.call('POST', `/v2/datasets/${datasetId}/data`, page);
    writeFileSync(path, results.map((one) => `${JSON.stringify(one)}\n`).join(''), { flag: 'a' });
  }
  const script = join('benchmarks', 'peers', 'evaluate_fields.py');
  const { stdout, status } = spawnSync('python3', [script, JSON.stringify(computedFields), path], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  rmSync(path);
  if (status !== 0) throw new Error('the Python program failed');
  return Number(stdout);
}

function pythonVersion(): string {
  const { status, stdout } = spawnSync('python3', ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim().replace('Python ', '') : 'not installed';
}

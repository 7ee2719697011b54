import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readPage } from '../../api/http/page.js';
import { budgets } from '../../engine/core/budgets.js';
import { createFile } from '../../engine/core/file-writer.js';
import { parseExportParams, parseQuery } from '../../engine/query/request/query-request.js';
import { readHeader } from '../../readers/vcf/vcf-header.js';
import { loadChunk } from '../../readers/source/load-chunk.js';
import { openSource } from '../../readers/source/open-source.js';
import { startServerFixture } from '../api/server-fixture.js';
import { idOf } from '../api/server.js';
import { compressBgzf } from '../readers/source/bgzf.js';

type BudgetName = keyof typeof budgets;

const folder = mkdtempSync(join(tmpdir(), 'strandlake-budgets-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The test files of the budgets that this file does not test. */
const budgetsTestedElsewhere: Partial<Record<BudgetName, string>> = {
  multipartMs: 'api/resources/multipart',
  uploadParts: 'api/resources/multipart',
  jsonDepth: 'readers/jsonl/jsonl',
  recordKeysWarning: 'readers/jsonl/jsonl',
  recordKeysError: 'readers/jsonl/jsonl',
  columnsPerImport: 'readers/csv/csv',
  stringBytes: 'readers/jsonl/jsonl',
  rejectedFileBytes: 'scheduler/jobs/import/import-report',
  rejectedTextBytes: 'engine/ingest/rejected-lines',
  dryRunSampleBytes: 'api/resources/dry-run.slow',
  fileTableBytes: 'api/resources/file-queries',
  computedMs: 'scheduler/jobs/computed-table',
  comparedIds: 'api/resources/diff',
  filterDepth: 'engine/query/bad-requests',
  filterNodes: 'engine/query/bad-requests',
  inListValues: 'engine/query/bad-requests',
  queryTerms: 'engine/query/bad-requests',
  regexpBytes: 'engine/query/bad-requests',
  batchQueries: 'api/resources/batch',
  blockingCommits: 'api/resources/rollbacks',
  queryBytes: 'engine/query/query-string',
  queryWildcards: 'engine/query/query-string',
  queryConditions: 'engine/query/query-string',
  facets: 'engine/query/bad-requests',
  facetDepth: 'engine/query/bad-requests',
  textBytes: 'readers/csv/csv',
  vcfLineRecordBytes: 'readers/vcf/annotations.slow',
  xmlDepth: 'readers/xml/bad.slow',
  xmlAttributes: 'readers/xml/bad.slow',
  xmlNodes: 'readers/xml/bad.slow',
  queryMs: 'engine/query/engine',
  tasksQueuedPerAccount: 'engine/catalog/tasks',
  tasksRunningPerAccount: 'engine/catalog/tasks',
  taskAttempts: 'scheduler/queue/worker-deaths',
  outdatedResults: 'scheduler/queue/own-kind',
  manifestFiles: 'api/resources/manifests.slow',
  idempotencyKeyMs: 'api/http/idempotency',
  idempotencyKeyBytes: 'api/http/idempotency',
  fetchConnectMs: 'threats/hosts.slow',
  fetchFirstByteMs: 'threats/hosts.slow',
  fetchIdleMs: 'threats/hosts.slow',
  fetchTotalMs: 'threats/hosts.slow',
  fetchRedirects: 'threats/hosts.slow',
  fetchRetries: 'threats/hosts.slow',
  fetchPauseMs: 'threats/hosts.slow',
  fetchHeaderBytes: 'threats/hosts.slow',
  fetchesPerHost: 'threats/hosts.slow',
  fetchesPerAccountAndMinute: 'threats/hosts.slow',
  fetchShareOfFreeDisk: 'threats/hosts.slow',
};

/** Reads a whole source as an import does; returns the number of its bytes, decompressed. */
async function countBytesRead(path: string): Promise<number> {
  const source = await openSource(path, 'it.json');
  try {
    let bytes = 0;
    for await (const { ref } of source.chunks(0, 8 << 20)) bytes += (await loadChunk(ref)).length;
    return bytes;
  } finally {
    await source.close();
  }
}

function writeSourceFile(...pieces: readonly (string | Uint8Array)[]): string {
  const path = join(folder, 'source');
  writeFileSync(path, Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
  return path;
}

async function readVcfHeader(text: string): Promise<unknown> {
  const source = await openSource(writeSourceFile(text), 'it.vcf');
  try {
    return await readHeader(source.head, undefined);
  } finally {
    await source.close();
  }
}

/** Runs `work` with another value of a budget, because reaching the real limit would take too much disk space, memory or time. */
async function withBudget<T>(name: BudgetName, value: number, work: () => Promise<T>): Promise<T> {
  const changedBudgets = budgets as unknown as Record<string, number>;
  const valueBefore = changedBudgets[name]!;
  changedBudgets[name] = value;
  try {
    return await work();
  } finally {
    changedBudgets[name] = valueBefore;
  }
}

/** Returns a long line between two short ones. */
const lineBetweenNeighbours = (bytes: number): Buffer => {
  const content = Buffer.alloc(bytes + 4, 120);
  content.write('a\n', 0);
  content.write('\nb', bytes + 2);
  return content;
};
const vcfHeaderLine = '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO';
const columnLineWithSamples = (count: number): string =>
  `${vcfHeaderLine}\tFORMAT\t${Array.from({ length: count }, (_, i) => `s${i}`).join('\t')}\n`;
const headerWithLines = (count: number): string =>
  `##fileformat=VCFv4.2\n${'##x=1\n'.repeat(count - 2)}${vcfHeaderLine}\n`;
const headerWithBytes = (bytes: number): string => {
  const [first, last] = ['##fileformat=VCFv4.2\n', `${vcfHeaderLine}\n`];
  const fill = bytes - first.length - last.length;
  const longLine = `##x=${'y'.repeat(1_019)}\n`;
  const count = Math.floor(fill / longLine.length) - 1;
  return `${first}${longLine.repeat(count)}##z=${'y'.repeat(fill - count * longLine.length - 5)}\n${last}`;
};

let datasetId: number;
const { ann, vaultId } = await startServerFixture();
beforeAll(async () => {
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
});

const importBodyOf = (count: number): object => ({
  dataset_id: datasetId,
  records: Array.from({ length: count }, (_, n) => ({ n })),
});

/** Sends a request; throws the text of the answer unless the request succeeds. */
async function postBody(path: string, body: unknown): Promise<void> {
  const { status, text } = await ann.post(path, body);
  if (status >= 400) throw new Error(`${status} ${text}`);
}

interface BudgetCase {
  readonly budget: BudgetName;
  readonly under: () => unknown;
  readonly over: () => unknown;
  /** The expected error message, which says what the limit is, its value, and what to change. */
  readonly message: RegExp;
}

const savedBudgets = { lineBytes: budgets.lineBytes, header: budgets.vcfHeaderBytes };
const budgetCases: readonly (readonly [string, BudgetCase])[] = Object.entries({
  'a body': {
    budget: 'jsonBodyBytes',
    under: () => postBody(`/v2/datasets/${datasetId}/data`, Buffer.alloc(64 << 20, ' ')),
    over: () => postBody(`/v2/datasets/${datasetId}/data`, Buffer.alloc((64 << 20) + 1, ' ')),
    message:
      /^413 .*The request body is larger than 64 MiB, the most that one may have: split the request, or upload/,
  },
  'inline records': {
    budget: 'inlineRecords',
    under: () => postBody('/v2/dataset_imports', importBodyOf(5_000)),
    over: () => postBody('/v2/dataset_imports', importBodyOf(5_001)),
    message:
      /takes at most 5000 records, not 5001: split them over several imports, or upload them as a file/,
  },
  'a line': {
    budget: 'lineBytes',
    under: () => countBytesRead(writeSourceFile(lineBetweenNeighbours(savedBudgets.lineBytes))),
    over: () => countBytesRead(writeSourceFile(lineBetweenNeighbours(savedBudgets.lineBytes + 1))),
    message:
      /^it.json: a line is longer than 64 MiB, the most that one may have: check that the file is text/,
  },
  'a line in gzip': {
    budget: 'lineBytes',
    under: () =>
      countBytesRead(
        writeSourceFile(gzipSync(lineBetweenNeighbours(savedBudgets.lineBytes), { level: 1 })),
      ),
    over: () =>
      countBytesRead(
        writeSourceFile(gzipSync(lineBetweenNeighbours(savedBudgets.lineBytes + 1), { level: 1 })),
      ),
    message: /^it.json: a line is longer than 64 MiB/,
  },
  'a line in BGZF': {
    budget: 'lineBytes',
    under: () =>
      countBytesRead(writeSourceFile(compressBgzf(lineBetweenNeighbours(savedBudgets.lineBytes)))),
    over: () =>
      countBytesRead(
        writeSourceFile(compressBgzf(lineBetweenNeighbours(savedBudgets.lineBytes + 1))),
      ),
    message: /^it.json: a line is longer than 64 MiB/,
  },
  'what gzip gives': {
    budget: 'decompressedBytes',
    under: () =>
      withBudget('decompressedBytes', 9_999, () =>
        countBytesRead(writeSourceFile(gzipSync(textOfLines(9_999)))),
      ),
    over: () =>
      withBudget('decompressedBytes', 9_999, () =>
        countBytesRead(writeSourceFile(gzipSync(textOfLines(10_000)))),
      ),
    message:
      /^it.json: the file has more than 9999 bytes when decompressed, .* split it into several files$/,
  },
  'what BGZF gives': {
    budget: 'decompressedBytes',
    under: () =>
      withBudget('decompressedBytes', 9_999, () =>
        countBytesRead(writeSourceFile(compressBgzf(textOfLines(9_999)))),
      ),
    over: () =>
      withBudget('decompressedBytes', 9_999, () =>
        countBytesRead(writeSourceFile(compressBgzf(textOfLines(10_000)))),
      ),
    message: /^it.json: the file has more than 9999 bytes when decompressed/,
  },
  'the bytes of a VCF header': {
    budget: 'vcfHeaderBytes',
    under: () => readVcfHeader(headerWithBytes(savedBudgets.header)),
    over: () => readVcfHeader(headerWithBytes(savedBudgets.header + 2)),
    message:
      /^it.vcf: the VCF header has more than 64 MiB, the most that one may have: remove lines/,
  },
  'a VCF header of one endless line': {
    budget: 'vcfHeaderBytes',
    under: () =>
      readVcfHeader(`##fileformat=VCFv4.2\n##x=${'y'.repeat(1 << 20)}\n${vcfHeaderLine}\n`),
    over: () => readVcfHeader(`##fileformat=VCFv4.2\n##x=${'y'.repeat(savedBudgets.header)}`),
    message: /the VCF header has more than 64 MiB/,
  },
  'the lines of a VCF header': {
    budget: 'vcfHeaderLines',
    under: () => readVcfHeader(headerWithLines(100_000)),
    over: () => readVcfHeader(headerWithLines(100_001)),
    message:
      /^it.vcf: the VCF header has more than 100000 lines, the most that one may have: remove lines/,
  },
  'samples of a VCF': {
    budget: 'vcfSamples',
    under: () => readVcfHeader(`##fileformat=VCFv4.2\n${columnLineWithSamples(200_000)}`),
    over: () => readVcfHeader(`##fileformat=VCFv4.2\n${columnLineWithSamples(200_001)}`),
    message:
      /the file has 200001 samples, and 200000 are the most that one may have: split it by samples/,
  },
  'a page of records': {
    budget: 'pageLimit',
    under: () => parseQuery({ limit: 10_000 }, []),
    over: () => parseQuery({ limit: 10_001 }, []),
    message: /^A limit is at most 10000, not 10001: read the other records as further pages/,
  },
  'a page of a list': {
    budget: 'listLimit',
    under: () => readPage({ limit: '10000' }),
    over: () => readPage({ limit: '10001' }),
    message: /^A limit is at most 10000, not 10001: read the others as further pages/,
  },
  'an export': {
    budget: 'exportLimit',
    under: () => parseExportParams({ limit: 1_000_000 }, []),
    over: () => parseExportParams({ limit: 1_000_001 }, []),
    message: /^A limit is at most 1000000, not 1000001: leave it out to export all records/,
  },
  'the terms of a facet': {
    budget: 'facetTerms',
    under: () => withBudget('facetTerms', 5_000, () => postBody(dataPath(), termsFacetRequest(0))),
    over: () => withBudget('facetTerms', 4_999, () => postBody(dataPath(), termsFacetRequest(0))),
    message:
      /The facet of n has too many terms: all facets of an answer may have 4999 at most; set the limit of the facet/,
  },
  'the bins of a histogram': {
    budget: 'facetBuckets',
    under: () =>
      withBudget('facetBuckets', 5_000, () => postBody(dataPath(), histogramFacetRequest(1))),
    over: () =>
      withBudget('facetBuckets', 4_999, () => postBody(dataPath(), histogramFacetRequest(1))),
    message:
      /The facet of n has too many bins: all facets of an answer may have 4999 at most; take a larger interval/,
  },
  'the bins of all histograms': {
    budget: 'facetBuckets',
    under: () =>
      withBudget('facetBuckets', 10_000, () =>
        postBody(dataPath(), histogramFacetRequest(1, histogramFacetRequest(1))),
      ),
    over: () =>
      withBudget('facetBuckets', 9_999, () =>
        postBody(dataPath(), histogramFacetRequest(1, histogramFacetRequest(1))),
      ),
    message: /too many bins: all facets of an answer may have 9999 at most; take a larger interval/,
  },
  'the terms that a facet asks for': {
    budget: 'facetTerms',
    under: () => postBody(dataPath(), termsFacetRequest(1_000_000)),
    over: () => postBody(dataPath(), termsFacetRequest(1_000_001)),
    message:
      /The limit of a facet is a whole number from 1 to 1000000, or 0 for all terms, not 1000001/,
  },
} satisfies Record<string, BudgetCase>);
const dataPath = (): string => `/v2/datasets/${datasetId}/data`;
const termsFacetRequest = (terms: number): object => ({
  limit: 0,
  facets: { n: { facet_type: 'terms', limit: terms } },
});
const histogramFacetRequest = (interval: number, nested: object = {}): object => ({
  limit: 0,
  facets: { n: { facet_type: 'histogram', interval, ...nested } },
});
const textOfLines = (bytes: number): Buffer => Buffer.from('a\n'.repeat(bytes).slice(0, bytes));

describe('T0: just under passes, just over is named', () => {
  test.each(budgetCases)('%s', async (_, { under, over, message }) => {
    await under();
    // The least memory growth of several attempts: an attempt may include memory that the garbage collector has not freed yet.
    let growth = Infinity;
    for (let attempt = 0; attempt < 3 && growth >= 200 << 20; attempt++) {
      const rssBefore = process.memoryUsage().rss;
      await expect((async () => over())()).rejects.toThrow(message);
      growth = process.memoryUsage().rss - rssBefore;
    }
    expect(growth).toBeLessThan(200 << 20);
  });

  test('signed addresses live as long as their budgets say', async () => {
    const createdObject = await ann.post('/v2/objects', {
      vault_id: idOf(await ann.post('/v2/vaults', { name: 'Files' })),
      object_type: 'file',
      filename: 'a',
    });
    const uploadUrl = String(createdObject.json['upload_url']);
    await ann.call('PUT', uploadUrl, 'x', { authorization: '' });
    const downloadUrl = (await ann.get(`/v2/objects/${idOf(createdObject)}/download`)).json[
      'download_url'
    ];
    const secondsLeft = (url: unknown): number =>
      Number(new URL(String(url)).searchParams.get('expires')) * 1000 - Date.now();
    expect(secondsLeft(uploadUrl) / budgets.uploadUrlMs).toBeCloseTo(1, 2);
    expect(secondsLeft(downloadUrl) / budgets.objectUrlMs).toBeCloseTo(1, 1);
    // The file of an export is kept as long as its download address is valid; test/threats/downloads.slow.test.ts tests this.
    expect(budgets.exportUrlMs).toBe(24 * 3_600_000);
  });
});

test('T0: the disk keeps its reserve, and the error says that there is no space', async () => {
  const write = async (name: string): Promise<void> => {
    const writer = await createFile(join(folder, name));
    try {
      await writer.write(Buffer.alloc(10));
      await writer.finish();
    } catch (error) {
      await writer.abort();
      throw error;
    }
  };
  await write('fits');
  await expect(withBudget('diskReserveBytes', 2 ** 60, () => write('does not'))).rejects.toThrow(
    /space/,
  );
});

test('every budget has its case, and something that enforces it (T0)', () => {
  const budgetsTestedHere = [
    ...budgetCases.map(([, { budget }]) => budget),
    'diskReserveBytes',
    'exportUrlMs',
    'objectUrlMs',
    'uploadUrlMs',
  ];
  const sources = ['api', 'engine', 'readers', 'scheduler', 'writers'].flatMap((part) =>
    readdirSync(part, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && name !== 'budgets.ts')
      .map((name) => readFileSync(join(part, name), 'utf8')),
  );
  for (const name of Object.keys(budgets) as BudgetName[]) {
    const isEnforced = sources.some((source) =>
      new RegExp(`[.']${name}\\b|\\b${name}\\b.*= budgets;`).test(source),
    );
    expect([name, isEnforced]).toEqual([name, true]);
    const otherTest = budgetsTestedElsewhere[name];
    const proofText =
      otherTest === undefined ? '' : readFileSync(`test/${otherTest}.test.ts`, 'utf8');
    const isProved = proofText.includes('T0') && proofText.includes(name);
    expect([name, budgetsTestedHere.includes(name) || isProved]).toEqual([name, true]);
  }
  // Messages say in words what to change, because the names of budgets mean nothing to a user.
  for (const source of sources) expect(source).not.toMatch(/\(budget /);
});

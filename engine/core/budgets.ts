/**
 * Limits on the cost of a request, a record or a task (threat catalogue, section 2). An error about a limit says in words which limit was
 * reached, its value, and what to change.
 */
export const budgets = {
  jsonBodyBytes: 64 << 20,
  jsonDepth: 64,
  recordKeysWarning: 150,
  recordKeysError: 400,
  lineBytes: 64 << 20,
  xmlDepth: 256,
  xmlAttributes: 10_000,
  xmlNodes: 1_000_000,
  textBytes: 16 << 20,
  stringBytes: 32_766,
  decompressedBytes: 500 * 1024 ** 3,
  vcfHeaderBytes: 64 << 20,
  vcfHeaderLines: 100_000,
  vcfSamples: 200_000,
  vcfLineRecordBytes: 256 << 20,
  columnsPerImport: 10_000,
  inlineRecords: 5_000,
  manifestFiles: 1_000,
  fetchConnectMs: 10_000,
  fetchFirstByteMs: 30_000,
  fetchIdleMs: 60_000,
  fetchTotalMs: 24 * 3_600_000,
  fetchRedirects: 5,
  fetchRetries: 5,
  fetchPauseMs: 60_000,
  fetchHeaderBytes: 32 << 10,
  fetchesPerHost: 4,
  fetchesPerAccountAndMinute: 600,
  fetchShareOfFreeDisk: 0.8,
  rejectedFileBytes: 64 << 20,
  rejectedTextBytes: 4_096,
  fileTableBytes: 16 * 1024 ** 3,
  dryRunSampleBytes: 256 << 10,
  filterDepth: 32,
  filterNodes: 2_000,
  inListValues: 100_000,
  queryTerms: 200,
  queryBytes: 8_192,
  queryWildcards: 20,
  queryConditions: 10_000,
  regexpBytes: 1_024,
  pageLimit: 10_000,
  listLimit: 10_000,
  exportLimit: 1_000_000,
  facets: 50,
  facetTerms: 1_000_000,
  facetBuckets: 1_000_000,
  facetDepth: 5,
  batchQueries: 100,
  queryMs: 60_000,
  computedMs: 120_000,
  tasksQueuedPerAccount: 1_000,
  tasksRunningPerAccount: 4,
  taskAttempts: 3,
  outdatedResults: 20,
  diskReserveBytes: 64 << 20,
  exportUrlMs: 24 * 3_600_000,
  objectUrlMs: 3_600_000,
  uploadUrlMs: 24 * 3_600_000,
  multipartMs: 7 * 24 * 3_600_000,
  uploadParts: 10_000,
  idempotencyKeyMs: 24 * 3_600_000,
  idempotencyKeyBytes: 255,
} as const;

/** A number of bytes as messages show it: `64 MiB`, `9999 bytes`. */
export function byteSizeText(bytes: number): string {
  const [size, name] = byteUnits.find(([unit]) => bytes >= unit && bytes % unit === 0) ?? [
    1,
    'bytes',
  ];
  return `${bytes / size} ${name}`;
}

const byteUnits = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
] as const;

import type { Catalog } from '../engine/catalog/catalog.js';
import { replaceFile } from '../engine/core/atomic-files.js';
import type { DatasetField } from '../engine/core/dataset-field.js';
import type { DataFolder } from '../engine/core/data-folder.js';
import { AppError } from '../engine/core/errors.js';
import { readFile } from '../engine/core/files.js';
import { HotColumns, type HotDataset } from '../engine/query/memory/hot-columns.js';
import type { QueryEngine } from '../engine/query/plan/query-engine.js';
import { runQuery } from '../engine/query/plan/run-query.js';
import { fieldRef, indexFields } from '../engine/query/request/field-index.js';
import { parseQuery } from '../engine/query/request/query-request.js';
import type { Store } from '../engine/store/store.js';
import type { App } from './app.module.js';
import {
  archivedProblem,
  loadVisibleVersion,
  type VisibleDatasetVersion,
} from '../scheduler/jobs/visible-data.js';

/*
 * A server that starts has no column in memory and has compiled no code of a query. Before it listens, and later while no request runs, it
 * reads the first page of the datasets that were used last. For the first of them, it sends itself requests (`internal-requests.ts`) and
 * searches for words of the first page, so that the code of requests, of word searches and of records that lie apart is compiled. Then it
 * reads the footers of the files, loads each column that queries used, the smallest first, and looks up values in some of them.
 */

interface WarmingContext {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queryEngine: QueryEngine;
  readonly app: Pick<App, 'post'>;
}

/**
 * Warms the hot datasets, or the newest dataset if there are none; resolves when this is done or the signal aborts. `report` receives a
 * message for each dataset that could not be warmed, unless it was deleted or the signal aborted.
 */
export async function warmCaches(
  { catalog, store, queryEngine, app }: WarmingContext,
  hot: readonly HotDataset[],
  signal: AbortSignal,
  report: (message: string) => void,
): Promise<void> {
  const forEachDataset = async (work: (dataset: HotDataset) => Promise<void>): Promise<void> => {
    const existingIds = new Set((await catalog.datasets.logVersions()).filter(({ logVersion }) => logVersion >= 0).map(({ id }) => id)); // prettier-ignore
    const newestDatasets = [...existingIds].slice(-1).map((id) => ({ dataset: id, fields: [] }));
    for (const hotDataset of hot.length > 0 ? hot : newestDatasets) {
      if (signal.aborted) return;
      const dataset =
        existingIds.has(hotDataset.dataset) && (await catalog.datasets.get(hotDataset.dataset));
      if (!dataset || archivedProblem(dataset) !== undefined) continue;
      try {
        await work(hotDataset);
      } catch (error) {
        const isExpected =
          error instanceof AppError && ['canceled', 'not-found'].includes(error.code);
        if (!isExpected) report(`dataset ${hotDataset.dataset} was not warmed: ${String(error)}`);
      }
    }
  };
  // Reads for warming do not count as use of columns.
  const uncountedEngine = { ...queryEngine, hot: undefined };
  const options = { signal, timeoutMs: warmingTimeoutMs, isIdle: true };
  const ask = (
    { snapshot, fields }: VisibleDatasetVersion,
    body: object,
  ): ReturnType<typeof runQuery> =>
    runQuery(uncountedEngine, snapshot, fields, parseQuery(body, fields), options);
  let isRehearsed = false;
  await forEachDataset(async ({ dataset: datasetId }) => {
    const visibleVersion = await loadVisibleVersion(catalog, store, datasetId);
    const { results } = await ask(visibleVersion, { limit: 100 });
    const object = await catalog.objects.get(datasetId);
    const vault = object && (await catalog.vaults.get(object.vaultId));
    if (isRehearsed || vault === undefined) return;
    isRehearsed = true;
    const path = `/v2/datasets/${datasetId}/data`;
    for (let i = 0; i < rehearsalCount && !signal.aborted; i++)
      await app.post(vault.userId, path, { limit: i % 4 === 0 ? 100 : 0 });
    const firstRecords = JSON.parse(results) as readonly ObjectMembers[];
    const searchDeadline = performance.now() + maxSearchesMs;
    for (const [field, word] of repeatedWords(firstRecords, visibleVersion.fields)) {
      await ask(visibleVersion, { filters: [[`${field}__contains`, word]], limit: 100 });
      if (signal.aborted || performance.now() > searchDeadline) break;
    }
  });
  await forEachDataset(async ({ dataset: datasetId, fields: names }) => {
    const visibleVersion = await loadVisibleVersion(catalog, store, datasetId);
    const { snapshot } = visibleVersion;
    const { memory } = queryEngine;
    const index = indexFields(visibleVersion.fields);
    const fields = names.toReversed().flatMap((name) => index.find(name) ?? []);
    const refs = fields.map(fieldRef);
    const bytes = (await memory?.open(snapshot, refs, options)) ?? refs.map(() => 0);
    const { results } = await ask(visibleVersion, { limit: 1 });
    const [record] = JSON.parse(results) as readonly unknown[];
    let lookups = 0;
    for (const batch of columnBatches(bytes)) {
      await memory?.warm(snapshot, batch.map((at) => refs[at]!), options); // prettier-ignore
      for (const at of batch) {
        const { name } = fields[at]!;
        const value = memberOf(record, name);
        const isShort =
          typeof value === 'number' || (typeof value === 'string' && value.length < 200);
        if (isShort && lookups++ < maxLookupFields)
          await ask(visibleVersion, { filters: [[name, value]], limit: 1 });
      }
    }
  });
}

/**
 * Returns words of the text fields of some records, each with the name of its field, in turns of the fields: words that at least two of the
 * records contain, the rarest first, at most `maxWordsPerField` of each field.
 */
function repeatedWords(
  records: readonly ObjectMembers[],
  fields: readonly DatasetField[],
): readonly (readonly [field: string, word: string])[] {
  const wordsOfFields = fields
    .filter(({ dataType }) => dataType === 'text')
    .map(({ name }) => {
      const counts = new Map<string, number>();
      for (const record of records)
        for (const word of new Set(JSON.stringify(memberOf(record, name) ?? '').match(wordPattern)))
          counts.set(word, (counts.get(word) ?? 0) + 1);
      const repeatedEntries = [...counts].filter(([, count]) => count > 1);
      return repeatedEntries.sort(([, a], [, b]) => a - b).map(([word]) => [name, word] as const);
    });
  return Array.from({ length: maxWordsPerField }, (_, i) =>
    wordsOfFields.flatMap((words) => words.slice(i, i + 1)),
  ).flat();
}

/**
 * Yields the indices of columns of these sizes in the order in which to load them: small columns first, so that most are loaded early, and
 * several together, up to `maxBatchBytes`; a larger column is loaded alone.
 */
function* columnBatches(bytes: readonly number[]): Generator<readonly number[]> {
  let batch: number[] = [];
  let batchBytes = 0;
  for (const at of [...bytes.keys()].sort((a, b) => bytes[a]! - bytes[b]!)) {
    if (batch.length > 0 && batchBytes + bytes[at]! > maxBatchBytes) {
      yield batch;
      batch = [];
      batchBytes = 0;
    }
    batch.push(at);
    batchBytes += bytes[at]!;
  }
  if (batch.length > 0) yield batch;
}

const maxBatchBytes = 32 << 20;

type ObjectMembers = Readonly<Record<string, unknown>>;

/** Returns the value of the field with this name in a record, such as `info.AF`. */
function memberOf(record: unknown, name: string): unknown {
  return name.split('.').reduce((of, key) => (of as ObjectMembers | null)?.[key], record);
}

/** Maximum number of fields of a dataset whose values are looked up. */
const maxLookupFields = 16;

/** Number of requests after which most of the code of a request is compiled: the next one takes a third of the first one's time. */
const rehearsalCount = 32;

const wordPattern = /[A-Za-z]{3,}/g;

/** Maximum number of words of each text field for which the server searches at the start. */
const maxWordsPerField = 8;

/** The time after which no further word is searched for at the start. */
const maxSearchesMs = 500;

/** The longest time of one query for warming, including its wait while requests run. */
const warmingTimeoutMs = 600_000;

/** Returns the hot columns that the previous run of the server saved; none if their file is missing or unreadable. */
export async function loadHotColumns(data: DataFolder): Promise<HotColumns> {
  const bytes = await readFile(data.hotColumns).catch(() => new Uint8Array());
  return HotColumns.parse(bytes);
}

/** How often the list of hot columns is saved if it has changed. */
const saveIntervalMs = 60_000;

/**
 * Saves the hot columns from time to time; returns a function that saves them a last time. A failure is ignored: the next start then warms
 * older columns.
 */
export function saveHotColumnsPeriodically(data: DataFolder, hot: HotColumns): () => Promise<void> {
  const save = async (): Promise<void> => {
    const bytes = hot.takeChangedBytes();
    if (bytes) await replaceFile(data.hotColumns, bytes).catch(() => undefined);
  };
  const timer = setInterval(() => void save(), saveIntervalMs).unref();
  return async () => {
    clearInterval(timer);
    await save();
  };
}

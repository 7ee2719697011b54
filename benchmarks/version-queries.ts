import { setTimeout as pause } from 'node:timers/promises';
import type { BenchServer } from './server.js';
import type { ResultLine } from './table.js';
import {
  changeRecords,
  fetchLastCommitId,
  measureSeconds,
  resultLineOfChange,
  writeIdFile,
  writeUpsertFile,
  type VersionsSetup,
} from './version-changes.js';

/** Number of consecutive changes that are made before the queries are measured, on the newest version and on earlier ones. */
const consecutiveChanges = 20;
/**
 * Number of runs of each request before it is measured: as many as the warm-up passes of the benchmark `query`, because a server in use is
 * warm.
 */
const warmupQueryRuns = 20;
/** More runs than of changes: an answer takes a few milliseconds, of which the machine's noise is a large part. */
const measuredQueryRuns = 61;
/** Number of upserts that are rolled back, one after the other; DuckDB has not yet replaced the records of any of them. */
const rollbackRuns = 3;
/** A pause that is longer than the five seconds without a commit after which a dataset is merged further. */
const restMs = 7_000;

/** Waits until all merges have ended, those included that begin when the dataset has had no commit for some time. */
async function waitForRest(server: BenchServer): Promise<void> {
  await server.waitUntilIdle();
  await pause(restMs);
  await server.waitUntilIdle();
}

/** A version of a dataset: the one after a commit, or else the newest. */
interface MeasuredVersion {
  readonly datasetId: number;
  readonly commitId?: number;
}

/**
 * Measures a set of queries after many changes, and on earlier versions: the one before the changes and, for upserts, the one after half of
 * them, which no merge has sorted. The newest version is compared with a dataset of the same records that no commit has changed; earlier
 * versions are compared with the newest one, and after deletes, which leave fewer records, with the unchanged dataset. All take turns.
 */
export async function measureQueries(
  setup: VersionsSetup,
  unchangedId: number,
  what: 'deletes' | 'upserts',
): Promise<readonly ResultLine[]> {
  const { server, datasetId, records, fewRecords } = setup;
  const requests: readonly (readonly [name: string, request: object])[] = [
    ['first page', {}],
    ['filter', { filters: [['depth__gt', 50], ['significance', 'Pathogenic']] }], // prettier-ignore
    ['terms facet', { limit: 0, facets: { gene: { facet_type: 'terms', limit: 10 } } }],
    ['stats', { limit: 0, facets: { frequency: { facet_type: 'stats' } } }],
    ['variant lookup', { filters: [['variant', `GRCH38-1-${12_345_001}-${12_345_001}-T`]] }],
    ['sorted', { ordering: '-frequency', limit: 10 }],
  ];
  await waitForRest(server);
  const earlierCommitId = await fetchLastCommitId(server, datasetId);
  let middleCommitId = earlierCommitId;
  for (let run = 0; run < consecutiveChanges; run++) {
    if (what === 'upserts') {
      const objectId = await server.upload(await writeUpsertFile(setup, 70 + run));
      await changeRecords(setup, objectId, records, 'upsert');
    } else {
      const objectId = await server.upload(writeIdFile(setup, 100 + run));
      await changeRecords(setup, objectId, records - (run + 1) * fewRecords, 'delete');
    }
    if (run + 1 === consecutiveChanges / 2)
      middleCommitId = await fetchLastCommitId(server, datasetId);
  }
  await waitForRest(server);
  const [timesAfter, unchangedTimes, earlierTimes, middleTimes] = await measureRequestsByVersion(
    setup,
    requests,
    [
      { datasetId },
      { datasetId: unchangedId },
      { datasetId, commitId: earlierCommitId },
      ...(what === 'upserts' ? [{ datasetId, commitId: middleCommitId }] : []),
    ],
  );
  const peerOfEarlier = what === 'upserts' ? 'newest' : 'unchanged dataset';
  const timesOfPeer = what === 'upserts' ? timesAfter! : unchangedTimes!;
  return requests.flatMap(([name], i) => [
    resultLineOfChange(`${name}, after ${consecutiveChanges} ${what} of ${fewRecords.toLocaleString('en-US')}`, timesAfter![i]!, 'unchanged dataset', unchangedTimes![i]!, 1.3), // prettier-ignore
    resultLineOfChange(`${name}, as of the version before the ${what}`, earlierTimes![i]!, peerOfEarlier, timesOfPeer[i]!, 1.2), // prettier-ignore
    ...(middleTimes
      ? [resultLineOfChange(`${name}, as of the version after half of the ${what}`, middleTimes[i]!, 'newest', timesAfter![i]!, 1.2)] // prettier-ignore
      : []),
  ]);
}

/**
 * Measures rollbacks of the last of many upserts after a merge has sorted the records: of the last one, then of the one before it, and so
 * on. DuckDB replaces the records by the earlier ones again.
 */
export async function sortedRollbackLine(setup: VersionsSetup): Promise<ResultLine> {
  const { server, datasetId, duckdb, fewRecords } = setup;
  const { data } = await server.call('GET', `/v2/datasets/${datasetId}/commits?limit=${rollbackRuns}`); // prettier-ignore
  const ours: number[] = [];
  const theirs: number[] = [];
  for (const [run, { id: commitId }] of data.entries()) {
    const file = await writeUpsertFile(setup, 70 + consecutiveChanges - 1 - run);
    await duckdb.run(`CREATE OR REPLACE TABLE gone AS SELECT t.* FROM t SEMI JOIN read_json('${file}') AS g ON t._id = g._id`); // prettier-ignore
    ours.push(
      await measureSeconds(() => server.call('POST', `/v2/dataset_commits/${commitId}/rollback`)),
    );
    theirs.push(await measureSeconds(() => duckdb.run('INSERT OR REPLACE INTO t FROM gone')));
  }
  return resultLineOfChange(`rollback of the last of ${consecutiveChanges} upserts of ${fewRecords.toLocaleString('en-US')}, after a sorting merge`, ours, 'DuckDB INSERT OR REPLACE of the earlier records', theirs, 0.5); // prettier-ignore
}

/**
 * Measures the requests on each of some versions. The versions take turns, so that what else the machine does slows all of them down.
 * Another version is the first in each run: the first query after those of another request, such as a lookup after a scan of all records,
 * takes up to a millisecond longer. Returns the seconds by version, by request and by run.
 */
async function measureRequestsByVersion(
  { connections }: VersionsSetup,
  requests: readonly (readonly [name: string, request: object])[],
  versions: readonly MeasuredVersion[],
): Promise<readonly (readonly (readonly number[])[])[]> {
  const times = versions.map(() => requests.map((): number[] => []));
  for (let run = -warmupQueryRuns; run < measuredQueryRuns; run++) {
    for (const [i, [name, request]] of requests.entries()) {
      for (const turn of versions.keys()) {
        const version = (turn + run + warmupQueryRuns) % versions.length;
        const { datasetId, commitId } = versions[version]!;
        const body = JSON.stringify({
          ...request,
          ...(commitId !== undefined && { as_of: commitId }),
        });
        const from = performance.now();
        const reply = await connections.post(`/v2/datasets/${datasetId}/data`, body);
        if (run >= 0) times[version]![i]!.push((performance.now() - from) / 1000);
        if (reply.status !== 200) throw new Error(`${name}: ${reply.status} ${reply.text}`);
      }
    }
  }
  return times;
}

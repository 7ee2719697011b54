import type { AsOf } from '../../../engine/catalog/commits.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { budgets } from '../../../engine/core/budgets.js';
import { invalidError } from '../../../engine/core/errors.js';
import {
  readDifferencePage,
  computeRecordChanges,
  type ComparedVersions,
} from '../../../engine/query/plan/difference-page.js';
import { clientLeftError } from '../../../engine/query/executor/run-options.js';
import { maxRecordsPerPiece } from '../../../engine/query/plan/read-page-records.js';
import { firstParamValue, wholeNumberParam } from '../../http/list-query.js';
import type { AppContext } from '../../http/app-context.js';
import type { QueryParams } from '../../http/page.js';
import { ByteStream, JsonText } from '../../http/reply.js';
import {
  answerSchema,
  integer,
  jsonObject,
  listOf,
  nullable,
  nullableText,
  objectOf,
  enumOf,
  reference,
  strings,
} from '../../http/json-schema.js';
import { resolveAsOf } from '../queries/as-of.js';
import { signState, verifySignedState } from '../queries/page-cursor.js';
import { loadReadableData, runUnlessDeleted } from '../queries/query-records.js';

/** The parameters of a comparison of two versions. */
export const diffQuery = {
  from: {
    description:
      'The version to compare with: the id of a commit or a time, as as_of takes them. The version before the commit of `to` unless given.',
    example: '2026-03-02T09:20:41Z',
  },
  to: {
    description:
      'The version to compare, in the same form; the newest unless given. It may be earlier than `from`.',
    example: '5112',
  },
  limit: { description: '1 to 10,000; 100 when absent.', example: '10' },
  cursor: {
    description: 'The cursor of the previous answer; it stays on its two versions. `*` begins.',
    example: '*',
  },
};

const changeType = objectOf({
  change: { type: enumOf('removed', 'changed', 'added') },
  record: {
    type: jsonObject,
    description: 'The record at `to`; of a removed one, as it was at `from`.',
  },
  before: { type: nullable(jsonObject), description: 'A changed record as it was at `from`.' },
  fields: {
    type: strings,
    description: 'The dotted names of the fields in which a changed record differs.',
  },
});

/** The differences between two versions of a dataset. */
export const diffAnswer = answerSchema('Diff', 'A page of what differs between two versions.', {
  from: { type: reference('AsOf'), example: { commit_id: 5109, version: 2 } },
  to: { type: reference('AsOf'), example: { commit_id: 5112, version: 3 } },
  counts: {
    type: objectOf({ added: { type: integer }, changed: { type: integer }, removed: { type: integer } }), // prettier-ignore
    description: 'Numbers of records on all pages.',
    example: { added: 1, changed: 0, removed: 0 },
  },
  results: {
    type: listOf(changeType),
    description: 'Records removed, then those changed, then those added; each in insertion order.',
    example: [
      {
        change: 'added',
        record: { _id: '0zg3d66smj00000000a', _commit: '5112', gene: 'MYH7' },
        before: null,
        fields: [],
      },
    ],
  },
  cursor: {
    type: nullableText,
    description: 'The cursor of the next page; null after the last one.',
    example: null,
  },
});

/**
 * The state of a comparison: the two versions, the texts by which the first request named them, and the number of records on earlier pages.
 */
interface DiffState {
  readonly datasetId: number;
  readonly given: readonly [from: string, to: string];
  readonly from: AsOf;
  readonly to: AsOf;
  readonly seen: number;
}

/**
 * Returns a page of the records in which two versions of a dataset differ. Throws a 400 for a version that the dataset does not have.
 * Choice: `GET /v2/datasets/{id}/diff` lists first the removed, then the changed, then the added records. A record that was removed and
 * restored between the versions is not listed. A changed record is an `_id` with two different values of `_commit`; a field that is null
 * counts as absent, and a list is compared as a whole.
 */
export async function answerDiff(
  context: AppContext,
  dataset: DatasetRow,
  query: QueryParams,
  signal: AbortSignal,
): Promise<JsonText | ByteStream> {
  const limit = readLimit(query);
  const state = await readDiffState(context, dataset, query);
  const { from, to, seen } = state;
  const options = { signal, subject: `dataset ${dataset.id}` };
  return runUnlessDeleted(context, dataset, async () => {
    const versions = await loadComparedVersions(context, dataset, state);
    const changes = await computeRecordChanges(context.queryEngine, versions, options);
    const counts = {
      added: changes.added.length,
      changed: changes.after.length,
      removed: changes.removed.length,
    };
    const total = counts.added + counts.changed + counts.removed;
    const pageEnd = Math.min(seen + limit, total);
    const next = pageEnd < total ? signState({ ...state, seen: pageEnd }, 'diff', context.signingKey) : null; // prettier-ignore
    const head = `${JSON.stringify({ from, to, counts }).slice(0, -1)},"results":[`;
    const tail = `],"cursor":${JSON.stringify(next)}}`;
    const pieces = readDifferencePage(context.queryEngine, versions, changes, seen, limit, options);
    if (pageEnd - seen <= maxRecordsPerPiece) {
      let results = '';
      for await (const piece of pieces) results += piece;
      return new JsonText(head + results + tail);
    }
    // The first part of the results is read before the answer begins, so that an error while reading it still gets an answer with its
    // status.
    const firstPiece = await pieces.next();
    signal.addEventListener('abort', () => void pieces.return(undefined), { once: true });
    return new ByteStream(
      (async function* () {
        yield Buffer.from(head + String(firstPiece.value));
        for await (const piece of pieces) yield Buffer.from(piece);
        if (signal.aborted) throw clientLeftError();
        yield Buffer.from(tail);
      })(),
    );
  });
}

async function loadComparedVersions(
  context: AppContext,
  dataset: DatasetRow,
  { from, to }: DiffState,
): Promise<ComparedVersions> {
  const fromData = await loadReadableData(context, dataset, from.version);
  const toData = await loadReadableData(context, dataset, to.version);
  const [earlierSnapshot, laterSnapshot] = [fromData.snapshot, toData.snapshot];
  // A merge makes a version that the catalogue names only afterwards: until then, the snapshot is that of the version before the merge.
  const difference = await context.store.difference(
    dataset.id,
    earlierSnapshot.version,
    laterSnapshot.version,
  );
  return { from: earlierSnapshot, to: laterSnapshot, fields: toData.fields, difference };
}

function readLimit(query: QueryParams): number {
  const limit = wholeNumberParam(query, 'limit') ?? 100;
  if (limit >= 1 && limit <= budgets.pageLimit) return limit;
  throw invalidError(
    'limit',
    `A page has 1 to ${budgets.pageLimit} records, not ${limit}: read the others as further pages, with cursor.`,
  );
}

/** Returns the state for a request: with the two versions that it names, or with those of its cursor. */
async function readDiffState(
  context: AppContext,
  dataset: DatasetRow,
  query: QueryParams,
): Promise<DiffState> {
  const givenVersions = [
    firstParamValue(query, 'from')?.trim() ?? '',
    firstParamValue(query, 'to')?.trim() ?? '',
  ] as const;
  const cursor = firstParamValue(query, 'cursor');
  if (cursor !== undefined && !['', '*', 'true'].includes(cursor.trim().toLowerCase()))
    return diffStateOfCursor(context, dataset, cursor, givenVersions);
  const to =
    (await resolveAsOf(context, dataset.id, givenVersions[1], 'to')) ??
    (await readNewestVersion(context, dataset));
  const from =
    (await resolveAsOf(context, dataset.id, givenVersions[0], 'from')) ??
    (await readVersionBefore(context, dataset, to));
  return { datasetId: dataset.id, given: givenVersions, from, to, seen: 0 };
}

function diffStateOfCursor(
  { signingKey }: AppContext,
  dataset: DatasetRow,
  cursor: string,
  given: DiffState['given'],
): DiffState {
  const state = verifySignedState(cursor, 'diff', signingKey) as DiffState | undefined;
  if (state === undefined)
    throw invalidError('cursor', 'Not a cursor of a diff: send the cursor of the previous answer.');
  if (state.datasetId !== dataset.id)
    throw invalidError('cursor', 'This cursor belongs to another dataset.');
  for (const [i, key] of (['from', 'to'] as const).entries())
    if (given[i] !== '' && given[i] !== state.given[i])
      throw invalidError(
        key,
        `A cursor stays on the versions on which it began: leave ${key} as it was for the first page, or begin again without a cursor.`,
      );
  return state;
}

/** Returns the newest version; a merge may have made it after the last commit. */
async function readNewestVersion(
  { catalog }: AppContext,
  { id, logVersion }: DatasetRow,
): Promise<AsOf> {
  const lastCommit = await catalog.commits.lastBefore(id, logVersion + 1);
  return { commit_id: lastCommit?.id ?? null, version: logVersion };
}

/** Returns the version before the commit of `to`; -1 if `to` has no commit, because it then precedes the first commit. */
async function readVersionBefore(
  { catalog }: AppContext,
  { id }: DatasetRow,
  to: AsOf,
): Promise<AsOf> {
  const commit = to.commit_id === null ? undefined : await catalog.commits.version(to.commit_id);
  if (commit === undefined) return { commit_id: null, version: -1 };
  const previousCommit = await catalog.commits.lastBefore(id, commit.logVersion);
  return { commit_id: previousCommit?.id ?? null, version: commit.logVersion - 1 };
}

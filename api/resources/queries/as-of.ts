import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { AsOf } from '../../../engine/catalog/commits.js';
import { AppError, invalidError } from '../../../engine/core/errors.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { isoMicros } from '../../../engine/ingest/iso-date.js';
import { valueForMessage } from '../../../engine/query/request/problem.js';
import type { Store } from '../../../engine/store/store.js';
import { isInArchive } from '../../../scheduler/jobs/visible-data.js';
import { readId, type Form } from '../../http/form.js';
import { answerSchema, integer, nullable, reference } from '../../http/json-schema.js';

/** The key `as_of` of requests. */
export const asOfProperty = {
  type: { schema: { type: ['integer', 'string', 'null'] } },
  description:
    'Answer from an earlier version of the dataset: the id of one of its commits, or a time (2026-03-02T09:20:41Z), for the last commit that had completed then. A date is its first moment; UTC where no offset is given.',
} as const;

/** The query parameter `as_of`. */
export const asOfParam = { description: asOfProperty.description, example: '5109' };

/** The version from which an answer with `as_of` comes. */
export const asOfSchema = answerSchema('AsOf', 'The version of a dataset that as_of names.', {
  commit_id: {
    type: nullable(integer),
    description: 'The commit that made it; null before the first one.',
    example: 5109,
  },
  version: {
    type: integer,
    description: 'Its number in the log of the dataset; -1 before the first commit.',
    example: 2,
  },
});

/** The key `as_of` of answers. */
export const asOfAnswerProperty = {
  type: reference('AsOf'),
  description: 'Only if the request has as_of: the version that the answer is from.',
  optional: true,
} as const;

/** What is needed to find the version that `as_of` of a request names. */
interface AsOfContext {
  readonly catalog: Pick<Tables, 'commits' | 'datasets'>;
  readonly store: Pick<Store, 'readableVersion'>;
}

/**
 * Returns the version of a dataset that `as_of`, or another key of this type, names; undefined if the key is absent. Throws a 400 for a
 * value that is neither a commit id nor a time, and for a commit that is not a completed commit of this dataset.
 * Choice: `as_of` is a commit id or a time. A date alone means its first moment, and a time without an offset is UTC, as in filters. Before
 * the first commit, the dataset has no records, though the names of its present fields are valid; a time in the future names the newest
 * commit. A commit that was deleted from the list of commits is still a version of the dataset. All pages of a cursor, and an export, use
 * the version that was found when the first page or the export was requested. If the files of the version were removed because it is older
 * than `--keep-versions-days`, the answer is a 400 that says since when versions can be read; the newest commit and those within that time
 * can always be read.
 */
export async function resolveAsOf(
  context: AsOfContext,
  datasetId: number,
  value: unknown,
  key = 'as_of',
): Promise<AsOf | undefined> {
  const { commits } = context.catalog;
  const text = asOfText(value);
  if (text === '') return undefined;
  const id = readId(value);
  if (id === undefined) {
    const bytes = Buffer.from(text);
    const micros = isoMicros(bytes, 0, bytes.length, true);
    if (micros === undefined)
      throw invalidError(
        key,
        `Expected the id of a commit, or a time such as 2026-03-02T09:20:41Z, not ${valueForMessage(value)}.`,
      );
    const lastCommit = await commits.lastAt(datasetId, Math.floor(Number(micros) / 1_000));
    const version = await findReadableVersion(context, datasetId, lastCommit?.logVersion ?? -1);
    return { commit_id: lastCommit?.id ?? null, version };
  }
  const commit = await commits.version(id);
  if (commit?.datasetId === datasetId)
    return { commit_id: id, version: await findReadableVersion(context, datasetId, commit.logVersion) }; // prettier-ignore
  const row = await commits.get(id);
  throw invalidError(
    key,
    row?.datasetId === datasetId
      ? `Commit ${id} is ${row.status}: only a completed commit is a version of the dataset.`
      : `This dataset has no commit ${id}: GET /v2/datasets/${datasetId}/commits lists its commits.`,
  );
}

/**
 * Returns what `Store.readableVersion` does, or the version itself if the log of the dataset is not there any more, because it was archived
 * or deleted: whatever reads the version refuses it then.
 */
async function findReadableVersion(
  { catalog, store }: AsOfContext,
  datasetId: number,
  version: number,
): Promise<number> {
  try {
    return await store.readableVersion(datasetId, version);
  } catch (error) {
    const dataset = await catalog.datasets.get(datasetId);
    if (dataset === undefined || isInArchive(dataset)) return version;
    throw error;
  }
}

/**
 * Returns the version of a dataset that `as_of` names, in the body of the request or in the query that the body has under the key
 * `queryKey`; undefined without one. Errors are added to the form.
 */
export async function readAsOf(
  context: AsOfContext,
  form: Form,
  datasetId: number,
  queryKey: string,
  query: JsonObject,
): Promise<AsOf | undefined> {
  const [bodyValue, queryValue] = [form.raw('as_of'), query['as_of']];
  const isInBody = asOfText(bodyValue) !== '';
  if (isInBody && asOfText(queryValue) !== '' && asOfText(bodyValue) !== asOfText(queryValue))
    return form.fail('as_of', `${queryKey}.as_of is another one: send as_of once.`);
  try {
    return await resolveAsOf(context, datasetId, isInBody ? bodyValue : queryValue);
  } catch (error) {
    if (!(error instanceof AppError) || error.fields === undefined) throw error;
    if (!isInBody) return form.fail(queryKey, error.fields);
    form.collectErrorsOf(error);
    return undefined;
  }
}

/** Returns a text that is equal for equal values of `as_of`; empty if there is none. */
export function asOfText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string).trim();
}

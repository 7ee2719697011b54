import type { CommitRow } from '../../../engine/catalog/commits.js';
import {
  rollbackModes,
  type RollbackCheck,
  type RollbackMode,
} from '../../../scheduler/jobs/rollback/roll-back.js';
import type { Form } from '../../http/form.js';
import { firstParamValue } from '../../http/list-query.js';
import type { QueryParams } from '../../http/page.js';
import {
  answerSchema,
  bodySchema,
  boolean,
  id,
  integer,
  listOf,
  nullable,
  nullableText,
  objectOf,
  enumOf,
  reference,
  text,
} from '../../http/json-schema.js';

const rollbackModeProperty = {
  type: enumOf(...rollbackModes),
  description:
    'records: blocked by later commits that changed the same records. strict: blocked by all later commits that changed or removed records.',
  example: 'records',
  initial: 'records',
} as const;

/** The body of a request for a rollback. */
export const rollbackBody = bodySchema('RollbackCreate', 'Asks for a rollback.', {
  mode: rollbackModeProperty,
});

const blockingRecordsType = objectOf({
  commit_id: { type: id, description: 'A commit in the way.', example: 5111 },
  records: {
    type: nullable(integer),
    description: 'How many records of this commit it changed; null where that does not matter.',
    example: 3,
  },
  example_id: {
    type: nullableText,
    description: 'The `_id` of one of them.',
    example: '0zg3d66smj00000000a',
  },
});

/** Whether a commit can be rolled back. */
export const rollbackCheck = answerSchema(
  'RollbackCheck',
  'Whether a commit can be rolled back, and what stands in the way.',
  {
    is_blocked: { type: boolean, example: false },
    detail: {
      type: text,
      description: 'Why it cannot, or what would happen.',
      example: 'Rolling the commit back removes 1204 records and restores 0.',
    },
    blocking_commits: {
      type: listOf(reference('DatasetCommit')),
      description:
        'The commits to roll back first, oldest first, without those whose entries were deleted. Of more than 100, the newest 100; `detail` has their number.',
      example: [],
    },
    blocked_records: {
      type: listOf(blockingRecordsType),
      description:
        'What each commit in the way changed, with an example; also those whose entries were deleted. Of more than 100, the newest 100.',
      example: [],
    },
  },
);

/** Reads the mode of a rollback from the query string or from the body. */
export function readRollbackMode(query: QueryParams, form: Form): RollbackMode {
  const queryMode = firstParamValue(query, 'mode');
  return rollbackBody.parse(queryMode === undefined ? form : { mode: queryMode }).mode;
}

/** Returns the JSON of a rollback check; `show` returns the JSON of a commit. */
export async function rollbackCheckView(
  { isBlocked, detail, blocking }: RollbackCheck,
  show: (row: CommitRow) => Promise<object>,
): Promise<Readonly<Record<string, unknown>>> {
  const blockingCommits: object[] = [];
  for (const { commit } of blocking) if (commit) blockingCommits.push(await show(commit));
  return {
    is_blocked: isBlocked,
    detail,
    blocking_commits: blockingCommits,
    blocked_records: blocking.map((one) => ({
      commit_id: one.commitId,
      records: one.records,
      example_id: one.exampleId,
    })),
  };
}

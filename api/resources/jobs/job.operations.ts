import {
  declareOperations,
  pagingParams,
  type OperationDeclaration,
  type OperationRow,
} from '../../http/operation-row.js';
import { withReadOnlyKeys, type NamedSchema } from '../../http/json-schema.js';
import { datasetPaths } from '../shared/dataset.js';

interface JobNames {
  /** The name of the kind of job in paths: `imports` in `/v2/dataset_imports`. */
  readonly name: string;
  readonly tag: string;
  readonly noun: string;
  readonly answer: NamedSchema;
  readonly body: NamedSchema;
  /** A note that is added to the summary of PUT and PATCH. */
  readonly note?: string;
  /** The summary of the operation that lists the jobs of one dataset. */
  readonly ofDataset?: string;
}

/** The query parameters of the list of the jobs of one dataset. */
const ownFilterParams = {
  id: 'One or several ids, separated by commas.',
  status: 'One or several statuses, separated by commas.',
  user_id: 'The user who started it.',
  user: { sameAs: 'user_id' },
  ...pagingParams,
};

/** The query parameters of the list of the jobs of all datasets. */
export const jobFilterParams = {
  ...ownFilterParams,
  dataset_id: { description: 'One or several datasets, separated by commas.', example: '4812' },
  vault_id: { description: 'One or several vaults, separated by commas.', example: '12' },
};

/** The operations that imports, exports, migrations and commits have in common. */
export type JobAction = 'list' | 'ofDataset' | 'get' | 'put' | 'patch';

/** Declares the common operations of a kind of job, and those that `otherDeclarations` declares. */
export function jobOperations<K extends string>(
  { name, tag, noun, answer, body, note = '', ofDataset }: JobNames,
  otherDeclarations: Readonly<Record<K, OperationDeclaration>>,
): Readonly<Record<JobAction | K, OperationRow>> {
  const path = `/v2/dataset_${name}`;
  const changeBody = withReadOnlyKeys(body, answer);
  const commonDeclarations: Readonly<Record<JobAction, OperationDeclaration>> = {
    list: {
      method: 'GET',
      paths: [path],
      summary: `Lists the ${name} of all datasets that the user may read.`,
      query: jobFilterParams,
      answer: { listOf: answer },
    },
    ofDataset: {
      method: 'GET',
      paths: datasetPaths(`/${name}`),
      summary: ofDataset ?? `Lists the ${name} of a dataset.`,
      query: ownFilterParams,
      answer: { listOf: answer },
    },
    get: { method: 'GET', paths: [`${path}/:id`], summary: `Returns ${noun}.`, answer },
    put: {
      method: 'PUT',
      // The specification spells the path of cancellation with `datasets_`.
      paths: [`${path}/:id`, `${path}/:id/cancel`, `/v2/datasets_${name}/:id/cancel`],
      summary: `Cancels ${noun}${note}.`,
      body: changeBody,
      answer,
    },
    patch: {
      method: 'PATCH',
      paths: [`${path}/:id`],
      summary: `Cancels ${noun}${note}.`,
      body: changeBody,
      answer,
    },
  };
  return declareOperations(name, tag, { ...commonDeclarations, ...otherDeclarations });
}

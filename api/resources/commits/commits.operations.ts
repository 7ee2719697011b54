import { redirectParam, signedDownload } from '../downloads/content.operations.js';
import { jobOperations } from '../jobs/job.operations.js';
import { cancelBody } from '../jobs/job-view.js';
import { commit } from './commit.js';
import { rollbackBody, rollbackCheck } from './rollback-check.js';

const rollbackParams = {
  mode: { description: 'records or strict; records unless given.', example: 'records' },
};

export const commitOperations = jobOperations(
  {
    name: 'commits',
    tag: 'Commits',
    noun: 'a commit',
    answer: commit.schema,
    body: cancelBody,
    note: '; 400 once it has completed',
  },
  {
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_commits/:id'],
      summary:
        'Deletes the entry of a commit; its changes stay. Discouraged: it cannot be rolled back any more, and nothing tells where its records came from.',
      answer: commit.schema,
    },
    download: {
      method: 'GET',
      paths: ['/v2/dataset_commits/:id/download'],
      summary:
        'Redirects (302) to the records of a commit, in JSON lines: those that it wrote, or those that it removed. Waits until the file is written.',
      query: redirectParam,
      answer: signedDownload,
    },
    checkRollback: {
      method: 'GET',
      paths: ['/v2/dataset_commits/:id/rollback'],
      summary:
        'Returns whether a commit can be rolled back, and which later commits stand in the way.',
      query: rollbackParams,
      answer: rollbackCheck,
    },
    rollback: {
      method: 'POST',
      paths: ['/v2/dataset_commits/:id/rollback'],
      summary:
        'Rolls a commit back by a new commit: records that it added go, records that it removed come back. 400 with the check if that is blocked.',
      query: rollbackParams,
      body: rollbackBody,
      status: 201,
      answer: commit.schema,
    },
  },
);

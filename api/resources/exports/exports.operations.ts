import { redirectParam, signedDownload } from '../downloads/content.operations.js';
import { jobOperations } from '../jobs/job.operations.js';
import { cancelBody } from '../jobs/job-view.js';
import { exportProvenance, exportResource } from './export.js';

export const exportOperations = jobOperations(
  {
    name: 'exports',
    tag: 'Exports',
    noun: 'an export',
    answer: exportResource.schema,
    body: cancelBody,
  },
  {
    create: {
      method: 'POST',
      paths: ['/v2/dataset_exports'],
      summary: 'Writes the records that a query finds to a file.',
      body: exportResource.createSchema,
      status: 201,
      answer: exportResource.schema,
    },
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_exports/:id'],
      summary: 'Deletes an export and its file.',
      answer: exportResource.schema,
    },
    provenance: {
      method: 'GET',
      paths: ['/v2/dataset_exports/:id/provenance'],
      summary:
        'Returns where the records of a completed export come from, and the checksum of its file.',
      answer: exportProvenance,
    },
    download: {
      method: 'GET',
      paths: ['/v2/dataset_exports/:id/download'],
      summary: 'Redirects (302) to the file of an export.',
      query: redirectParam,
      answer: signedDownload,
    },
  },
);

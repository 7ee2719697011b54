import { redirectParam, signedDownload } from '../downloads/content.operations.js';
import { jobOperations } from '../jobs/job.operations.js';
import { importChangeBody, importResource } from './import.js';

export const importOperations = jobOperations(
  {
    name: 'imports',
    tag: 'Imports',
    noun: 'an import',
    answer: importResource.schema,
    body: importChangeBody,
    note: ', or changes its description, metadata and tags',
  },
  {
    create: {
      method: 'POST',
      paths: ['/v2/dataset_imports'],
      summary: 'Imports an uploaded file, the files of a manifest, or records of the request.',
      body: importResource.createSchema,
      status: 201,
      answer: importResource.schema,
    },
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_imports/:id'],
      summary:
        'Deletes an import, canceling it first if it runs. Imported records stay. Discouraged: nothing tells where they came from any more.',
      answer: importResource.schema,
    },
    rejected: {
      method: 'GET',
      paths: ['/v2/dataset_imports/:id/rejected'],
      summary:
        'Redirects (302) to the records that an import rejected, with the reasons; 404 without any.',
      query: redirectParam,
      answer: signedDownload,
    },
  },
);

import { redirectParam, signedDownload } from '../downloads/content.operations.js';
import { jobOperations } from '../jobs/job.operations.js';
import { cancelBody } from '../jobs/job-view.js';
import { createdMigrationSchema, migrationResource } from './migration.js';

export const migrationOperations = jobOperations(
  {
    name: 'migrations',
    tag: 'Migrations',
    noun: 'a migration',
    answer: migrationResource.schema,
    body: cancelBody,
    ofDataset: 'Lists the migrations whose source is the dataset.',
  },
  {
    create: {
      method: 'POST',
      paths: ['/v2/dataset_migrations'],
      summary: 'Copies the records that a query finds to another dataset, or deletes them there.',
      body: migrationResource.createSchema,
      status: 201,
      answer: createdMigrationSchema,
    },
    delete: {
      method: 'DELETE',
      paths: ['/v2/dataset_migrations/:id'],
      summary:
        'Deletes a migration, canceling it first if it runs. Its records stay. Discouraged: nothing tells where they came from any more.',
      answer: migrationResource.schema,
    },
    rejected: {
      method: 'GET',
      paths: ['/v2/dataset_migrations/:id/rejected'],
      summary:
        'Redirects (302) to the records that a migration rejected, with the reasons; 404 without any.',
      query: redirectParam,
      answer: signedDownload,
    },
  },
);

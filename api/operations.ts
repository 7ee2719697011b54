import { datasetOperations } from './operations/datasets.js';
import { jobOperations } from './operations/jobs.js';
import { objectOperations } from './operations/objects.js';
import { questionOperations } from './operations/questions.js';
import { serviceOperations } from './operations/service.js';

export type { OperationRow } from './operations/row.js';

/** Every operation that this server serves. */
export const operations = {
  ...serviceOperations,
  ...objectOperations,
  ...datasetOperations,
  ...jobOperations,
  ...questionOperations,
} as const;

/** The name of an operation in the table above. */
export type OperationId = keyof typeof operations;

/** The metadata key under which a handler keeps which operation it serves. */
export const operationKey = 'strandlake:operation';

import { datasetOperations } from '../resources/datasets/datasets.operations.js';
import { jobOperations } from '../resources/tasks/jobs.operations.js';
import { objectOperations } from '../resources/objects/objects.operations.js';
import { questionOperations } from '../resources/beacons/saved-resources.operations.js';
import { serviceOperations } from '../resources/service/service.operations.js';

export type { OperationRow } from './operation-row.js';

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

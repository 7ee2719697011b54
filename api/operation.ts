import {
  HttpCode,
  RequestMapping,
  RequestMethod,
  applyDecorators,
  SetMetadata,
} from '@nestjs/common';
import { operations, type OperationId } from './operations.js';

/** The metadata key under which a handler keeps which operation it serves. */
export const operationKey = 'strandlake:operation';

/** Makes a handler serve an operation of the table: its method, all its paths and its status. */
export function Operation(id: OperationId): MethodDecorator {
  const { method, paths, status } = operations[id];
  return applyDecorators(
    RequestMapping({ method: RequestMethod[method], path: [...paths] }),
    HttpCode(status),
    SetMetadata(operationKey, id),
  );
}

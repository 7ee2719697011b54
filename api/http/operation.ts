import {
  HttpCode,
  RequestMapping,
  RequestMethod,
  applyDecorators,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import { operationKey, operations, type OperationId } from './operations.js';

/** Makes a handler serve an operation of the table: its method, all its paths and its status; what creates, once for each key. */
export function Operation(id: OperationId): MethodDecorator {
  const { method, paths, status } = operations[id];
  return applyDecorators(
    RequestMapping({ method: RequestMethod[method], path: [...paths] }),
    HttpCode(status),
    SetMetadata(operationKey, id),
    ...(status === 201 ? [UseInterceptors(IdempotencyInterceptor)] : []),
  );
}

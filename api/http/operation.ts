import {
  HttpCode,
  RequestMapping,
  RequestMethod,
  SetMetadata,
  UseInterceptors,
  applyDecorators,
} from '@nestjs/common';
import {
  IdempotencyInterceptor,
  operationMetadataKey,
  replayMetadataKey,
  type ReplayAnswer,
} from './idempotency.interceptor.js';
import type { OperationRow } from './operation-row.js';

/** Makes a handler serve an operation: its method, all its paths and its status. */
export function Operation({ id, method, paths, status }: OperationRow): MethodDecorator {
  return applyDecorators(
    RequestMapping({ method: RequestMethod[method], path: [...paths] }),
    HttpCode(status),
    SetMetadata(operationMetadataKey, id),
  );
}

/**
 * Makes a handler serve an operation that creates. With the header `Idempotency-Key` a repeated request answers
 * what `replay` shows of the resource that the first one created.
 */
export function CreateOperation(row: OperationRow, replay: ReplayAnswer): MethodDecorator {
  return applyDecorators(
    Operation(row),
    SetMetadata(replayMetadataKey, replay),
    UseInterceptors(IdempotencyInterceptor),
  );
}

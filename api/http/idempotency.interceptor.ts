import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { from, lastValueFrom, of, type Observable } from 'rxjs';
import { budgets } from '../../engine/core/budgets.js';
import { withIdempotencyKey } from '../../engine/catalog/idempotency-keys.js';
import { AppError } from '../../engine/core/errors.js';
import { stringifyJson } from '../../engine/core/json.js';
import type { Value } from '../../engine/core/types.js';
import { AppContext } from './app-context.js';
import type { ApiReply, ApiRequest, Caller } from './api-request.js';

/**
 * Returns the answer to a repeated create request: the resource that the first request created, as the create operation would answer it
 * now.
 */
export type ReplayAnswer = (
  context: AppContext,
  caller: Caller,
  id: number,
  request: ApiRequest,
) => Promise<object>;

/**
 * The metadata keys of a handler: the id of its operation, and for a create the function that answers a repeated request (`ReplayAnswer`).
 */
export const operationMetadataKey = 'strandlake:operation';
export const replayMetadataKey = 'strandlake:replay';

/** Identifies this process. A request that a dead process began will never end, so its key may be taken over. */
const keyOwnerId = randomUUID();

/**
 * Makes creates safe to repeat: with the header `Idempotency-Key`, a second request of the same user within a day returns the resource that
 * the first one created (IETF draft-ietf-httpapi-idempotency-key-header).
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly context: AppContext) {}

  async intercept(execution: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = execution.switchToHttp().getRequest<ApiRequest>();
    const handler = execution.getHandler();
    const operation = Reflect.getMetadata(operationMetadataKey, handler) as string;
    const replay = Reflect.getMetadata(replayMetadataKey, handler) as ReplayAnswer;
    const header = request.headers['idempotency-key'];
    const { caller } = request;
    if (!caller || header === undefined) return next.handle();
    const keyedRequest = {
      userId: caller.user.id,
      key: idempotencyKeyOf(header),
      operation,
      hash: requestDigest(request),
      owner: keyOwnerId,
    };
    const { idempotencyKeys } = this.context.catalog;
    const beginResult = await idempotencyKeys.begin(keyedRequest);
    switch (beginResult.kind) {
      case 'mismatch':
        throw new AppError(
          'reused-key',
          'This Idempotency-Key was used for another request; take a new one.',
        );
      case 'busy':
        throw new AppError(
          'conflict',
          'A request with this Idempotency-Key is being carried out; try again in a moment.',
        );
      case 'replay':
        execution.switchToHttp().getResponse<ApiReply>().header('Idempotent-Replayed', 'true');
        return of(await replay(this.context, caller, beginResult.id, request));
      case 'new':
        return from(
          withIdempotencyKey(keyedRequest, () => lastValueFrom(next.handle())).catch(
            async (error: unknown) => {
              await idempotencyKeys.forget(keyedRequest);
              throw error;
            },
          ),
        );
    }
  }
}

/**
 * Returns the key in the header. The IETF draft requires a quoted string, but most clients send the key without quotes: `"a"` and `a` are
 * the same key.
 */
function idempotencyKeyOf(header: string | readonly string[]): string {
  const text = String(header).trim();
  const key = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? text;
  const maxBytes = budgets.idempotencyKeyBytes;
  if (/^[\x20-\x7e]+$/.test(key) && key.length <= maxBytes) return key;
  throw new AppError(
    'invalid',
    `An Idempotency-Key has 1 to ${maxBytes} printable ASCII characters: take a UUID, for example.`,
  );
}

/** Returns a digest of path, query and body. A token in the query is left out: a repeated request may have another one. */
function requestDigest({ url, body }: ApiRequest): string {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  searchParams.delete('access_token');
  return createHash('sha256')
    .update(`${pathname}?${searchParams}\n${stringifyJson((body ?? {}) as Value)}`)
    .digest('hex');
}

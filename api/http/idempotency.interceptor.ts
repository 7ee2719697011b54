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
import { madeBy } from '../resources/replays.js';
import { operationKey, type OperationId } from './operations.js';
import { AppContext } from './app-context.js';
import type { ApiReply, ApiRequest } from './request.js';

/** This process: what another one has begun and not ended, it will not end any more. */
const owner = randomUUID();

/**
 * Makes creates safe to send again: with the header `Idempotency-Key`, the second request of a user gets what the first
 * has made, for a day (IETF draft-ietf-httpapi-idempotency-key-header). Stands before every handler that makes something.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly context: AppContext) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const operation = Reflect.getMetadata(operationKey, context.getHandler()) as OperationId;
    const show = madeBy[operation];
    const header = request.headers['idempotency-key'];
    const { caller } = request;
    if (!show || !caller || header === undefined) return next.handle();
    const keyed = {
      userId: caller.user.id,
      key: keyOf(header),
      operation,
      hash: digest(request.body),
      owner,
    };
    const { idempotencyKeys } = this.context.catalog;
    const begun = await idempotencyKeys.begin(keyed);
    switch (begun.kind) {
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
      case 'replay': {
        context.switchToHttp().getResponse<ApiReply>().header('Idempotent-Replayed', 'true');
        return of(await show(this.context, caller, begun.id, request));
      }
      case 'new':
        return from(
          withIdempotencyKey(keyed, () => lastValueFrom(next.handle())).catch(
            async (error: unknown) => {
              await idempotencyKeys.forget(keyed);
              throw error;
            },
          ),
        );
    }
  }
}

/** The draft has a quoted string, most clients send the text alone: `"a"` and `a` are the same key. */
function keyOf(header: string | readonly string[]): string {
  const text = String(header).trim();
  const key = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? text;
  const most = budgets.idempotencyKeyBytes;
  if (/^[\x20-\x7e]+$/.test(key) && key.length <= most) return key;
  throw new AppError(
    'invalid',
    `The Idempotency-Key must have 1 to ${most} printable ASCII characters (budget idempotencyKeyBytes).`,
  );
}

function digest(body: unknown): string {
  return createHash('sha256')
    .update(stringifyJson((body ?? {}) as Value))
    .digest('hex');
}

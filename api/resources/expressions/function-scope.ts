import type { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/api-request.js';

/**
 * What dataset functions need while an expression is evaluated: the services, the caller with whose permissions they query, and a signal
 * that aborts when the result is no longer needed.
 */
export interface FunctionScope {
  readonly context: AppContext;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

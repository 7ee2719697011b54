import type { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/api-request.js';

/** The caller of the functions of an expression; the signal aborts when the result is no longer wanted. */
export interface FunctionScope {
  readonly context: AppContext;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

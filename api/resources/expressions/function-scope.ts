import type { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/request.js';

/** Who calls the functions of an expression, and until when somebody waits for them. */
export interface FunctionScope {
  readonly context: AppContext;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

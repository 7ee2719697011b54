import { principalOf } from '../../../engine/catalog/access.js';
import { fullName } from '../../../engine/catalog/users.js';
import { AppError } from '../../../engine/core/errors.js';
import type {
  ExpressionResult,
  ExpressionTasks,
  HostReply,
  HostRequest,
} from '../../../scheduler/expressions/protocol.js';
import type { AppContext } from '../../http/app-context.js';
import { answerHostRequest } from './dataset-functions.js';
import type { FunctionScope } from './function-scope.js';

/** How long a task may take once it has a thread, and whether it runs before others. */
interface TaskLimits {
  readonly timeoutMs: number;
  readonly isUrgent: boolean;
}

const limits: Readonly<Record<keyof ExpressionTasks, TaskLimits>> = {
  evaluate: { timeoutMs: 30_000, isUrgent: true },
  annotate: { timeoutMs: 120_000, isUrgent: false },
  page: { timeoutMs: 120_000, isUrgent: false },
  pageTable: { timeoutMs: 120_000, isUrgent: false },
};

/** A task as a request gives it; `runExpressions` adds the user and the time. */
export type RequestedTask<K extends keyof ExpressionTasks> = Omit<
  ExpressionTasks[K],
  'user' | 'now'
>;

/** Answers what the expressions of a job ask, with the rights that its user has now. */
export async function answerJobCalls(
  context: AppContext,
  userId: number,
  request: HostRequest,
  signal: AbortSignal,
): Promise<HostReply> {
  const caller = await principalOf(context.catalog, userId);
  if (caller === undefined)
    throw new AppError('forbidden', 'the user of the job is no longer active');
  return answerHostRequest({ context, caller, signal }, request);
}

/**
 * Runs a task of expressions with the rights of a caller; returns its answer. It ends when the client leaves. Throws an
 * `AppError`: of the expression, or of a limit.
 */
export function runExpressions<K extends keyof ExpressionTasks>(
  { context, caller, signal }: FunctionScope,
  kind: K,
  requested: RequestedTask<K>,
): Promise<ExpressionResult<K>> {
  const { user } = caller;
  const task = {
    ...requested,
    user: { name: fullName(user), email: user.email },
    now: Date.now(),
  } as ExpressionTasks[K];
  return context.expressions.run(kind, task, {
    ...limits[kind],
    userId: user.id,
    signal,
    answer: (request, ended) => answerHostRequest({ context, caller, signal: ended }, request),
  });
}

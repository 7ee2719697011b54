import { loadPrincipal } from '../../../engine/catalog/access.js';
import { fullName } from '../../../engine/catalog/users.js';
import { AppError } from '../../../engine/core/errors.js';
import type {
  ExpressionResult,
  ExpressionRequests,
  HostReply,
  HostRequest,
} from '../../../scheduler/expressions/host-call-protocol.js';
import type { AppContext } from '../../http/app-context.js';
import { answerHostRequest } from './dataset-functions.js';
import type { FunctionScope } from './function-scope.js';

/** How long an evaluation may take once it has a thread, and whether it overtakes others that wait for a thread. */
interface TaskLimits {
  readonly timeoutMs: number;
  readonly isUrgent: boolean;
}

const limitsByKind: Readonly<Record<keyof ExpressionRequests, TaskLimits>> = {
  evaluate: { timeoutMs: 30_000, isUrgent: true },
  annotate: { timeoutMs: 120_000, isUrgent: false },
  page: { timeoutMs: 120_000, isUrgent: false },
  pageTable: { timeoutMs: 120_000, isUrgent: false },
};

/** The properties of work for the expression threads that its caller provides; `runExpressions` adds the user and the time. */
export type RequestedEvaluation<K extends keyof ExpressionRequests> = Omit<
  ExpressionRequests[K],
  'user' | 'now'
>;

/** Answers the calls of dataset functions in the expressions of a job, with the rights that its user has now. */
export async function answerJobCalls(
  context: AppContext,
  userId: number,
  request: HostRequest,
  signal: AbortSignal,
): Promise<HostReply> {
  const caller = await loadPrincipal(context.catalog, userId);
  if (caller === undefined)
    throw new AppError('forbidden', 'the user of the job is no longer active');
  return answerHostRequest({ context, caller, signal }, request);
}

/**
 * Lets an expression thread evaluate expressions with the rights of a caller and returns the result. The evaluation ends if the client
 * disconnects. Throws an `AppError` if it fails as a whole, for example because a limit is exceeded or the one expression of `evaluate`
 * has an error.
 */
export function runExpressions<K extends keyof ExpressionRequests>(
  { context, caller, signal }: FunctionScope,
  kind: K,
  requestedTask: RequestedEvaluation<K>,
): Promise<ExpressionResult<K>> {
  const { user } = caller;
  const task = {
    ...requestedTask,
    user: { name: fullName(user), email: user.email },
    now: Date.now(),
  } as ExpressionRequests[K];
  return context.expressions.runTask(kind, task, {
    ...limitsByKind[kind],
    userId: user.id,
    signal,
    answer: (request, taskSignal) =>
      answerHostRequest({ context, caller, signal: taskSignal }, request),
  });
}

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { notFoundError } from '../../../engine/core/errors.js';
import { ExpressionThreads } from '../../../scheduler/expressions/expression-threads.js';
import type { ExpressionTaskOptions } from '../../../scheduler/expressions/expression-threads.js';
import type { HostCall, HostRequest } from '../../../scheduler/expressions/host-call-protocol.js';
import { pollUntil } from '../../until.js';

/* Tests that the threads that evaluate expressions can be terminated at any moment (threat E2). */

let expressionThreads: ExpressionThreads;
/** The id of the last task's user; by default, each task belongs to a new user. */
let lastUserId = 0;
beforeEach(() => {
  expressionThreads = new ExpressionThreads();
});
afterEach(() => expressionThreads.close());

/** A timeout in milliseconds that no machine reaches. */
const longTimeoutMs = 100_000_000;

function evaluate(
  expression: string,
  givenOptions: Partial<ExpressionTaskOptions> = {},
  body = '{}',
): Promise<string> {
  const task = { expression, dataType: 'auto', isList: null, body, now: 0 } as const;
  const user = { name: 'Ann', email: 'ann@acme.org' };
  const answer = async (request: HostRequest) => ({ json: (request as HostCall).args, floats: [] });
  const signal = new AbortController().signal;
  const ownOptions = {
    answer,
    signal,
    timeoutMs: longTimeoutMs,
    isUrgent: false,
    userId: ++lastUserId,
  };
  const options = { ...ownOptions, ...givenOptions };
  return expressionThreads.runTask('evaluate', { ...task, user }, options);
}

/** Starts an evaluation that is blocked in a call which the host never answers. */
async function startBlockedEvaluation(
  timeoutMs = longTimeoutMs,
  userId = ++lastUserId,
): Promise<{
  readonly client: AbortController;
  readonly result: Promise<string>;
  /** Returns whether the signal that the host received has been aborted. */
  readonly isReleased: () => boolean;
}> {
  const client = new AbortController();
  let hostSignal: AbortSignal | undefined;
  const answer = (_: HostRequest, signal: AbortSignal): Promise<never> => {
    hostSignal = signal;
    return new Promise(() => undefined);
  };
  const result = evaluate('dataset_count(1)', { answer, signal: client.signal, timeoutMs, userId });
  result.catch(() => undefined);
  await pollUntil(() => hostSignal !== undefined || timeoutMs < longTimeoutMs);
  return { client, result, isReleased: () => hostSignal?.aborted === true };
}

describe('calls of the host', () => {
  test('block the evaluation and return a value with its floats', async () => {
    const answer = async () => ({
      json: '[{"a":1,"b":[1,[2]],"c":1},{"a":null}]',
      floats: [['a'], ['b'], ['missing', 'x']],
    });
    const text = await evaluate('repr(dataset_query(1))', { answer });
    expect(text).toBe(`{"result":"[{'a': 1.0, 'b': [1.0, [2.0]], 'c': 1}, {'a': None}]"}`);
  });

  test('send the arguments in the order of the declaration', async () => {
    const calls: HostCall[] = [];
    const answer = async (call: HostRequest) => {
      calls.push(call as HostCall);
      return { json: '1', floats: [] };
    };
    await evaluate("dataset_count('d', query='q', filters=[('a', 1.0), {'or': ()}])", { answer });
    const args = '["d",null,[["a",1.0],{"or":[]}],"q"]';
    expect(calls).toEqual([{ name: 'dataset_count', args }]);
  });

  test('ask once for the same function and arguments; what an expression changes stays its own', async () => {
    let callCount = 0;
    const answer = async () => ({ json: `[${++callCount}]`, floats: [] });
    const repeatedQueries = '[dataset_query(x) + dataset_query(x) for x in [1, 2, 1]]';
    expect(await evaluate(repeatedQueries, { answer })).toBe('{"result":[[1,1],[2,2],[1,1]]}');
    expect(callCount).toBe(2);
  });

  test('fail as errors of the expression', async () => {
    const answer = () => Promise.reject(notFoundError());
    const evaluation = evaluate('dataset_count(1)', { answer });
    await expect(evaluation).rejects.toMatchObject({ code: 'invalid', message: 'Dataset query failed: Not found (line 1, column 1)' }); // prettier-ignore
  });

  test('count the memory of what they return', async () => {
    const json = JSON.stringify('a'.repeat(15_000_000));
    const evaluation = evaluate('[dataset_query(x) for x in [1, 2]]', {
      answer: async () => ({ json, floats: [] }),
    });
    await expect(evaluation).rejects.toThrow(
      'Expression limit exceeded: more than 64 MB of memory',
    );
  });
});

describe('a thread is ended and replaced', () => {
  test('when the client leaves while it spins or waits for the host', async () => {
    const waitingEvaluation = await startBlockedEvaluation();
    const spinningClient = new AbortController();
    const signal = spinningClient.signal;
    let hasBegun = false;
    const answer = async () => {
      hasBegun = true;
      return { json: '1', floats: [] };
    };
    // Each computation may take two seconds, and there are half a million of them: 1,000 fields of 500 records.
    const records = `{"records":[${Array.from({ length: 500 }, () => '{}').join(',')}]}`;
    const field = (name: string, expression: string) => ({
      name,
      expression,
      isConstant: false,
      dataType: 'auto' as const,
      isList: null,
      ordering: 0,
      dependsOn: [],
      isTransient: false,
    });
    const spin = 'sum(1 for i in range(600000))';
    const fields = Array.from({ length: 1000 }, (_, i) => field(`f${i}`, spin));
    const spinningTask = expressionThreads.runTask(
      'annotate',
      {
        body: records,
        fields: [field('begin', 'dataset_count(1)'), ...fields],
        includeErrors: true,
        preExpression: '',
        postExpression: '',
        now: 0,
        user: { name: '', email: '' },
      },
      { answer, signal, timeoutMs: longTimeoutMs, isUrgent: false, userId: ++lastUserId },
    );
    spinningTask.catch(() => undefined);
    await pollUntil(() => hasBegun);
    const queuedEvaluation = evaluate('1');
    const givenController = new AbortController();
    const droppedEvaluation = evaluate('1', { signal: givenController.signal });
    givenController.abort();
    await expect(droppedEvaluation).rejects.toMatchObject({ code: 'canceled' });
    waitingEvaluation.client.abort();
    spinningClient.abort();
    await expect(waitingEvaluation.result).rejects.toMatchObject({ code: 'canceled' });
    await expect(spinningTask).rejects.toMatchObject({ code: 'canceled' });
    expect(waitingEvaluation.isReleased()).toBe(true);
    expect(await queuedEvaluation).toBe('{"result":1}');
    // Both threads were terminated and replaced by others, which accept tasks.
    const evaluations = ['1', '2', '3', '4'].map((expression) => evaluate(expression));
    expect(await Promise.all(evaluations)).toHaveLength(4);
  });

  test('when its time is up', async () => {
    const { result } = await startBlockedEvaluation(1);
    await expect(result).rejects.toMatchObject({
      code: 'budget',
      message: 'Expression limit exceeded: more than 0.001 s',
    });
    expect(await evaluate('1')).toBe('{"result":1}');
  });
});

test('urgent tasks precede queued ones', async () => {
  const [firstBlocked, secondBlocked] = await Promise.all([
    startBlockedEvaluation(),
    startBlockedEvaluation(),
  ]);
  const order: string[] = [];
  const recordEnd = (name: string, isUrgent: boolean): Promise<unknown> =>
    evaluate('1', { isUrgent }).then(() => order.push(name));
  const endings = [recordEnd('a', false), recordEnd('b', true)];
  firstBlocked.client.abort();
  await pollUntil(() => order.length === 2);
  secondBlocked.client.abort();
  await Promise.all(endings);
  expect(order).toEqual(['b', 'a']);
});

test('a user has one thread for tasks that are not urgent', async () => {
  const { client, result } = await startBlockedEvaluation(longTimeoutMs, 7);
  const order: string[] = [];
  const secondEvaluation = evaluate('1', { userId: 7 }).then(() => order.push('second'));
  await evaluate('1', { userId: 8 }).then(() => order.push('other'));
  await evaluate('1', { userId: 7, isUrgent: true }).then(() => order.push('urgent'));
  client.abort();
  await expect(result).rejects.toMatchObject({ code: 'canceled' });
  await secondEvaluation;
  expect(order).toEqual(['other', 'urgent', 'second']);
});

test('closing cancels what runs, what waits and what comes', async () => {
  const [firstBlocked, secondBlocked] = await Promise.all([
    startBlockedEvaluation(),
    startBlockedEvaluation(),
  ]);
  const waitingEvaluation = evaluate('1');
  waitingEvaluation.catch(() => undefined);
  await expressionThreads.close();
  for (const result of [
    firstBlocked.result,
    secondBlocked.result,
    waitingEvaluation,
    evaluate('1'),
  ])
    await expect(result).rejects.toMatchObject({ code: 'canceled' });
});

import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AppError } from '../../../engine/core/errors.js';
import { ServingThread, ThreadExitedError } from '../../../engine/core/serving-thread.js';

let thread: ServingThread;
let exitCount: number;
const errors: unknown[] = [];

beforeEach(() => {
  exitCount = 0;
  thread = new ServingThread({
    entry: new URL('./echo-thread.js', import.meta.url).href,
    onExit: () => exitCount++,
    onError: (error) => errors.push(error),
  });
});
afterEach(() => thread.close());

test('a thread answers each of many messages, whatever the order of the answers', async () => {
  const answers: unknown[] = [];
  const sent = ['late', 'a', 'late', 'b', { nested: [1n, null, NaN] }];
  const all = sent.map(async (message) => {
    const answer = await thread.send(message);
    answers.push(answer);
    return answer;
  });
  expect(await Promise.all(all)).toEqual(sent);
  expect(answers.filter((answer) => answer !== 'late')).toEqual(['a', 'b', sent[4]]);
});

test('an error of the thread and a message that cannot be copied reject one message only', async () => {
  const other = thread.send('late');
  const failure = await thread.send('fail').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(AppError);
  expect(failure).toMatchObject({ code: 'invalid', message: 'as requested' });
  await expect(thread.send(() => 1)).rejects.toMatchObject({ name: 'DataCloneError' });
  expect(await other).toBe('late');
});

test('bytes arrive whether they are copied or transferred', async () => {
  for (const length of [0, 1, 65_535, 65_536, 200_000])
    expect(await thread.send(length)).toEqual(new Uint8Array(length).fill(7));
});

test('an exit rejects what the thread has not answered, and its successor answers later messages', async () => {
  expect(await thread.send('before')).toBe('before');
  for (let exits = 1; exits <= 2; exits++) {
    const unanswered = thread.send('never');
    const last = thread.send('exit');
    await expect(unanswered).rejects.toBeInstanceOf(ThreadExitedError);
    await expect(last).rejects.toBeInstanceOf(ThreadExitedError);
    expect(exitCount).toBe(exits);
    expect(await thread.send('after')).toBe('after');
  }
});

test('closing the thread rejects what it has not answered, and all later messages', async () => {
  const unanswered = thread.send('never');
  await Promise.all([expect(unanswered).rejects.toBeInstanceOf(ThreadExitedError), thread.close()]);
  await expect(thread.send('more')).rejects.toBeInstanceOf(ThreadExitedError);
  expect(errors).toEqual([]);
});

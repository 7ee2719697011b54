import { expect, test } from '@jest/globals';
import { AppError, toErrorValue } from '../../../engine/core/errors.js';
import { JobCalls, type JobCall } from '../../../scheduler/expressions/job-calls.js';
import type { HostAnswer, HostCall, HostReply } from '../../../scheduler/expressions/protocol.js';

/* The calls of a job in the worker process: each is made once (contract 19). */

const call = (args: string): HostCall => ({ name: 'dataset_count', args });
const answer = (json: string): HostAnswer => ({ json, floats: [] });

function jobCalls() {
  const sent: JobCall[] = [];
  const calls = new JobCalls((one) => void sent.push(one));
  const reply = (at: number, value: HostReply): void =>
    calls.answered({ call: sent[at]!.call, outcome: { ok: true, value } });
  const fail = (at: number): void =>
    calls.answered({
      call: sent[at]!.call,
      outcome: { ok: false, error: toErrorValue(new AppError('invalid', 'no')) },
    });
  return { sent, calls, reply, fail };
}

test('a batch asks for what no call has asked for, and other threads wait for its answers', async () => {
  const { sent, calls, reply } = jobCalls();
  const single = calls.ask(call('a'));
  const first = calls.ask({ batch: [call('a'), call('b'), call('c')] });
  const second = calls.ask({ batch: [call('c'), call('b')] });
  await Promise.resolve();
  expect(sent.map(({ request }) => request)).toEqual([call('a'), { batch: [call('b'), call('c')] }]); // prettier-ignore
  reply(1, [answer('2'), answer('3')]);
  reply(0, answer('1'));
  expect(await single).toEqual(answer('1'));
  expect(await first).toEqual([answer('1'), answer('2'), answer('3')]);
  expect(await second).toEqual([answer('3'), answer('2')]);
  expect(await calls.ask(call('b'))).toEqual(answer('2'));
  expect(sent).toHaveLength(2);
});

test.each(['fails', 'leaves calls alone'])(
  'calls of a batch that %s are made alone, once',
  async (how) => {
    const { sent, calls, reply, fail } = jobCalls();
    const batch = calls.ask({ batch: [call('a'), call('b')] });
    const waiting = [calls.ask(call('a')), calls.ask(call('a'))];
    if (how === 'fails') fail(0);
    else reply(0, [null, null]);
    expect(await batch).toEqual([null, null]);
    // The calls that waited for the batch are sent now.
    for (let i = 0; i < 20 && sent.length < 2; i++) await Promise.resolve();
    expect(sent.slice(1).map(({ request }) => request)).toEqual([call('a')]);
    reply(1, answer('1'));
    expect(await Promise.all(waiting)).toEqual([answer('1'), answer('1')]);
  },
);

test('the error of a call is that of the same call later, and no answer of a batch', async () => {
  const { sent, calls, fail } = jobCalls();
  const single = calls.ask(call('a'));
  await Promise.resolve();
  fail(0);
  await expect(single).rejects.toThrow('no');
  await expect(calls.ask(call('a'))).rejects.toThrow('no');
  expect(await calls.ask({ batch: [call('a')] })).toEqual([null]);
  expect(sent).toHaveLength(1);
});

import { expect, test } from '@jest/globals';
import { AppError, toErrorValue } from '../../../engine/core/errors.js';
import { packTexts } from '../../../engine/core/packed-texts.js';
import { JobCalls, type JobCall } from '../../../scheduler/expressions/job-calls.js';
import { packAnswers, unpackAnswers } from '../../../scheduler/expressions/packed.js';
import {
  callText,
  type HostAnswer,
  type HostCall,
  type PackedAnswers,
  type HostReply,
} from '../../../scheduler/expressions/protocol.js';

/* The calls of a job in the worker process: each is made once (contract 19). */

const call = (args: string): HostCall => ({ name: 'dataset_count', args });
const batch = (...args: readonly string[]) => ({
  batch: packTexts(args.map((one) => callText(call(one)))),
});
const answer = (json: string): HostAnswer => ({ json, floats: [] });

function jobCalls() {
  const sentCalls: JobCall[] = [];
  const calls = new JobCalls((one) => void sentCalls.push(one));
  const reply = (at: number, value: HostReply): void =>
    calls.answered({ call: sentCalls[at]!.call, outcome: { ok: true, value } });
  const fail = (at: number): void =>
    calls.answered({
      call: sentCalls[at]!.call,
      outcome: { ok: false, error: toErrorValue(new AppError('invalid', 'no')) },
    });
  const askBatch = async (...args: readonly string[]) =>
    unpackAnswers((await calls.ask(batch(...args))) as PackedAnswers);
  return { sent: sentCalls, calls, askBatch, reply, fail };
}

test('a batch asks for what no call has asked for, and other threads wait for its answers', async () => {
  const { sent, calls, askBatch, reply } = jobCalls();
  const singleAnswer = calls.ask(call('a'));
  const first = askBatch('a', 'b', 'c');
  const second = askBatch('c', 'b');
  await Promise.resolve();
  expect(sent.map(({ request }) => request)).toEqual([call('a'), batch('b', 'c')]); // prettier-ignore
  reply(1, packAnswers([answer('2'), answer('3')]));
  reply(0, answer('1'));
  expect(await singleAnswer).toEqual(answer('1'));
  expect(await first).toEqual([answer('1'), answer('2'), answer('3')]);
  expect(await second).toEqual([answer('3'), answer('2')]);
  expect(await calls.ask(call('b'))).toEqual(answer('2'));
  expect(sent).toHaveLength(2);
});

test.each(['fails', 'leaves calls alone'])(
  'calls of a batch that %s are made alone, once',
  async (how) => {
    const { sent, calls, askBatch, reply, fail } = jobCalls();
    const askedBatch = askBatch('a', 'b');
    const waitingAnswers = [calls.ask(call('a')), calls.ask(call('a'))];
    if (how === 'fails') fail(0);
    else reply(0, packAnswers([null, null]));
    expect(await askedBatch).toEqual([null, null]);
    // The calls that waited for the batch are sent now.
    for (let i = 0; i < 20 && sent.length < 2; i++) await Promise.resolve();
    expect(sent.slice(1).map(({ request }) => request)).toEqual([call('a')]);
    reply(1, answer('1'));
    expect(await Promise.all(waitingAnswers)).toEqual([answer('1'), answer('1')]);
  },
);

test('a call is kept once, whether it comes with a form or as a text', async () => {
  const { sent, calls, askBatch, reply } = jobCalls();
  const quotedForm = { before: 'dataset_count[5,', after: ',null]' };
  const ofForm = (...texts: readonly string[]) => ({ batch: packTexts(texts), form: quotedForm });
  const first = calls.ask(ofForm('"a"', '"b"'));
  await Promise.resolve();
  expect(sent.map(({ request }) => request)).toEqual([ofForm('"a"', '"b"')]);
  reply(0, packAnswers([answer('1'), answer('2')]));
  expect(unpackAnswers((await first) as PackedAnswers)).toEqual([answer('1'), answer('2')]);
  expect(await calls.ask(call('[5,"a",null]'))).toEqual(answer('1'));
  const mixedBatch = askBatch('[5,"c",null]', '[5,"b",null]', '[5,["b"],null]', '[5,"b","c",null]');
  for (let i = 0; i < 20 && sent.length < 3; i++) await Promise.resolve();
  expect(sent.slice(1).map(({ request }) => request)).toEqual([
    ofForm('"c"'),
    batch('[5,["b"],null]', '[5,"b","c",null]'),
  ]);
  reply(1, packAnswers([answer('3')]));
  reply(2, packAnswers([answer('4'), answer('5')]));
  expect(await mixedBatch).toEqual([answer('3'), answer('2'), answer('4'), answer('5')]);
  // Calls of one form may also match the other.
  const otherForm = { before: 'dataset_count[5,"b",', after: ']' };
  const second = calls.ask({ batch: packTexts(['null', '"c",null']), form: otherForm });
  for (let i = 0; i < 20 && sent.length < 4; i++) await Promise.resolve();
  expect(sent.slice(3)).toEqual([]);
  expect(unpackAnswers((await second) as PackedAnswers)).toEqual([answer('2'), answer('5')]);
});

test('the error of a call is that of the same call later, and no answer of a batch', async () => {
  const { sent, calls, askBatch, fail } = jobCalls();
  const singleAnswer = calls.ask(call('a'));
  await Promise.resolve();
  fail(0);
  await expect(singleAnswer).rejects.toThrow('no');
  await expect(calls.ask(call('a'))).rejects.toThrow('no');
  expect(await askBatch('a')).toEqual([null]);
  expect(sent).toHaveLength(1);
});

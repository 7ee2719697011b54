import { expect, test } from '@jest/globals';
import { AppError, toErrorValue } from '../../../engine/core/errors.js';
import { packStrings } from '../../../engine/core/packed-strings.js';
import { JobHostCalls, type HostCallMessage } from '../../../scheduler/expressions/job-calls.js';
import { packAnswers, unpackAnswers } from '../../../scheduler/expressions/packed-answers.js';
import {
  callText,
  type HostCallResult,
  type HostCall,
  type PackedAnswers,
  type HostReply,
} from '../../../scheduler/expressions/host-call-protocol.js';

/* Tests the calls of a job in the worker process: each call is made once (contract 19). */

const hostCallOf = (args: string): HostCall => ({ name: 'dataset_count', args });
const hostBatchOf = (...args: readonly string[]) => ({
  batch: packStrings(args.map((one) => callText(hostCallOf(one)))),
});
const hostAnswerOf = (json: string): HostCallResult => ({ json, floats: [] });

function newJobCalls() {
  const sentCalls: HostCallMessage[] = [];
  const calls = new JobHostCalls((one) => void sentCalls.push(one));
  const reply = (at: number, value: HostReply): void =>
    calls.receiveAnswer({ call: sentCalls[at]!.call, outcome: { ok: true, value } });
  const fail = (at: number): void =>
    calls.receiveAnswer({
      call: sentCalls[at]!.call,
      outcome: { ok: false, error: toErrorValue(new AppError('invalid', 'no')) },
    });
  const askBatch = async (...args: readonly string[]) =>
    unpackAnswers((await calls.ask(hostBatchOf(...args))) as PackedAnswers);
  return { sent: sentCalls, calls, askBatch, reply, fail };
}

test('a batch asks for what no call has asked for, and other threads wait for its answers', async () => {
  const { sent, calls, askBatch, reply } = newJobCalls();
  const singleAnswer = calls.ask(hostCallOf('a'));
  const first = askBatch('a', 'b', 'c');
  const second = askBatch('c', 'b');
  await Promise.resolve();
  expect(sent.map(({ request }) => request)).toEqual([hostCallOf('a'), hostBatchOf('b', 'c')]); // prettier-ignore
  reply(1, packAnswers([hostAnswerOf('2'), hostAnswerOf('3')]));
  reply(0, hostAnswerOf('1'));
  expect(await singleAnswer).toEqual(hostAnswerOf('1'));
  expect(await first).toEqual([hostAnswerOf('1'), hostAnswerOf('2'), hostAnswerOf('3')]);
  expect(await second).toEqual([hostAnswerOf('3'), hostAnswerOf('2')]);
  expect(await calls.ask(hostCallOf('b'))).toEqual(hostAnswerOf('2'));
  expect(sent).toHaveLength(2);
});

test.each(['fails', 'leaves calls alone'])(
  'calls of a batch that %s are made alone, once',
  async (how) => {
    const { sent, calls, askBatch, reply, fail } = newJobCalls();
    const askedBatch = askBatch('a', 'b');
    const waitingAnswers = [calls.ask(hostCallOf('a')), calls.ask(hostCallOf('a'))];
    if (how === 'fails') fail(0);
    else reply(0, packAnswers([null, null]));
    expect(await askedBatch).toEqual([null, null]);
    // After the batch has failed or left them unanswered, the calls that waited for it are sent alone, each once.
    for (let i = 0; i < 20 && sent.length < 2; i++) await Promise.resolve();
    expect(sent.slice(1).map(({ request }) => request)).toEqual([hostCallOf('a')]);
    reply(1, hostAnswerOf('1'));
    expect(await Promise.all(waitingAnswers)).toEqual([hostAnswerOf('1'), hostAnswerOf('1')]);
  },
);

test('a call is kept once, whether it comes with a template or as a text', async () => {
  const { sent, calls, askBatch, reply } = newJobCalls();
  const quotedTemplate = { before: 'dataset_count[5,', after: ',null]' };
  const batchOfTemplate = (...texts: readonly string[]) => ({
    batch: packStrings(texts),
    template: quotedTemplate,
  });
  const first = calls.ask(batchOfTemplate('"a"', '"b"'));
  await Promise.resolve();
  expect(sent.map(({ request }) => request)).toEqual([batchOfTemplate('"a"', '"b"')]);
  reply(0, packAnswers([hostAnswerOf('1'), hostAnswerOf('2')]));
  expect(unpackAnswers((await first) as PackedAnswers)).toEqual([
    hostAnswerOf('1'),
    hostAnswerOf('2'),
  ]);
  expect(await calls.ask(hostCallOf('[5,"a",null]'))).toEqual(hostAnswerOf('1'));
  const mixedBatch = askBatch('[5,"c",null]', '[5,"b",null]', '[5,["b"],null]', '[5,"b","c",null]');
  for (let i = 0; i < 20 && sent.length < 3; i++) await Promise.resolve();
  expect(sent.slice(1).map(({ request }) => request)).toEqual([
    batchOfTemplate('"c"'),
    hostBatchOf('[5,["b"],null]', '[5,"b","c",null]'),
  ]);
  reply(1, packAnswers([hostAnswerOf('3')]));
  reply(2, packAnswers([hostAnswerOf('4'), hostAnswerOf('5')]));
  expect(await mixedBatch).toEqual([
    hostAnswerOf('3'),
    hostAnswerOf('2'),
    hostAnswerOf('4'),
    hostAnswerOf('5'),
  ]);
  // The calls of `otherTemplate` were already answered: one as a call of `quotedTemplate`, the other as a call without a template.
  const otherTemplate = { before: 'dataset_count[5,"b",', after: ']' };
  const second = calls.ask({ batch: packStrings(['null', '"c",null']), template: otherTemplate });
  for (let i = 0; i < 20 && sent.length < 4; i++) await Promise.resolve();
  expect(sent.slice(3)).toEqual([]);
  expect(unpackAnswers((await second) as PackedAnswers)).toEqual([
    hostAnswerOf('2'),
    hostAnswerOf('5'),
  ]);
});

test('the error of a call is that of the same call later, and no answer of a batch', async () => {
  const { sent, calls, askBatch, fail } = newJobCalls();
  const singleAnswer = calls.ask(hostCallOf('a'));
  await Promise.resolve();
  fail(0);
  await expect(singleAnswer).rejects.toThrow('no');
  await expect(calls.ask(hostCallOf('a'))).rejects.toThrow('no');
  expect(await askBatch('a')).toEqual([null]);
  expect(sent).toHaveLength(1);
});

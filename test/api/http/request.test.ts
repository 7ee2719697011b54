import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
} from '../../../api/http/api-request.js';

test.each([false, true])('the signal of a request aborts at the end of its connection (complete: %s)', (writableFinished) => {
  const raw = Object.assign(new EventEmitter(), { writableFinished });
  const request = { raw: { socket: { destroyed: false } } } as ApiRequest;
  const signal = connectionClosedSignal(request, { raw } as unknown as ApiReply);
  expect(signal.aborted).toBe(false);
  raw.emit('close');
  expect(signal.aborted).toBe(true);
}); // prettier-ignore

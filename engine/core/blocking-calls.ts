import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { canceledError, fromErrorValue, toErrorValue } from './errors.js';
import type { Outcome } from './outcome.js';

/** The end of a channel through which a thread calls. The port has to be transferred to the thread. */
export interface CallChannelEnd {
  readonly port: MessagePort;
  /** A 32-bit integer on which the calling thread waits; 0 until the call has been answered or the channel is closed. */
  readonly state: SharedArrayBuffer;
}

/** The serving end of a channel for blocking calls. */
interface ServedCallChannel {
  readonly end: CallChannelEnd;
  /** Ends the channel; a thread that waits for an answer gets the error `canceled`. */
  close(): void;
}

/**
 * Serves the calls of one thread, one at a time; calls and answers are plain data. The call throws an error of `answer` as an `AppError`.
 */
export function serveCalls(answer: (call: unknown) => Promise<unknown>): ServedCallChannel {
  const { port1, port2 } = new MessageChannel();
  const state = new SharedArrayBuffer(4);
  const flag = new Int32Array(state);
  const wake = (): void => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  };
  let isClosed = false;
  const serve = async (call: unknown): Promise<void> => {
    const outcome = await outcomeFor(answer, call);
    if (isClosed) return;
    port1.postMessage(outcome);
    wake();
  };
  port1.on('message', (call: unknown) => void serve(call));
  return {
    end: { port: port2, state },
    close() {
      isClosed = true;
      port1.close();
      wake();
    },
  };
}

/** Calls the other side of the channel and blocks this thread until it answers. Throws the error of the answer, or `canceled`. */
export function callBlocking<T>({ port, state }: CallChannelEnd, call: unknown): T {
  const flag = new Int32Array(state);
  Atomics.store(flag, 0, 0);
  port.postMessage(call);
  Atomics.wait(flag, 0, 0);
  const received = receiveMessageOnPort(port);
  if (received === undefined) throw canceledError();
  const outcome = received.message as Outcome<T>;
  if (outcome.ok) return outcome.value;
  throw fromErrorValue(outcome.error);
}

async function outcomeFor(
  answer: (call: unknown) => Promise<unknown>,
  call: unknown,
): Promise<Outcome<unknown>> {
  try {
    return { ok: true, value: await answer(call) };
  } catch (error) {
    return { ok: false, error: toErrorValue(error) };
  }
}

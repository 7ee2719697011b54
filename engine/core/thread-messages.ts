import type { MessagePort } from 'node:worker_threads';
import type { Outcome } from './outcome.js';

/* The part of a `ServingThread` that its thread loads. Nothing here loads the thread pool, which takes a megabyte in each thread. */

/** A message to a serving thread. */
export interface Message {
  readonly id: number;
  readonly input: unknown;
}

/** The answer to the message with the same number. */
export interface Reply {
  readonly id: number;
  readonly outcome: Outcome<unknown>;
}

/**
 * Answers the messages that arrive at the port of this thread. `arraysOf` returns the arrays in the value of an answer whose memory is
 * transferred and not copied (`transferredBuffers`).
 */
export function serveMessages<T>(
  port: MessagePort,
  answer: (input: never) => Promise<Outcome<T>>,
  arraysOf: (value: T) => readonly ArrayBufferView[] = () => [],
): Outcome<null> {
  port.on('message', ({ id, input }: Message) => {
    void answer(input as never).then((outcome) =>
      port.postMessage(
        { id, outcome } satisfies Reply,
        outcome.ok ? transferredBuffers(arraysOf(outcome.value)) : [],
      ),
    );
  });
  return { ok: true, value: null };
}

/**
 * Returns the memory of those arrays of a message that is transferred to the other thread and not copied. Nothing else in this thread may
 * use that memory. Small arrays are copied nevertheless, because Node's small buffers share memory.
 */
export function transferredBuffers(arrays: readonly ArrayBufferView[]): ArrayBuffer[] {
  return arrays.flatMap(({ buffer, byteLength }) =>
    byteLength < minTransferredBytes ? [] : [buffer as ArrayBuffer],
  );
}

const minTransferredBytes = 64 << 10;

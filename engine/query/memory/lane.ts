import { Worker } from 'node:worker_threads';
import type { FromShard, ToShard } from './protocol.js';
import { serveShard } from './serve.js';

/** The way to one shard and back. */
export interface Lane {
  send(message: ToShard): void;
  close(): Promise<void>;
}

/** Hears what a shard says, and that it has ended unasked. */
export interface Listener {
  readonly heard: (message: FromShard) => void;
  readonly ended: (error: Error) => void;
}

/** A shard in a thread of its own, which does not keep the process alive. */
export function threadLane(cacheBytes: number, { heard, ended }: Listener): Lane {
  const worker = new Worker(new URL('./thread.js', import.meta.url), {
    workerData: { cacheBytes },
    name: 'columns',
  });
  let isClosing = false;
  worker.unref();
  worker.on('message', heard);
  worker.on('error', ended);
  worker.on('exit', (code) => {
    if (!isClosing) ended(new Error(`a thread of the columns ended with ${code}`));
  });
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    send: (message) => worker.postMessage(message),
    async close() {
      isClosing = true;
      await worker.terminate();
    },
  };
}

/** A shard in this thread: messages are copied all the same. */
export function inlineLane(cacheBytes: number, { heard }: Listener): Lane {
  const shard = serveShard(cacheBytes, (message) => {
    const copy = structuredClone(message);
    queueMicrotask(() => heard(copy));
  });
  return {
    send: (message) => shard.take(structuredClone(message)),
    close: () => Promise.resolve(shard.close()),
  };
}

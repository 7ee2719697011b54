import { setTimeout } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { AppError } from '../../../engine/core/errors.js';
import { outcomeOf, type Outcome } from '../../../engine/core/outcome.js';
import { serveMessages } from '../../../engine/core/thread-messages.js';

/* The entry point of a worker thread that answers texts. */

/** Answers `fail` with an error, `exit` with its exit, `never` not at all, a number with that many bytes, and anything else with itself. */
export function serve(port: MessagePort): Outcome<null> {
  return serveMessages(port, (input: unknown) => outcomeOf(() => answer(input)), bytesOf);
}

async function answer(input: unknown): Promise<unknown> {
  if (input === 'fail') throw new AppError('invalid', 'as requested');
  if (input === 'exit') process.exit(3);
  if (input === 'never') await new Promise(() => undefined);
  if (input === 'late') await setTimeout(1);
  return typeof input === 'number' ? new Uint8Array(input).fill(7) : input;
}

function bytesOf(value: unknown): readonly ArrayBufferView[] {
  return value instanceof Uint8Array ? [value] : [];
}

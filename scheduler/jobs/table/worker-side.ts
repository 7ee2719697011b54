import type { DataFolder } from '../../../engine/core/data-folder.js';
import { AppError, toErrorValue } from '../../../engine/core/errors.js';
import type { FromWorker, TableMessage } from '../../worker/messages.js';
import type { Pool } from '../../worker/pool.js';
import { tabulate } from './run.js';

/** Makes tables of files for the API process, and stops when nobody waits for one any more. */
export function createTabulator(parts: {
  readonly data: DataFolder;
  readonly pool: Pool;
  send(message: FromWorker): void;
}): (message: TableMessage) => Promise<void> {
  const running = new Map<number, AbortController>();
  return async (message) => {
    if (message.type === 'leave-table') {
      running.get(message.attempt)?.abort();
      return;
    }
    const { attempt } = message.job;
    const abort = new AbortController();
    running.set(attempt, abort);
    try {
      const result = await tabulate(message.job, parts, abort.signal);
      parts.send({ type: 'table', attempt, outcome: { ok: true, value: result } });
    } catch (error) {
      if (!(error instanceof AppError)) console.error(error); // a bug: its stack does not cross the channel
      parts.send({ type: 'table', attempt, outcome: { ok: false, error: toErrorValue(error) } });
    } finally {
      running.delete(attempt);
    }
  };
}

import { AppError } from '../../core/errors.js';
import { isUnsupported } from '../unsupported.js';
import type { FromShard, ShardProblem, ToShard } from './protocol.js';
import { Shard } from './shard.js';
import { CooperativeScheduler } from './cooperative-tasks.js';

/** A shard that answers messages; returns what takes them. */
export function serveShard(
  cacheBytes: number,
  send: (message: FromShard) => void,
): { readonly take: (message: ToShard) => void; readonly close: () => void } {
  const shard = new Shard(cacheBytes);
  const tasks = new CooperativeScheduler();
  const begin = <T>(
    id: number,
    work: () => Generator<void, T>,
    done: (result: T) => void,
  ): void => {
    const failed = (error: unknown): void => send({ id, ...failure(error) });
    try {
      tasks.add(id, { work: work(), done, failed });
    } catch (error) {
      failed(error);
    }
  };
  const take = (message: ToShard): void => {
    switch (message.kind) {
      case 'snapshot':
        return shard.learn(message.snapshot);
      case 'forget':
        return shard.forget(message.snapshot);
      case 'cancel':
        return tasks.cancel(message.id);
      case 'select': {
        const { id, query } = message;
        return begin(
          id,
          () => shard.select(query),
          (answer) =>
            send(isUnsupported(answer) ? { id, unsupported: answer.unsupported } : { id, answer }),
        );
      }
      case 'records': {
        const { id, snapshot, records, projection } = message;
        return begin(
          id,
          () => shard.records(snapshot, records, projection),
          (texts) => send({ id, texts }),
        );
      }
    }
  };
  return { take, close: () => shard.close() };
}

function failure(
  error: unknown,
): { readonly unsupported: string } | { readonly problem: ShardProblem } {
  if (error instanceof RangeError && /allocation failed/i.test(error.message))
    return { unsupported: 'a column for which there is no memory' };
  if (error instanceof AppError) {
    const { code, message, fields } = error;
    return { problem: { code, message, fields } };
  }
  return { problem: { code: 'internal', message: String((error as Error).stack ?? error) } };
}

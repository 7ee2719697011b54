import { budgets } from '../../../engine/core/budgets.js';

/**
 * Shares the budget `rejectedFileBytes` among the chunks of an import or a migration. The file of rejected records keeps the records in the order
 * of the chunks, but chunks end in any order. The limit of a chunk is the budget minus what the chunks before it are known to
 * use, so it is never less than the room that the file has for the chunk: the file does not depend on timing.
 */
export class RejectedBudget {
  readonly #bytes = new Map<number, number>();

  /** Upper limit of the bytes that chunk number `chunk` may keep. */
  limitOf(chunk: number): number {
    let bytesLeft: number = budgets.rejectedFileBytes;
    for (const [index, bytes] of this.#bytes) if (index < chunk) bytesLeft -= bytes;
    return Math.max(0, bytesLeft);
  }

  /** Records the number of bytes of rejected records that a finished chunk has kept. */
  use(chunk: number, bytes: number): void {
    if (bytes > 0) this.#bytes.set(chunk, bytes);
  }
}

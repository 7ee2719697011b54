import { budgets } from '../../../engine/core/budgets.js';

/**
 * Shares the budget `rejectedFileBytes` among the chunks of an import or a migration. The file of rejected records keeps the records in the
 * order of the chunks, but chunks end in any order. The limit of a chunk is the budget minus the bytes that earlier chunks are known to
 * use, so a chunk always keeps everything that fits in the file, which therefore does not depend on timing.
 */
export class RejectedBudget {
  readonly #bytesByChunk = new Map<number, number>();

  /** Returns the upper limit of the bytes that chunk number `chunk` may keep. */
  byteLimitOfChunk(chunk: number): number {
    let bytesLeft: number = budgets.rejectedFileBytes;
    for (const [index, bytes] of this.#bytesByChunk) if (index < chunk) bytesLeft -= bytes;
    return Math.max(0, bytesLeft);
  }

  /** Records the number of bytes of rejected records that a finished chunk has kept. */
  recordUsedBytes(chunk: number, bytes: number): void {
    if (bytes > 0) this.#bytesByChunk.set(chunk, bytes);
  }
}

import { readFreeBytes, syncFolder } from '../../engine/core/files.js';
import { createFile, type FileWriter, type WrittenFile } from '../../engine/core/file-writer.js';
import { dirname } from 'node:path';
import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import { permanentFailure } from './fetch-failure.js';

/**
 * The file that a download is written to. It can be restarted, and is limited to `budgets.decompressedBytes` and to a share of the free
 * disk space.
 */
export class Spool {
  readonly #file: string;
  readonly #maxBytes: number;
  /** The limit and how to stay below it, for the error message of a file that is too large. */
  readonly #reason: string;
  #writer: FileWriter | undefined;

  private constructor(file: string, maxBytes: number, reason: string) {
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#reason = reason;
  }

  static async open(file: string): Promise<Spool> {
    const { decompressedBytes: most, fetchShareOfFreeDisk: share } = budgets;
    const spareBytes = Math.floor((await readFreeBytes(dirname(file))) * share);
    return spareBytes < most
      ? new Spool(
          file,
          spareBytes,
          `${share * 100} % of the free disk space: free some, or fetch less`,
        )
      : new Spool(file, most, 'the most that one may have: split it into several files');
  }

  get bytes(): number {
    return this.#writer?.bytes ?? 0;
  }

  /** Throws if a file of `bytes` bytes would exceed the limit. */
  checkFileSize(bytes: number): void {
    if (bytes <= this.#maxBytes) return;
    throw permanentFailure(
      `the file has more than ${byteSizeText(this.#maxBytes)}, ${this.#reason}`,
      'budget',
    );
  }

  /** Creates the file anew, without the bytes written so far. Must be called before the first `write`. */
  async restart(): Promise<void> {
    await this.abort();
    this.#writer = await createFile(this.#file, { md5: true });
  }

  async write(piece: Uint8Array): Promise<void> {
    this.checkFileSize(this.bytes + piece.byteLength);
    await this.#writer?.write(piece);
  }

  /** Flushes the file and its folder, and closes the file. */
  async finish(): Promise<WrittenFile> {
    if (this.#writer === undefined) throw new Error('nothing has been written');
    const writtenFile = await this.#writer.finish();
    await syncFolder(dirname(this.#file));
    return writtenFile;
  }

  /** Closes and removes the file. */
  async abort(): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.abort();
  }
}

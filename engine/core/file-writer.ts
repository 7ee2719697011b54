import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname } from 'node:path';
import { budgets } from './budgets.js';
import { AppError } from './errors.js';
import { writableBytes } from './faultpoint.js';
import { errorCodeOf, rawFileStep, fileStep, wrapFileError } from './file-steps.js';
import { discardFile, readFreeBytes, refuseLinkedFolder, syncFolder } from './files.js';

const { O_WRONLY, O_CREAT, O_EXCL } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0; // undefined on Windows
/**
 * Number of bytes that are written between two checks of the free space. It is less than the free space that is reserved for small files,
 * because several writers may pass a check at the same time.
 */
const reserveCheckBytes = 8 << 20;

/**
 * Number of bytes after which a flush begins in the background while more bytes are written, so that the disk works meanwhile and the last
 * flush has little to do. If the caller flushes more often, because it records what is durable, there are no flushes in the background.
 */
const flushIntervalBytes = 32 << 20;

/** The size of a written file, and its digests in hex: empty unless requested. */
export interface WrittenFile {
  readonly bytes: number;
  readonly md5: string;
  readonly sha256: string;
}

/** Writes a new file. End with `finish` (makes the file durable), `closeUnflushed` or `abort` (removes the file). */
export class FileWriter {
  readonly path: string;
  #bytes = 0;
  /** The position up to which the free space of the disk has been checked. */
  #checkedTo = 0;
  /** The position at which the last flush began. */
  #flushedTo = 0;
  /** The flush in the background; it never rejects. */
  #flushing: Promise<void> | undefined;
  #flushError: unknown;
  readonly #handle: fs.FileHandle;
  readonly #md5: Hash | undefined;
  readonly #sha256: Hash | undefined;
  readonly #mayUseReserve: boolean;

  constructor(path: string, handle: fs.FileHandle, options: CreateOptions) {
    this.path = path;
    this.#handle = handle;
    this.#md5 = options.md5 === true ? createHash('md5') : undefined;
    this.#sha256 = options.sha256 === true ? createHash('sha256') : undefined;
    this.#mayUseReserve = options.mayUseReserve === true;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The SHA-256 of the bytes written so far, in hex; empty unless requested. */
  sha256(): string {
    return this.#sha256?.copy().digest('hex') ?? '';
  }

  async write(piece: Uint8Array): Promise<void> {
    await this.#leaveReserve(piece.byteLength);
    this.#md5?.update(piece);
    this.#sha256?.update(piece);
    let writtenBytes = 0;
    while (writtenBytes < piece.byteLength) {
      const bytes = writableBytes(piece.byteLength - writtenBytes);
      const write = (): Promise<{ bytesWritten: number }> =>
        this.#handle.write(piece, writtenBytes, bytes);
      writtenBytes += (await fileStep(this.path, 'write', 'write', write)).bytesWritten;
    }
    this.#bytes += piece.byteLength;
    if (this.#bytes - this.#flushedTo >= flushIntervalBytes) this.#flushInBackground();
  }

  /** Begins a flush unless one is in progress. If it fails, the next flush or the end of the file throws its error. */
  #flushInBackground(): void {
    if (this.#flushError !== undefined) throw this.#flushError;
    if (this.#flushing !== undefined) return;
    const end = (): void => void (this.#flushing = undefined);
    this.#flushing = this.#datasync().catch(ignoreError).then(end);
  }

  /**
   * Waits for the flush in the background. A failed flush is never repeated, because the kernel may have dropped the unwritten pages
   * (threat R6).
   */
  async #flushed(): Promise<void> {
    await this.#flushing;
    if (this.#flushError !== undefined) throw this.#flushError;
  }

  async #leaveReserve(bytes: number): Promise<void> {
    if (this.#mayUseReserve || this.#bytes + bytes <= this.#checkedTo) return;
    this.#checkedTo = this.#bytes + Math.max(bytes, reserveCheckBytes);
    const bytesLeft = (await readFreeBytes(dirname(this.path))) - bytes;
    if (bytesLeft >= budgets.diskReserveBytes) return;
    throw wrapFileError(
      this.path,
      'write',
      Object.assign(new Error('reserve'), { code: 'ENOSPC' }),
    );
  }

  /** Makes the bytes written so far durable; more may follow. Throws the error of an earlier flush that has failed. */
  async flush(): Promise<void> {
    await this.#flushed();
    await this.#datasync();
  }

  async #datasync(): Promise<void> {
    this.#flushedTo = this.#bytes;
    try {
      await fileStep(this.path, 'flush', 'flush', () => this.#handle.datasync());
    } catch (error) {
      this.#flushError = error;
      throw error;
    }
  }

  /** Flushes and closes the file. The name is durable only after `syncFolder`. */
  async finish(): Promise<WrittenFile> {
    try {
      await this.#flushed();
      // If this fails, the caller abandons the file, because a failed flush must not be repeated.
      await fileStep(this.path, 'flush', 'flush', () => this.#handle.sync());
    } finally {
      await fileStep(this.path, 'close', 'close', () => this.#handle.close());
    }
    return {
      bytes: this.#bytes,
      md5: this.#md5?.digest('hex') ?? '',
      sha256: this.#sha256?.digest('hex') ?? '',
    };
  }

  /** Closes the file without making it durable; call `flushFile` before the file is committed. */
  async closeUnflushed(): Promise<void> {
    await this.#flushed();
    await fileStep(this.path, 'close', 'close', () => this.#handle.close());
  }

  /** Closes and removes the file, also after `finish` failed. Never throws, so that the first error is reported. */
  async abort(): Promise<void> {
    await this.#flushing;
    await this.#handle.close().catch(() => undefined); // fails harmlessly if the file is already closed
    await discardFile(this.path);
  }
}

/** Ignores an error of a background flush, which `#flushError` keeps. */
function ignoreError(): void {}

interface CreateOptions {
  readonly md5?: boolean;
  readonly sha256?: boolean;
  readonly mode?: number;
  /** Whether the file may use the last free bytes of the disk, which are reserved for small files that finish, cancel or delete work. */
  readonly mayUseReserve?: boolean;
}

/** Creates a file that must not exist yet. */
export async function createFile(path: string, options: CreateOptions = {}): Promise<FileWriter> {
  await refuseLinkedFolder(path);
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const mode = options.mode ?? 0o600;
  const handle = await fileStep(path, 'create', 'open', () => fs.open(path, flags, mode));
  return new FileWriter(path, handle, options);
}

/** Writes all pieces of a stream to a new file and makes it durable; removes the file on failure. */
export async function writeStream(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: { maxBytes?: number; tooLarge?: () => Error } = {},
): Promise<WrittenFile> {
  const file = await createFile(path, { md5: true });
  try {
    for await (const piece of pieces) {
      if (options.maxBytes !== undefined && file.bytes + piece.byteLength > options.maxBytes) {
        const message = `more than the ${options.maxBytes} bytes announced`;
        throw options.tooLarge?.() ?? new AppError('too-large', message);
      }
      await file.write(piece);
    }
    const writtenFile = await file.finish();
    await syncFolder(dirname(path));
    return writtenFile;
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/**
 * A file outside the data folder to which lines are appended, such as a log. Throws the errors of the operating system unchanged. Only one
 * process at a time may write to it.
 */
export class LineFile {
  readonly #handle: fs.FileHandle;
  #bytes: number;

  private constructor(handle: fs.FileHandle, bytes: number) {
    this.#handle = handle;
    this.#bytes = bytes;
  }

  /** Opens a file, creating it if it is missing. */
  static async open(path: string): Promise<LineFile> {
    const handle = await rawFileStep('open', () => fs.open(path, 'a', 0o640));
    return new LineFile(handle, (await handle.stat()).size);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Writes whole lines. Resolves to the number of bytes of the lines written, and to the error if some lines were not written. An
   * incomplete line is removed again; rejects if that fails.
   */
  async write(lines: Uint8Array): Promise<{ readonly bytes: number; readonly error?: unknown }> {
    let writtenBytes = 0;
    try {
      while (writtenBytes < lines.byteLength) {
        const bytes = writableBytes(lines.byteLength - writtenBytes);
        const from = writtenBytes;
        writtenBytes += (await rawFileStep('write', () => this.#handle.write(lines, from, bytes))).bytesWritten; // prettier-ignore
      }
      this.#bytes += writtenBytes;
      return { bytes: writtenBytes };
    } catch (error) {
      const wholeLineBytes = lines.subarray(0, writtenBytes).lastIndexOf(lineFeed) + 1;
      this.#bytes += wholeLineBytes;
      // An incomplete line is removed by truncating the file, which needs no free space. If another program has renamed the file to rotate
      // it, the renamed file is truncated, because the handle is the same.
      if (writtenBytes > wholeLineBytes) await this.#handle.truncate((await this.#handle.stat()).size - (writtenBytes - wholeLineBytes)); // prettier-ignore
      return { bytes: wholeLineBytes, error };
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

const lineFeed = 0x0a;

/**
 * Renames `log` to `log.1`, `log.1` to `log.2` and so on; keeps at most `kept` renamed files. Throws the errors of the operating system
 * unchanged.
 */
export async function rotateFiles(path: string, kept: number): Promise<void> {
  for (let n = kept - 1; n >= 0; n--) {
    const from = n === 0 ? path : `${path}.${n}`;
    await rawFileStep('rename', () => fs.rename(from, `${path}.${n + 1}`)).catch(
      (error: unknown) => {
        if (errorCodeOf(error) !== 'ENOENT') throw error;
      },
    );
  }
}

import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { AppError } from '../../engine/core/errors.js';
import { errorCodeOf } from '../../engine/core/file-steps.js';
import { LineFile, rotateFiles } from '../../engine/core/file-writer.js';

/** Number of earlier log files that are kept. */
const keptLogFiles = 4;
/**
 * Maximum size in bytes of the lines that wait to be written, for example while the disk is full; further lines are dropped and counted.
 */
const maxPendingBytes = 8 << 20;
const maxWriteBytes = 1 << 20;
const openRetryMs = 1_000;

/** The messages that say why a log cannot be opened, by the code of the system error. */
const openErrorReasons: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `the folder ${dirname(path)} does not exist; create it`,
  ENOTDIR: (path) => `${dirname(path)} is not a folder; choose another path`,
  EISDIR: (path) => `${path} is a folder; name a file`,
  EACCES: (path) => `this user may not write ${path}; change its owner or choose another path`,
  EROFS: (path) => `${path} is on a read-only file system; choose another path`,
};

/**
 * The log as a file of JSON lines, which one process alone writes, in the order of the calls; before it grows beyond `maxBytes` (0: no
 * limit), it is renamed to `<path>.1`, earlier files to `.2` and so on. The log never makes the server fail: lines that cannot be written
 * wait and are tried again every second, and those that exceed `maxPendingBytes` are dropped and counted. Choice: four earlier files are
 * kept; to keep more, or to rotate by day, set `--log-file-mb 0` and use logrotate.
 */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #report: (text: string) => void;
  #file: LineFile;
  #waitingLines: Uint8Array[] = [];
  #waitingBytes = 0;
  #lostLineCount = 0;
  #isToReopen = false;
  /** Whether the last attempt to write, rotate or reopen the file failed and was reported; a failure is reported once. */
  #hasFailed = false;
  #retryTimer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  private constructor(
    path: string,
    maxBytes: number,
    file: LineFile,
    report: (text: string) => void,
  ) {
    // prettier-ignore
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#file = file;
    this.#report = report;
  }

  /** Opens or creates the log file; throws `invalid` if it cannot be written. Later errors are passed to `report`. */
  static async open(
    path: string,
    maxBytes: number,
    report: (text: string) => void,
  ): Promise<LogFile> {
    // prettier-ignore
    try {
      return new LogFile(path, maxBytes, await LineFile.open(path), report);
    } catch (error) {
      const code = errorCodeOf(error) ?? String(error);
      const reason = openErrorReasons[code]?.(path) ?? `${path} cannot be opened: ${code}`;
      throw new AppError('invalid', `--log-file: ${reason}`, undefined, error);
    }
  }

  /**
   * Adds a line, unless it is empty, and returns at once. A line that is not a JSON object, such as the last output of a dying process, is
   * converted to one.
   */
  write(line: string): void {
    if (line === '') return;
    const isEvent = line.startsWith('{') && line.endsWith('}');
    this.#add(isEvent ? line : jsonOfLogEvent('output', line));
    this.#start();
  }

  /** Makes the log open its path again before the next line, because another program has renamed the file. */
  reopen(): void {
    this.#isToReopen = true;
    this.#start();
  }

  /** Writes the waiting lines, if they can be written, and closes the file. */
  async close(): Promise<void> {
    await this.#writing;
    this.#start();
    await this.#writing;
    clearTimeout(this.#retryTimer);
    await this.#file.close().catch((error: unknown) => this.#retryLater(error));
  }

  #add(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    if (this.#waitingBytes + bytes.byteLength > maxPendingBytes) {
      this.#lostLineCount += 1;
      return;
    }
    this.#waitingLines.push(bytes);
    this.#waitingBytes += bytes.byteLength;
  }

  #start(): void {
    this.#writing ??= this.#writeAll()
      .catch((error: unknown) => this.#retryLater(error))
      .finally(() => {
        this.#writing = undefined;
      });
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#retryTimer);
    if (this.#isToReopen) await this.#reopen();
    while (this.#waitingLines.length > 0) {
      const [firstLine] = this.#waitingLines;
      await this.#rotateBefore(firstLine!.byteLength);
      const count = this.#countLinesThatFit();
      const { bytes, error } = await this.#file.write(
        Buffer.concat(this.#waitingLines.slice(0, count)),
      );
      this.#removeWritten(bytes);
      if (error !== undefined) throw error;
      if (!this.#isToReopen && this.#file.bytes <= (this.#maxBytes || Infinity)) this.#hasFailed = false; // prettier-ignore
      if (this.#waitingLines.length === 0 && this.#lostLineCount > 0) {
        const lostLines = this.#lostLineCount;
        this.#lostLineCount = 0;
        this.#add(jsonOfLogEvent('log', `${lostLines} lines could not be written and were lost`));
      }
      if (this.#isToReopen) await this.#reopen();
    }
  }

  /**
   * Returns the number of waiting lines that are written at once: at least one, otherwise as many as fit into the file and into one write
   * of `maxWriteBytes`.
   */
  #countLinesThatFit(): number {
    const bytesThatFit = this.#maxBytes === 0 ? maxWriteBytes : this.#maxBytes - this.#file.bytes;
    let bytes = 0;
    const end = this.#waitingLines.findIndex((line, i) => {
      bytes += line.byteLength;
      return i > 0 && bytes > Math.min(bytesThatFit, maxWriteBytes);
    });
    return end === -1 ? this.#waitingLines.length : end;
  }

  #removeWritten(bytes: number): void {
    this.#waitingBytes -= bytes;
    let bytesLeft = bytes;
    const end = this.#waitingLines.findIndex((line) => (bytesLeft -= line.byteLength) < 0);
    this.#waitingLines.splice(0, end === -1 ? this.#waitingLines.length : end);
  }

  async #rotateBefore(bytes: number): Promise<void> {
    const { bytes: size } = this.#file;
    if (this.#maxBytes === 0 || size === 0 || size + bytes <= this.#maxBytes) return;
    try {
      await rotateFiles(this.#path, keptLogFiles);
    } catch (error) {
      // The file grows beyond its limit, so that no lines are lost.
      this.#reportOnce(`cannot be rotated (${errorCodeOf(error) ?? String(error)}) and grows`);
      return;
    }
    this.#isToReopen = true; // if reopening fails, the file is not rotated again
    await this.#reopen();
  }

  /** Opens the path again and closes the file that was open. If the path cannot be opened, throws, and the lines wait. */
  async #reopen(): Promise<void> {
    const file = await LineFile.open(this.#path);
    this.#isToReopen = false;
    const oldFile = this.#file;
    this.#file = file;
    await oldFile.close();
  }

  #reportOnce(problem: string): void {
    if (!this.#hasFailed) this.#report(`strandlake: the log ${this.#path} ${problem}`);
    this.#hasFailed = true;
  }

  #retryLater(error: unknown): void {
    this.#reportOnce(`cannot be written (${errorCodeOf(error) ?? String(error)}); its lines wait`);
    this.#retryTimer = setTimeout(() => this.#start(), openRetryMs).unref();
  }
}

/** Returns an event of this process as a line of JSON, in the format of `formatLogLine` in the API process. */
function jsonOfLogEvent(event: string, message: string): string {
  return JSON.stringify({
    time: new Date().toISOString(),
    event,
    message: message.slice(0, 4_000),
  });
}

/** Calls `take` with each line of a stream; resolves when the stream has ended, or at once if there is no stream. */
export async function forEachLine(
  stream: Readable | null,
  take: (line: string) => void,
): Promise<void> {
  if (stream === null) return;
  try {
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) take(line);
  } catch {
    // The process at the other end was killed, so there is nothing more to read.
  }
}

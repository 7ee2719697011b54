import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import { crashpoint } from '../../engine/core/crashpoint.js';
import { readFileStats, modifiedAt, openFile } from '../../engine/core/files.js';
import { createFile, type FileWriter } from '../../engine/core/file-writer.js';

/** Name of the journal in the scratch folder of an attempt. */
const journalFileName = 'journal';
const digestBytes = 16;
/** Size of the start of a frame: its length, the digest of everything after the digest, and the length of the key. */
const headerBytes = 4 + digestBytes + 4;
/** Maximum length of a frame in bytes; a frame that claims to be longer counts as damaged. */
const maxFrameBytes = 64 << 20;

/**
 * An append-only log of the work that an attempt has finished. An entry has a key, which identifies the work, and a value, which is its
 * result. Reading ends at the first damaged frame, such as one that a kill has cut off.
 */
export class Journal {
  readonly #path: string;
  #file: Promise<FileWriter> | undefined;
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(scratch: string) {
    this.#path = join(scratch, journalFileName);
  }

  /** Adds an entry; resolves when it is durable. */
  append(key: string, value: unknown): Promise<void> {
    const frame = encodeFrame(key, value);
    const ownWrite = this.#lastWrite.then(() => this.#write(frame));
    this.#lastWrite = ownWrite.catch(() => undefined); // the caller of `append` receives the error
    return ownWrite;
  }

  /** Waits for all entries and closes the file. */
  async close(): Promise<void> {
    await this.#lastWrite;
    const file = await this.#file?.catch(() => undefined);
    // A journal that cannot be flushed is useless, but its descriptor must be closed.
    await file?.finish().catch(() => file.abort());
  }

  async #write(frame: Uint8Array): Promise<void> {
    this.#file ??= createFile(this.#path);
    const file = await this.#file;
    const halfLength = frame.length >> 1;
    await file.write(frame.subarray(0, halfLength));
    crashpoint('journal.partial');
    await file.write(frame.subarray(halfLength));
    await file.flush();
    crashpoint('journal.appended');
  }
}

/** An entry of an earlier attempt; its value is read on demand. */
export interface JournalEntry {
  readonly key: string;
  read(): Promise<unknown>;
}

/** Returns the entries of an attempt's journal, in order, up to the first damaged one; none if there is no journal. */
export async function readJournal(scratch: string): Promise<readonly JournalEntry[]> {
  const path = join(scratch, journalFileName);
  if ((await readFileStats(path)) === undefined) return [];
  const file = await openFile(path);
  try {
    const entries: JournalEntry[] = [];
    for (let at = 0; at + headerBytes <= file.bytes;) {
      const bytes = Buffer.from(await file.read(at, 4)).readUInt32LE();
      if (bytes < headerBytes || bytes > maxFrameBytes || at + bytes > file.bytes) break;
      const frame = Buffer.from(await file.read(at, bytes));
      if (!frameDigestOf(frame).equals(frame.subarray(4, 4 + digestBytes))) break;
      const start = at;
      entries.push({ key: frameKeyOf(frame), read: () => readFrameValue(path, start, bytes) });
      at += bytes;
    }
    return entries;
  } finally {
    await file.close();
  }
}

/** A file that every build writes, so that its modification time identifies the build. */
const workerProcessModule = fileURLToPath(new URL('../worker/worker-process.js', import.meta.url));

/** Returns a string that identifies the runtime and the build: work that another version of the code has finished is done again. */
export async function readCodeVersion(): Promise<string> {
  const builtAt = await modifiedAt(workerProcessModule);
  return `${process.version} ${builtAt}`;
}

function encodeFrame(key: string, value: unknown): Buffer {
  const keyBytes = Buffer.from(key);
  const frame = Buffer.concat([Buffer.alloc(headerBytes), keyBytes, serialize(value)]);
  frame.writeUInt32LE(frame.length, 0);
  frame.writeUInt32LE(keyBytes.length, 4 + digestBytes);
  frameDigestOf(frame).copy(frame, 4);
  return frame;
}

function frameDigestOf(frame: Buffer): Buffer {
  const covered = frame.subarray(4 + digestBytes);
  return createHash('sha256').update(covered).digest().subarray(0, digestBytes);
}

function frameKeyOf(frame: Buffer): string {
  return frame.subarray(headerBytes, headerBytes + frame.readUInt32LE(4 + digestBytes)).toString();
}

async function readFrameValue(path: string, at: number, bytes: number): Promise<unknown> {
  const file = await openFile(path);
  try {
    const frame = Buffer.from(await file.read(at, bytes));
    return deserialize(frame.subarray(headerBytes + frame.readUInt32LE(4 + digestBytes)));
  } finally {
    await file.close();
  }
}

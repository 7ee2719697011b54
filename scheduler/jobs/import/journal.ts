import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { fileStats, openFile } from '../../../engine/core/files.js';
import { createFile, type FileWriter } from '../../../engine/core/file-writer.js';

/** Its name in an attempt's scratch folder. */
const journalName = 'journal';
const digestBytes = 16;
/** Length of the frame, digest of what follows it, length of the key. */
const headBytes = 4 + digestBytes + 4;
/** A longer frame was not written by us. */
const maxFrameBytes = 64 << 20;

/**
 * What an attempt has finished, entry by entry and durable before the next step: each has a key, which says exactly what was
 * done, and a value. A frame that a kill or a disk has damaged ends what can be read.
 */
export class Journal {
  readonly #path: string;
  #file: Promise<FileWriter> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(scratch: string) {
    this.#path = join(scratch, journalName);
  }

  /** Adds an entry; resolves when it is durable. */
  append(key: string, value: unknown): Promise<void> {
    const frame = frameOf(key, value);
    const done = this.#last.then(() => this.#write(frame));
    this.#last = done.catch(() => undefined); // whoever added it has the error
    return done;
  }

  async close(): Promise<void> {
    await this.#last;
    const file = await this.#file?.catch(() => undefined);
    // One that cannot be closed in order is worth nothing, but its descriptor is.
    await file?.finish().catch(() => file.abort());
  }

  async #write(frame: Uint8Array): Promise<void> {
    this.#file ??= createFile(this.#path);
    const file = await this.#file;
    const half = frame.length >> 1;
    await file.write(frame.subarray(0, half));
    crashpoint('journal.partial');
    await file.write(frame.subarray(half));
    await file.flush();
    crashpoint('journal.appended');
  }
}

/** An entry of an earlier attempt, to be read when it is needed. */
export interface Noted {
  readonly key: string;
  read(): Promise<unknown>;
}

/** The entries of an attempt's journal, in order, up to the first that is not whole; none without a journal. */
export async function readJournal(scratch: string): Promise<readonly Noted[]> {
  const path = join(scratch, journalName);
  if ((await fileStats(path)) === undefined) return [];
  const file = await openFile(path);
  try {
    const found: Noted[] = [];
    for (let at = 0; at + headBytes <= file.bytes;) {
      const bytes = Buffer.from(await file.read(at, 4)).readUInt32LE();
      if (bytes < headBytes || bytes > maxFrameBytes || at + bytes > file.bytes) break;
      const frame = Buffer.from(await file.read(at, bytes));
      if (!digestOf(frame).equals(frame.subarray(4, 4 + digestBytes))) break;
      const start = at;
      found.push({ key: keyOf(frame), read: () => valueAt(path, start, bytes) });
      at += bytes;
    }
    return found;
  } finally {
    await file.close();
  }
}

function frameOf(key: string, value: unknown): Buffer {
  const name = Buffer.from(key);
  const frame = Buffer.concat([Buffer.alloc(headBytes), name, serialize(value)]);
  frame.writeUInt32LE(frame.length, 0);
  frame.writeUInt32LE(name.length, 4 + digestBytes);
  digestOf(frame).copy(frame, 4);
  return frame;
}

function digestOf(frame: Buffer): Buffer {
  const covered = frame.subarray(4 + digestBytes);
  return createHash('sha256').update(covered).digest().subarray(0, digestBytes);
}

function keyOf(frame: Buffer): string {
  return frame.subarray(headBytes, headBytes + frame.readUInt32LE(4 + digestBytes)).toString();
}

async function valueAt(path: string, at: number, bytes: number): Promise<unknown> {
  const file = await openFile(path);
  try {
    const frame = Buffer.from(await file.read(at, bytes));
    return deserialize(frame.subarray(headBytes + frame.readUInt32LE(4 + digestBytes)));
  } finally {
    await file.close();
  }
}

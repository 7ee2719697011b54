import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { freeArray } from '../../../engine/core/buffers.js';
import { openFile } from '../../../engine/core/files.js';
import type { FileWriter } from '../../../engine/core/file-writer.js';
import type { RunContext } from '../job.js';
import { readCodeVersion, Journal, readJournal } from '../journal.js';
import { encodedPartBytes, type PartJob } from './part.js';

/**
 * Number of bytes of the file after which the finished parts are recorded. A kill loses about as many bytes, and the parts that are being
 * encoded or recorded.
 */
const bytesPerJournalEntry = 16 << 20;

/** The location in the file of a byte array that belongs to a part. */
interface ArrayLocation {
  at: number;
  readonly bytes: number;
}

/** A part that an attempt has written to its file. */
interface FinishedPart {
  readonly key: string;
  /** The part as plain data in which an object with the index of its location replaces each byte array (`byteArrayIndexKey`). */
  readonly part: unknown;
  readonly locations: readonly ArrayLocation[];
}

/** A part whose bytes are being written. */
interface PartBeingWritten extends FinishedPart {
  missingArrayCount: number;
}

/**
 * An entry of the journal: parts that an attempt has written to its file, all of them before `end`, and the SHA-256 of the file up to
 * `end`.
 */
interface PartsJournalEntry {
  readonly parts: readonly FinishedPart[];
  readonly end: number;
  readonly sha256: string;
}

/** A part in the file of an earlier attempt. */
interface EarlierAttemptPart extends FinishedPart {
  readonly path: string;
}

/**
 * The encoded parts that earlier attempts of an export have written, and a journal of the parts of this attempt. After a kill, a part is
 * taken from the earlier file if encoding it would give the same result (same code, format, columns and rows) and the file up to the end of
 * the part is as it was written; all other parts are encoded again. The file itself is joined anew, so that formats need no state for
 * resuming.
 */
export class ResumableParts {
  readonly #name: string;
  readonly #journal: Journal;
  readonly #code: string;
  readonly #earlierParts: ReadonlyMap<string, EarlierAttemptPart>;
  /** The parts whose arrays are not all written yet, by array. */
  readonly #partsBeingWritten = new WeakMap<
    Uint8Array,
    readonly [PartBeingWritten, ArrayLocation]
  >();
  #unrecordedParts: FinishedPart[] = [];
  #unrecordedBytes = 0;
  #recording: Promise<void> | undefined;
  #error: unknown;
  #reusedCount = 0;

  private constructor(
    { scratch }: RunContext,
    name: string,
    code: string,
    earlierParts: ReadonlyMap<string, EarlierAttemptPart>,
  ) {
    this.#name = name;
    this.#journal = new Journal(scratch);
    this.#code = code;
    this.#earlierParts = earlierParts;
  }

  /** Reads the journals of earlier attempts. `name` is the name of the export file in the scratch folder of each attempt. */
  static async open(context: RunContext, name: string): Promise<ResumableParts> {
    const earlierParts = new Map<string, EarlierAttemptPart>();
    for (const folder of context.earlier) {
      const path = join(folder, name);
      // A part that cannot be read from an earlier file, for whatever reason, is encoded again.
      for (const part of await findIntactParts(folder, name, path).catch(() => []))
        if (!earlierParts.has(part.key)) earlierParts.set(part.key, { ...part, path });
    }
    return new ResumableParts(context, name, await readCodeVersion(), earlierParts);
  }

  /** Number of parts that earlier attempts encoded and this one reused. */
  get reusedPartCount(): number {
    return this.#reusedCount;
  }

  /** Returns the encoded part of a job, from an earlier attempt if possible, otherwise the result of `encode`. */
  async restoreOrEncode(job: PartJob, encode: () => Promise<unknown>): Promise<unknown> {
    const key = this.#keyOf(job);
    const earlierPart = this.#earlierParts.get(key);
    const restored = earlierPart && (await restorePart(earlierPart).catch(() => undefined));
    if (restored !== undefined) this.#reusedCount += 1;
    const part = restored === undefined ? await encode() : restored;
    this.#expect(key, part, encodedPartBytes(job, part));
    return part;
  }

  /**
   * Notes a piece that has been written to the file. If it is an array of a part, releases its memory, and records the finished parts from
   * time to time. Throws if the journal could not be made durable earlier.
   */
  recordWrittenPiece(piece: Uint8Array, output: FileWriter): void {
    if (this.#error !== undefined) throw this.#error;
    const [part, location] = this.#partsBeingWritten.get(piece) ?? [];
    if (part === undefined || location === undefined) return;
    location.at = output.bytes - piece.byteLength;
    part.missingArrayCount -= 1;
    this.#unrecordedBytes += piece.byteLength;
    freeArray(piece); // or the garbage collector would run every few parts and traverse the whole heap
    if (part.missingArrayCount > 0) return;
    const { key, part: rest, locations } = part;
    this.#unrecordedParts.push({ key, part: rest, locations });
    if (this.#unrecordedBytes >= bytesPerJournalEntry) this.#recording ??= this.#record(output);
  }

  async close(): Promise<void> {
    await this.#recording;
    await this.#journal.close();
    if (this.#error !== undefined) throw this.#error;
  }

  /**
   * Adds an entry to the journal with the parts that are in the file, while more parts are written. The bytes of a part are durable before
   * the journal names it.
   */
  async #record(output: FileWriter): Promise<void> {
    const record: PartsJournalEntry = {
      parts: this.#unrecordedParts,
      end: output.bytes,
      sha256: output.sha256(),
    };
    this.#unrecordedParts = [];
    this.#unrecordedBytes = 0;
    try {
      await output.flush();
      await this.#journal.append(this.#name, record);
    } catch (error) {
      this.#error = error; // not retried: the kernel may have dropped the pages (threat R6)
    } finally {
      this.#recording = undefined;
    }
  }

  #expect(key: string, part: unknown, arrays: readonly Uint8Array[]): void {
    const locations = arrays.map((bytes) => ({ at: 0, bytes: bytes.byteLength }));
    const awaited = {
      key,
      part: replaceBytesByIndexes(part, arrays),
      locations,
      missingArrayCount: arrays.length,
    };
    for (const [i, bytes] of arrays.entries())
      this.#partsBeingWritten.set(bytes, [awaited, locations[i]!]);
  }

  /**
   * Returns a key that identifies a part by everything that its encoding depends on. The provenance is left out, because it contains the
   * time of the attempt.
   */
  #keyOf(job: PartJob): string {
    const context = { ...job.context, provenance: null };
    return createHash('sha256')
      .update(serialize([this.#code, { ...job, context }]))
      .digest('hex');
  }
}

/** Returns the recorded parts of an attempt, as long as the file up to their end is as it was written. */
async function findIntactParts(
  folder: string,
  name: string,
  path: string,
): Promise<readonly FinishedPart[]> {
  const intact: FinishedPart[] = [];
  const entries = (await readJournal(folder)).filter(({ key }) => key === name);
  if (entries.length === 0) return intact;
  const file = await openFile(path);
  try {
    const hash = createHash('sha256');
    let at = 0;
    for (const entry of entries) {
      const { parts, end, sha256 } = (await entry.read()) as PartsJournalEntry;
      if (end > file.bytes) break;
      for await (const piece of file.stream(at, end)) hash.update(piece);
      at = end;
      if (hash.copy().digest('hex') !== sha256) break;
      intact.push(...parts);
    }
    return intact;
  } finally {
    await file.close();
  }
}

/** Reads the bytes of a part from the file of an earlier attempt. */
async function restorePart({ path, part, locations }: EarlierAttemptPart): Promise<unknown> {
  const file = await openFile(path);
  try {
    const arrays: Uint8Array[] = [];
    for (const { at, bytes } of locations) arrays.push(await file.read(at, bytes));
    return replaceIndexesByBytes(part, arrays);
  } finally {
    await file.close();
  }
}

/** The key of the object that replaces a byte array in a recorded part; its value is the index of the array. */
const byteArrayIndexKey = 'index of the bytes';

function replaceBytesByIndexes(part: unknown, arrays: readonly Uint8Array[]): unknown {
  return mapObjects(part, (value) => {
    const index = arrays.indexOf(value as Uint8Array);
    return index === -1 ? undefined : { [byteArrayIndexKey]: index };
  });
}

function replaceIndexesByBytes(part: unknown, arrays: readonly Uint8Array[]): unknown {
  return mapObjects(part, (value) => {
    const index = (value as Readonly<Record<string, unknown>>)[byteArrayIndexKey];
    return index === undefined ? undefined : arrays[Number(index)];
  });
}

/**
 * Returns a copy of plain data in which objects are replaced by what `replace` returns for them; an object for which it returns undefined
 * is copied.
 */
function mapObjects(value: unknown, replace: (object: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map((one) => mapObjects(one, replace));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, mapObjects(one, replace)]),
  );
}

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { openFile } from '../../../engine/core/files.js';
import type { FileWriter } from '../../../engine/core/file-writer.js';
import type { RunContext } from '../job.js';
import { codeVersion, Journal, readJournal } from '../journal.js';
import { partBytes, type PartJob } from './part.js';

/** Bytes of the file after which the parts in it are recorded: what a kill costs at most, besides what is being encoded. */
const recordEachBytes = 16 << 20;

/** The location of an array of a part in the file. */
interface ArrayLocation {
  at: number;
  readonly bytes: number;
}

/** A part that an attempt has written to its file. */
interface FinishedPart {
  readonly key: string;
  /** The part, with the index of its location in the place of each array of bytes. */
  readonly part: unknown;
  readonly locations: readonly ArrayLocation[];
}

/** A part whose bytes are being written. */
interface AwaitedPart extends FinishedPart {
  missing: number;
}

/** Parts that an attempt has written to its file, all of them before `end`, and the SHA-256 of the file up to there. */
interface PartsRecord {
  readonly parts: readonly FinishedPart[];
  readonly end: number;
  readonly sha256: string;
}

/** A part in the file of an earlier attempt. */
interface EarlierPart extends FinishedPart {
  readonly path: string;
}

/**
 * The encoded parts that earlier attempts of an export have written, and a journal of those of this attempt. After a kill a part is taken
 * from the earlier file if encoding it would give the same result (same code, format, columns and rows) and the file up to its end is as it was
 * written; all others are encoded again. The file itself is joined anew, so that formats need no state of their own for this.
 */
export class FinishedParts {
  readonly #name: string;
  readonly #journal: Journal;
  readonly #code: string;
  readonly #earlier: ReadonlyMap<string, EarlierPart>;
  /** The parts that wait for their arrays to be written, by array. */
  readonly #awaited = new WeakMap<Uint8Array, readonly [AwaitedPart, ArrayLocation]>();
  #unrecorded: FinishedPart[] = [];
  #unrecordedBytes = 0;
  #recording: Promise<void> | undefined;
  #error: unknown;
  #resumed = 0;

  private constructor(
    { scratch }: RunContext,
    name: string,
    code: string,
    earlier: ReadonlyMap<string, EarlierPart>,
  ) {
    this.#name = name;
    this.#journal = new Journal(scratch);
    this.#code = code;
    this.#earlier = earlier;
  }

  /** Reads the journals of earlier attempts. `name` is the name of the file in the scratch folder of each attempt. */
  static async open(context: RunContext, name: string): Promise<FinishedParts> {
    const earlier = new Map<string, EarlierPart>();
    for (const folder of context.earlier) {
      const path = join(folder, name);
      // A part that is damaged or missing is encoded again, whatever the reason.
      for (const part of await intactParts(folder, name, path).catch(() => []))
        if (!earlier.has(part.key)) earlier.set(part.key, { ...part, path });
    }
    return new FinishedParts(context, name, await codeVersion(), earlier);
  }

  /** Number of parts that earlier attempts encoded and this one reused. */
  get resumed(): number {
    return this.#resumed;
  }

  /** The encoded part of a job: from an earlier attempt if possible, otherwise made by `encode`. */
  async restoredOr(job: PartJob, encode: () => Promise<unknown>): Promise<unknown> {
    const key = this.#keyOf(job);
    const earlier = this.#earlier.get(key);
    const restored = earlier && (await restore(earlier).catch(() => undefined));
    if (restored !== undefined) this.#resumed += 1;
    const part = restored === undefined ? await encode() : restored;
    this.#expect(key, part, partBytes(job, part));
    return part;
  }

  /**
   * Called after each piece of the file has been written, when the bytes of its parts may be released. Throws if an earlier record could not be
   * made durable.
   */
  written(piece: Uint8Array, output: FileWriter): void {
    if (this.#error !== undefined) throw this.#error;
    const [part, location] = this.#awaited.get(piece) ?? [];
    if (part === undefined || location === undefined) return;
    location.at = output.bytes - piece.byteLength;
    part.missing -= 1;
    this.#unrecordedBytes += piece.byteLength;
    discardBytes(piece);
    if (part.missing > 0) return;
    const { key, part: rest, locations } = part;
    this.#unrecorded.push({ key, part: rest, locations });
    if (this.#unrecordedBytes >= recordEachBytes) this.#recording ??= this.#record(output);
  }

  /** Closes the journal. */
  async close(): Promise<void> {
    await this.#recording;
    await this.#journal.close();
    if (this.#error !== undefined) throw this.#error;
  }

  /** Records the parts that are in the file, while more is written. Their bytes are durable before the journal names them. */
  async #record(output: FileWriter): Promise<void> {
    const record: PartsRecord = {
      parts: this.#unrecorded,
      end: output.bytes,
      sha256: output.sha256(),
    };
    this.#unrecorded = [];
    this.#unrecordedBytes = 0;
    try {
      await output.flush();
      await this.#journal.append(this.#name, record);
    } catch (error) {
      this.#error = error; // never repeated: the kernel may have dropped the pages (threats R6)
    } finally {
      this.#recording = undefined;
    }
  }

  #expect(key: string, part: unknown, arrays: readonly Uint8Array[]): void {
    const locations = arrays.map((bytes) => ({ at: 0, bytes: bytes.byteLength }));
    const awaited = { key, part: withoutBytes(part, arrays), locations, missing: arrays.length };
    for (const [i, bytes] of arrays.entries()) this.#awaited.set(bytes, [awaited, locations[i]!]);
  }

  /** Identifies a part by all that its encoding depends on. The provenance has the time of the attempt. */
  #keyOf(job: PartJob): string {
    const context = { ...job.context, provenance: null };
    return createHash('sha256')
      .update(serialize([this.#code, { ...job, context }]))
      .digest('hex');
  }
}

/** The recorded parts of an attempt, as far as the file from its beginning is as it was written. */
async function intactParts(
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
      const { parts, end, sha256 } = (await entry.read()) as PartsRecord;
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
async function restore({ path, part, locations }: EarlierPart): Promise<unknown> {
  const file = await openFile(path);
  try {
    const arrays: Uint8Array[] = [];
    for (const { at, bytes } of locations) arrays.push(await file.read(at, bytes));
    return withBytes(part, arrays);
  } finally {
    await file.close();
  }
}

/** Stands for an array of bytes in a recorded part. */
const indexKey = 'index of the bytes';

function withoutBytes(part: unknown, arrays: readonly Uint8Array[]): unknown {
  return mapObjects(part, (value) => {
    const index = arrays.indexOf(value as Uint8Array);
    return index === -1 ? undefined : { [indexKey]: index };
  });
}

function withBytes(part: unknown, arrays: readonly Uint8Array[]): unknown {
  return mapObjects(part, (value) => {
    const index = (value as Readonly<Record<string, unknown>>)[indexKey];
    return index === undefined ? undefined : arrays[Number(index)];
  });
}

/** A copy of plain data in which `replace` has replaced objects; undefined keeps one. */
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

/** Frees the memory of an array at once. Otherwise, the garbage collector would run every few parts and traverse the whole heap. */
function discardBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer.byteLength === byteLength) (buffer as ArrayBuffer).transfer(0);
}

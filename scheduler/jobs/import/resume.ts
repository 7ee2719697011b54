import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { serialize } from 'node:v8';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { fileStats, moveFile, openFile, syncFolder } from '../../../engine/core/files.js';
import { readFooter } from '../../../engine/store/footer.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import type { ChunkResult } from './chunk-types.js';
import type { RunContext } from '../job.js';
import type { Fetched, UrlLocation } from './import-source.js';
import { codeVersion, Journal, readJournal, type JournalEntry } from '../journal.js';

/** Version of the values in the journal. */
const format = 1;

/** An entry of an earlier attempt's journal, and the scratch folder of that attempt. */
interface EarlierEntry {
  readonly folder: string;
  readonly entry: JournalEntry;
}

/**
 * Restores chunks and downloads that earlier attempts of an import have finished, and records those of this attempt. A chunk is
 * restored if reading it would give the same result (same code, source, parameters, columns and chunk) and if its files are
 * unchanged. All other chunks are read again.
 */
export class Resume {
  readonly #context: RunContext;
  readonly #journal: Journal;
  readonly #earlier: ReadonlyMap<string, readonly EarlierEntry[]>;
  readonly #code: string;

  private constructor(
    context: RunContext,
    earlier: ReadonlyMap<string, readonly EarlierEntry[]>,
    code: string,
  ) {
    this.#context = context;
    this.#journal = new Journal(context.scratch);
    this.#earlier = earlier;
    this.#code = code;
  }

  /** Reads the journals of the earlier attempts. */
  static async open(context: RunContext): Promise<Resume> {
    const earlierEntries = new Map<string, EarlierEntry[]>();
    for (const folder of context.earlier) {
      for (const entry of await readJournal(folder).catch(() => [])) {
        const sameKey = earlierEntries.get(entry.key) ?? [];
        sameKey.push({ folder, entry });
        earlierEntries.set(entry.key, sameKey);
      }
    }
    return new Resume(context, earlierEntries, await codeVersion());
  }

  /** Whether an earlier attempt has recorded anything. */
  get hasEarlier(): boolean {
    return this.#earlier.size > 0;
  }

  /** A digest of the code's version and of `parts`, which must be everything that the results of a source's chunks depend on. */
  fingerprint(...parts: readonly unknown[]): string {
    const bytes = serialize([format, this.#code, ...parts]);
    return createHash('sha256').update(bytes).digest('hex');
  }

  /** The result of a chunk from an earlier attempt, with its files moved to this attempt's scratch folder; undefined if there is none. */
  async restoreChunk(key: string): Promise<ChunkResult | undefined> {
    for (const { folder, entry } of this.#earlier.get(key) ?? []) {
      const result = (await entry.read()) as ChunkResult;
      // A chunk with damaged files is read again, whatever the damage is.
      if (!(await isIntact(folder, result).catch(() => false))) continue;
      return this.#adopt(key, folder, result);
    }
    return undefined;
  }

  /** Records the result of a chunk; resolves when it is durable. */
  async recordChunk(key: string, result: ChunkResult): Promise<void> {
    await this.#journal.append(key, result);
  }

  /** Moves a file that an earlier attempt has downloaded to `file`; undefined if there is none. */
  async restoreDownload(key: string, file: string): Promise<Fetched | undefined> {
    for (const { folder, entry } of this.#earlier.get(key) ?? []) {
      const { name, bytes, md5 } = (await entry.read()) as Fetched & { readonly name: string };
      const from = join(folder, name);
      const found = await digestOf(from, 'md5').catch(() => undefined);
      if (found?.bytes !== bytes || found.hex !== md5) continue;
      await this.recordDownload(key, file, { bytes, md5 });
      await moveFile(from, file);
      await syncFolder(this.#context.scratch);
      return { bytes, md5 };
    }
    return undefined;
  }

  /** Records a complete download; resolves when the entry is durable. */
  async recordDownload(key: string, file: string, { bytes, md5 }: Fetched): Promise<void> {
    await this.#journal.append(key, { name: basename(file), bytes, md5 });
  }

  /** Closes the journal. */
  close(): Promise<void> {
    return this.#journal.close();
  }

  /** The entry is recorded before the files are moved: after a kill in between, the earlier entry still finds them. */
  async #adopt(key: string, folder: string, result: ChunkResult): Promise<ChunkResult> {
    const { scratch } = this.#context;
    const { segment, rejectedPart } = result;
    const file = rejectedPart && join(scratch, basename(rejectedPart.file));
    const here = { ...result, rejectedPart: rejectedPart && { ...rejectedPart, file: file! } };
    await this.recordChunk(key, here);
    for (const name of [segment?.path, file && basename(file)]) {
      if (name) await moveFile(join(folder, name), join(scratch, name));
    }
    await syncFolder(scratch);
    crashpoint('chunk.resumed');
    return here;
  }
}

/** Compares a chunk's files with its result: size and digest, and for a segment also the number of rows in its footer. */
async function isIntact(folder: string, { segment, rejectedPart }: ChunkResult): Promise<boolean> {
  if (segment !== null) {
    const path = join(folder, segment.path);
    const { bytes, hex } = await digestOf(path, 'sha256');
    if (bytes !== segment.bytes || hex !== segment.checksum) return false;
    if (Number((await readFooter(path)).num_rows) !== segment.rows) return false;
  }
  if (rejectedPart === null) return true;
  const { bytes, hex } = await digestOf(join(folder, basename(rejectedPart.file)), 'md5');
  return bytes === rejectedPart.bytes && hex === rejectedPart.md5;
}

/** Identifies a chunk within its source. */
export function chunkKey(ref: ChunkRef): string {
  if (ref.kind === 'bytes') return `bytes ${ref.bytes.length}`;
  return `${ref.kind} ${ref.from} ${ref.to}`;
}

/** Identifies a download: the number of the source, its URL and its expected digest. */
export function downloadKey(
  number: number,
  location: UrlLocation,
  expected: { readonly md5: string | null; readonly bytes: number | null },
): string {
  return JSON.stringify(['fetched', number, location.url, expected.md5, expected.bytes]);
}

async function digestOf(
  path: string,
  algorithm: 'md5' | 'sha256',
): Promise<{ readonly bytes: number; readonly hex: string }> {
  if ((await fileStats(path)) === undefined) return { bytes: -1, hex: '' };
  const file = await openFile(path);
  try {
    const digest = createHash(algorithm);
    for await (const piece of file.stream()) digest.update(piece);
    return { bytes: file.bytes, hex: digest.digest('hex') };
  } finally {
    await file.close();
  }
}

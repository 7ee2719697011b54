import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { serialize } from 'node:v8';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { readFileStats, moveFile, openFile, syncFolder } from '../../../engine/core/files.js';
import { readFooter } from '../../../engine/store/footer.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import type { ChunkResult } from './chunk-types.js';
import type { FetchedFile, RunContext, UrlLocation } from '../job.js';
import { readCodeVersion, Journal, readJournal, type JournalEntry } from '../journal.js';

/** Version of the values in the journal. */
const journalFormatVersion = 1;

/** An entry of an earlier attempt's journal, and the scratch folder of that attempt. */
interface EarlierJournalEntry {
  readonly folder: string;
  readonly entry: JournalEntry;
}

/**
 * Restores chunks and downloads that earlier attempts of an import have finished, and records those that this attempt finishes. A chunk is
 * restored if reading it would give the same result (same code, source, parameters, columns and chunk) and if its files are unchanged. All
 * other chunks are read again.
 */
export class ImportResume {
  readonly #context: RunContext;
  readonly #journal: Journal;
  readonly #earlier: ReadonlyMap<string, readonly EarlierJournalEntry[]>;
  readonly #code: string;

  private constructor(
    context: RunContext,
    earlier: ReadonlyMap<string, readonly EarlierJournalEntry[]>,
    code: string,
  ) {
    this.#context = context;
    this.#journal = new Journal(context.scratch);
    this.#earlier = earlier;
    this.#code = code;
  }

  /** Reads the journals of the earlier attempts. */
  static async open(context: RunContext): Promise<ImportResume> {
    const earlierEntries = new Map<string, EarlierJournalEntry[]>();
    for (const folder of context.earlier) {
      for (const entry of await readJournal(folder).catch(() => [])) {
        const sameKey = earlierEntries.get(entry.key) ?? [];
        sameKey.push({ folder, entry });
        earlierEntries.set(entry.key, sameKey);
      }
    }
    return new ImportResume(context, earlierEntries, await readCodeVersion());
  }

  /** Whether an earlier attempt has recorded anything. */
  get hasEarlierEntries(): boolean {
    return this.#earlier.size > 0;
  }

  /** Returns a digest of the code version and of `parts`, which must be everything that the results of a source's chunks depend on. */
  fingerprint(...parts: readonly unknown[]): string {
    const bytes = serialize([journalFormatVersion, this.#code, ...parts]);
    return createHash('sha256').update(bytes).digest('hex');
  }

  /**
   * Returns the result of a chunk from an earlier attempt, with its files moved to the scratch folder of this attempt; undefined if no
   * attempt has finished the chunk, or if its files are damaged.
   */
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

  /** Moves a file that an earlier attempt has downloaded to the path `file`; returns undefined if there is none, or if it is damaged. */
  async restoreDownload(key: string, file: string): Promise<FetchedFile | undefined> {
    for (const { folder, entry } of this.#earlier.get(key) ?? []) {
      const { name, bytes, md5 } = (await entry.read()) as FetchedFile & { readonly name: string };
      const from = join(folder, name);
      const digest = await computeFileDigest(from, 'md5').catch(() => undefined);
      if (digest?.bytes !== bytes || digest.hex !== md5) continue;
      await this.recordDownload(key, file, { bytes, md5 });
      await moveFile(from, file);
      await syncFolder(this.#context.scratch);
      return { bytes, md5 };
    }
    return undefined;
  }

  /** Records a complete download; resolves when the entry is durable. */
  async recordDownload(key: string, file: string, { bytes, md5 }: FetchedFile): Promise<void> {
    await this.#journal.append(key, { name: basename(file), bytes, md5 });
  }

  close(): Promise<void> {
    return this.#journal.close();
  }

  /**
   * Moves the files of a chunk to the scratch folder of this attempt. The entry in the journal is written first: after a kill before the
   * move, the earlier attempt's entry still finds the files.
   */
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
    const { bytes, hex } = await computeFileDigest(path, 'sha256');
    if (bytes !== segment.bytes || hex !== segment.checksum) return false;
    if (Number((await readFooter(path)).num_rows) !== segment.rows) return false;
  }
  if (rejectedPart === null) return true;
  const { bytes, hex } = await computeFileDigest(join(folder, basename(rejectedPart.file)), 'md5');
  return bytes === rejectedPart.bytes && hex === rejectedPart.md5;
}

/** Returns a key that identifies a chunk within its source, together with its number. */
export function chunkKey(ref: ChunkRef): string {
  if (ref.kind === 'bytes') return `bytes ${ref.bytes.length}`;
  return `${ref.kind} ${ref.from} ${ref.to}`;
}

/** Returns a key that identifies a download: the number of the source, its URL and its expected digest. */
export function downloadKey(
  number: number,
  location: UrlLocation,
  expected: { readonly md5: string | null; readonly bytes: number | null },
): string {
  return JSON.stringify(['fetched', number, location.url, expected.md5, expected.bytes]);
}

async function computeFileDigest(
  path: string,
  algorithm: 'md5' | 'sha256',
): Promise<{ readonly bytes: number; readonly hex: string }> {
  if ((await readFileStats(path)) === undefined) return { bytes: -1, hex: '' };
  const file = await openFile(path);
  try {
    const digest = createHash(algorithm);
    for await (const piece of file.stream()) digest.update(piece);
    return { bytes: file.bytes, hex: digest.digest('hex') };
  } finally {
    await file.close();
  }
}

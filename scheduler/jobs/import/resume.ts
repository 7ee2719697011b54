import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import {
  fileStats,
  modifiedAt,
  moveFile,
  openFile,
  syncFolder,
} from '../../../engine/core/files.js';
import { readFooter } from '../../../engine/store/footer.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import type { ChunkResult } from './chunk-types.js';
import type { RunContext } from '../job.js';
import type { Fetched, RemotePlace } from './source.js';
import { Journal, readJournal, type Noted } from './journal.js';

/** Changes when what is noted changes its form. */
const format = 1;

/** An entry, and the scratch folder of the attempt that noted it. */
interface Earlier {
  readonly folder: string;
  readonly noted: Noted;
}

/**
 * What earlier attempts of an import have finished, and where this one notes what it finishes. A chunk is taken over when the
 * very same would be done again: same code, same source, same parameters, same columns, same piece; and when its files
 * are still what was written. Everything else is done anew.
 */
export class Resume {
  readonly #context: RunContext;
  readonly #journal: Journal;
  readonly #earlier: ReadonlyMap<string, readonly Earlier[]>;
  readonly #code: string;

  private constructor(
    context: RunContext,
    earlier: ReadonlyMap<string, readonly Earlier[]>,
    code: string,
  ) {
    this.#context = context;
    this.#journal = new Journal(context.scratch);
    this.#earlier = earlier;
    this.#code = code;
  }

  static async open(context: RunContext): Promise<Resume> {
    const earlier = new Map<string, Earlier[]>();
    for (const folder of context.earlier) {
      for (const noted of await readJournal(folder).catch(() => [])) {
        const same = earlier.get(noted.key) ?? [];
        same.push({ folder, noted });
        earlier.set(noted.key, same);
      }
    }
    return new Resume(context, earlier, await codeVersion());
  }

  /** Whether earlier attempts have left anything. */
  get hasEarlier(): boolean {
    return this.#earlier.size > 0;
  }

  /** One text for all that what comes of a source depends on, besides the piece. */
  fingerprint(...parts: readonly unknown[]): string {
    const bytes = serialize([format, this.#code, ...parts]);
    return createHash('sha256').update(bytes).digest('hex');
  }

  /** What an earlier attempt made of a piece, its files moved to this attempt's scratch folder; undefined if it is to be read. */
  async takeChunk(key: string): Promise<ChunkResult | undefined> {
    for (const { folder, noted } of this.#earlier.get(key) ?? []) {
      const result = (await noted.read()) as ChunkResult;
      // Whatever is wrong with it, it can be read again.
      if (!(await isWhole(folder, result).catch(() => false))) continue;
      return this.#takeOver(key, folder, result);
    }
    return undefined;
  }

  async noteChunk(key: string, result: ChunkResult): Promise<void> {
    await this.#journal.append(key, result);
  }

  /** The bytes that an earlier attempt fetched, moved to `file`; undefined if they are to be fetched. */
  async takeFetched(key: string, file: string): Promise<Fetched | undefined> {
    for (const { folder, noted } of this.#earlier.get(key) ?? []) {
      const { name, bytes, md5 } = (await noted.read()) as Fetched & { readonly name: string };
      const from = join(folder, name);
      const found = await digestOf(from, 'md5').catch(() => undefined);
      if (found?.bytes !== bytes || found.hex !== md5) continue;
      await this.noteFetched(key, file, { bytes, md5 });
      await moveFile(from, file);
      await syncFolder(this.#context.scratch);
      return { bytes, md5 };
    }
    return undefined;
  }

  async noteFetched(key: string, file: string, { bytes, md5 }: Fetched): Promise<void> {
    await this.#journal.append(key, { name: basename(file), bytes, md5 });
  }

  close(): Promise<void> {
    return this.#journal.close();
  }

  /** Noted first: a kill in between leaves the files where the earlier entry still finds them. */
  async #takeOver(key: string, folder: string, result: ChunkResult): Promise<ChunkResult> {
    const { scratch } = this.#context;
    const { segment, rejectedPart } = result;
    const file = rejectedPart && join(scratch, basename(rejectedPart.file));
    const here = { ...result, rejectedPart: rejectedPart && { ...rejectedPart, file: file! } };
    await this.noteChunk(key, here);
    for (const name of [segment?.path, file && basename(file)]) {
      if (name) await moveFile(join(folder, name), join(scratch, name));
    }
    await syncFolder(scratch);
    crashpoint('chunk.resumed');
    return here;
  }
}

/** Whether a chunk's files are what was written: by size and digest, and a segment by its footer too. */
async function isWhole(folder: string, { segment, rejectedPart }: ChunkResult): Promise<boolean> {
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

/** What a piece is, besides its source: its place in the file. */
export function placeOf(ref: ChunkRef): string {
  if (ref.kind === 'bytes') return `bytes ${ref.bytes.length}`;
  return `${ref.kind} ${ref.from} ${ref.to}`;
}

/** What is to be fetched, as far as the request says. */
export function fetchKey(
  number: number,
  place: RemotePlace,
  expected: { readonly md5: string | null; readonly bytes: number | null },
): string {
  return JSON.stringify(['fetched', number, place.url, expected.md5, expected.bytes]);
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

/** Which build of which release on which runtime; a build writes all of its files anew. */
async function codeVersion(): Promise<string> {
  const builtAt = await modifiedAt(fileURLToPath(import.meta.url));
  return `${process.version} ${builtAt}`;
}

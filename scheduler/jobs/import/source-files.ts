import { join } from 'node:path';
import { fileStats } from '../../../engine/core/files.js';
import type { RunContext } from '../job.js';
import type { ImportSource, LocalPlace, RemotePlace } from './source.js';
import { fetchKey, type Resume } from './resume.js';

/** A source's bytes, on this machine. */
export interface LocalFile {
  readonly file: string;
  readonly bytes: number;
  readonly md5: string | null;
  /** Changes when the bytes do. */
  readonly identity: string;
}

/** The files of an import's sources; those on other hosts are fetched, the next one while one is read. */
export class SourceFiles {
  readonly #sources: readonly ImportSource[];
  readonly #context: RunContext;
  readonly #files = new Map<number, Promise<LocalFile>>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #resume: Resume | null;
  /** How far the fetched ones are. */
  readonly #arrived = new Map<number, Arrival>();
  #tell: () => void = () => undefined;
  #toldAt = 0;

  constructor(sources: readonly ImportSource[], context: RunContext, resume: Resume | null) {
    this.#sources = sources;
    this.#resume = resume;
    this.#context = context;
    this.#signal = AbortSignal.any([context.signal, this.#stop.signal]);
  }

  /** Calls `tell` now and then while bytes come from other hosts. */
  listen(tell: () => void): void {
    this.#tell = tell;
  }

  /** Bytes that have come from other hosts; null when all sources are here. */
  get fetchedBytes(): number | null {
    if (this.#sources.every(({ place }) => place.kind === 'file')) return null;
    return [...this.#arrived.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** How large a source that is being fetched is, as its host says. */
  announcedBytes(number: number): number | null {
    return this.#arrived.get(number)?.total ?? null;
  }

  /** The bytes of all sources, as far as they are known before they have come. */
  async expectedBytes(): Promise<readonly number[]> {
    return Promise.all(
      this.#sources.map(async ({ place, expected }) =>
        place.kind === 'file' ? ((await fileStats(place.file))?.bytes ?? 0) : (expected.bytes ?? 0),
      ),
    );
  }

  /** The source's file, whole. */
  async file(number: number): Promise<LocalFile> {
    const file = await this.#begin(number);
    if (number + 1 < this.#sources.length) {
      // Whoever asks for it hears of its failure; a run that has failed before asks no more.
      this.#begin(number + 1).catch(() => undefined);
    }
    return file;
  }

  /** Ends what is being fetched; resolves when nothing writes any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#files.values());
  }

  #begin(number: number): Promise<LocalFile> {
    const known = this.#files.get(number);
    if (known !== undefined) return known;
    const source = this.#sources[number]!;
    const { place } = source;
    const file = place.kind === 'file' ? local(place) : this.#fetch({ ...source, place }, number);
    this.#files.set(number, file);
    return file;
  }

  async #fetch(source: ImportSource & { place: RemotePlace }, number: number): Promise<LocalFile> {
    const file = join(this.#context.scratch, `source-${String(number).padStart(4, '0')}`);
    const key = fetchKey(number, source.place, source.expected);
    const resume = this.#resume;
    const known = resume === null ? undefined : await resume.takeFetched(key, file);
    const { bytes, md5 } =
      known ??
      (await this.#context.fetchSource(source, file, this.#signal, (arrived, total) =>
        this.#note(number, { bytes: arrived, total }),
      ));
    if (known === undefined) await resume?.noteFetched(key, file, { bytes, md5 });
    this.#arrived.set(number, { bytes, total: bytes });
    return { file, bytes, md5, identity: `md5 ${md5}` };
  }

  #note(number: number, arrival: Arrival): void {
    this.#arrived.set(number, arrival);
    const now = performance.now();
    if (now - this.#toldAt < tellMs) return; // it is called for every piece that comes
    this.#toldAt = now;
    this.#tell();
  }
}

const tellMs = 200;

/** How much of a source has come; the total is null until its host says it. */
interface Arrival {
  readonly bytes: number;
  readonly total: number | null;
}

async function local({ file, md5, identity }: LocalPlace): Promise<LocalFile> {
  // A file that is missing fails where it is opened, in words.
  return { file, md5, identity, bytes: (await fileStats(file))?.bytes ?? 0 };
}

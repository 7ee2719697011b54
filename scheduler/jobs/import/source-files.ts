import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import { fileExists, linkFile, readFileStats } from '../../../engine/core/files.js';
import type { RunContext, UrlLocation } from '../job.js';
import { downloadKey, type ImportResume } from './resume.js';
import type { FileLocation, ImportSource } from './import-source.js';

/** The complete file of a source, on this machine. */
export interface LocalFile {
  readonly completeFile: string;
  readonly bytes: number;
  /** The MD5 digest of the file in lower-case hex; null if it is not known. */
  readonly md5: string | null;
  /** A string that differs if the bytes of the file differ. */
  readonly identity: string;
}

/** The number of bytes of a source that have been received, and their total, which is null until the host has sent it. */
interface ReceivedBytes {
  readonly bytes: number;
  readonly total: number | null;
}

/** Minimum interval between two calls of the progress listener, milliseconds. */
const minProgressIntervalMs = 200;

/** The files of an import's sources. While one source is read, the next one is downloaded if it is on another host. */
export class SourceFiles {
  readonly #sources: readonly ImportSource[];
  readonly #context: RunContext;
  readonly #files = new Map<number, Promise<LocalFile>>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #resume: ImportResume | null;
  /** The progress of the downloads, by number of the source. */
  readonly #received = new Map<number, ReceivedBytes>();
  #onProgress: () => void = () => undefined;
  #progressAt = 0;

  constructor(sources: readonly ImportSource[], context: RunContext, resume: ImportResume | null) {
    this.#sources = sources;
    this.#resume = resume;
    this.#context = context;
    this.#signal = AbortSignal.any([context.signal, this.#stop.signal]);
  }

  /** Sets the listener that is called from time to time during downloads. */
  onProgress(listener: () => void): void {
    this.#onProgress = listener;
  }

  /** Bytes received from other hosts; null if all sources are files of the data folder. */
  get fetchedBytes(): number | null {
    if (this.#sources.every(({ location }) => location.kind === 'file')) return null;
    return [...this.#received.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Returns the size of a source on another host, as announced by the host or, once downloaded, that of the file; null if it is not known.
   */
  announcedBytes(number: number): number | null {
    return this.#received.get(number)?.total ?? null;
  }

  /**
   * Links the sources that are in the data folder into the scratch folder, so that their deletion does not affect the import. Returns the
   * size of each source as far as it is known before the downloads: from the file or the manifest, or else 0.
   */
  async open(): Promise<readonly number[]> {
    return Promise.all(
      this.#sources.map(async ({ location, expected }, number) =>
        location.kind === 'file' ? (await this.#start(number)).bytes : (expected.bytes ?? 0),
      ),
    );
  }

  /** Returns the complete file of a source, and starts the download of the next source. */
  async file(number: number): Promise<LocalFile> {
    const file = await this.#start(number);
    if (number + 1 < this.#sources.length) {
      // A failed download throws when its file is requested; after a failure of the import, it is not requested.
      this.#start(number + 1).catch(() => undefined);
    }
    return file;
  }

  /** Aborts the downloads; resolves when the last write has ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#files.values());
  }

  #start(number: number): Promise<LocalFile> {
    const cachedFile = this.#files.get(number);
    if (cachedFile !== undefined) return cachedFile;
    const source = this.#sources[number]!;
    const { location } = source;
    const file =
      location.kind === 'file'
        ? this.#localFile(location, source.name, number)
        : this.#download({ ...source, location }, number);
    this.#files.set(number, file);
    return file;
  }

  /** Links a file of the data folder into the scratch folder, so that the deletion of its object does not remove what is being read. */
  async #localFile(
    { file, md5, identity }: FileLocation,
    name: string,
    number: number,
  ): Promise<LocalFile> {
    const completeFile = this.#path(number);
    if (!fileExists(file))
      throw new AppError('invalid', `the source file ${name} has been deleted: upload it again`);
    await linkFile(file, completeFile);
    return { completeFile, md5, identity, bytes: (await readFileStats(completeFile))?.bytes ?? 0 };
  }

  #path(number: number): string {
    return join(this.#context.scratch, `source-${String(number).padStart(4, '0')}`);
  }

  async #download(
    source: ImportSource & { readonly location: UrlLocation },
    number: number,
  ): Promise<LocalFile> {
    const file = this.#path(number);
    const key = downloadKey(number, source.location, source.expected);
    const resume = this.#resume;
    const restored = resume === null ? undefined : await resume.restoreDownload(key, file);
    const { bytes, md5 } =
      restored ??
      (await this.#context.fetchSource(source, file, this.#signal, (received, total) =>
        this.#report(number, { bytes: received, total }),
      ));
    if (restored === undefined) await resume?.recordDownload(key, file, { bytes, md5 });
    this.#received.set(number, { bytes, total: bytes });
    return { completeFile: file, bytes, md5, identity: `md5 ${md5}` };
  }

  /** Notes the progress of a download. Called for every received piece. */
  #report(number: number, received: ReceivedBytes): void {
    this.#received.set(number, received);
    const now = performance.now();
    if (now - this.#progressAt < minProgressIntervalMs) return;
    this.#progressAt = now;
    this.#onProgress();
  }
}

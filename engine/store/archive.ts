import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { temporaryPrefix } from '../core/atomic-files.js';
import { crashpoint } from '../core/crashpoint.js';
import { DataFolder, logEntryName } from '../core/data-folder.js';
import { canceled } from '../core/errors.js';
import { createFile, type FileWriter } from '../core/file-writer.js';
import { damagedFile } from '../core/file-steps.js';
import { fileStats, list, makeFolder, openFile, syncFolder } from '../core/files.js';
import { parseJson, stringifyJson } from '../core/json.js';
import type { Columns } from '../core/types.js';
import { logVersions, readEntry } from './log.js';
import { replayLog } from './snapshot.js';
import type { Segment } from './store.js';
import { tarEnd, tarEntries, tarHeader, tarPadding, type TarEntry } from './tar.js';

/*
 * The archive of a dataset: a tar file, compressed with zstd, of its log, its `_schema` and every segment that a version of the log names,
 * unless a vacuum has removed it, with its history therefore; unpacked it is a Delta table. The last entry, `manifest.json`, has the size and the SHA-256 of all others.
 */

/** A file of an archive, as its manifest has it. */
interface ArchivedFile {
  /** The path as in the dataset's folder: `_delta_log/<version>.json`, `_schema/<hash>.parquet` or `<segment>.parquet`. */
  readonly path: string;
  readonly bytes: number;
  /** The SHA-256 in hexadecimal. */
  readonly sha256: string;
}

/** The contents of `manifest.json`. */
interface ArchiveManifest {
  readonly format: 1;
  readonly dataset_id: number;
  /** The last version of the log; -1 without one. */
  readonly version: number;
  readonly created_at: string;
  readonly files: readonly ArchivedFile[];
}

/** An archive that has been written or read as a whole. */
export interface ArchiveSummary {
  readonly bytes: number;
  /** SHA-256 of the manifest in hex, and through it of every file. */
  readonly checksum: string;
  readonly version: number;
}

/** The time that work on an archive may take, and the signal that stops it. */
export interface ArchiveWork {
  readonly signal?: AbortSignal;
  /** Called with the number of processed bytes and the total. */
  progress?(bytes: number, bytesTotal: number): void;
}

type Pieces = AsyncIterable<Uint8Array>;

/**
 * Level 3 gains a hundredth of the size and takes two and a half times as long (decision 24). The window is that of level 3, because entries of
 * the log repeat earlier ones. Zstd's own checksum finds damage early.
 */
const zstdParams = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 21,
  [constants.ZSTD_c_checksumFlag]: 1,
};
const pieceBytes = 1 << 20;
const manifestPath = 'manifest.json';
const maxManifestBytes = 512 << 20;
/** The paths of an archive: an archive from elsewhere must not write outside its folder. */
const pathPattern =
  /^(_delta_log\/\d{20}\.json|_schema\/[0-9a-f]{32}\.parquet|[0-9a-z]+-[0-9a-f]{12}-\d{5,}\.parquet)$/;

/** The files of a dataset's folder that its archive holds; a segment comes with what the log says about it. */
interface NamedFiles {
  readonly version: number;
  readonly files: ReadonlyMap<string, { readonly bytes: number; readonly checksum: string } | null>;
}

/**
 * Writes the archive of a dataset to a new file, flushes it, and reads it back. A segment that is not what the log says is `damaged`.
 * Nothing may be committed to the dataset meanwhile.
 */
export async function writeArchive(
  folder: DataFolder,
  datasetId: number,
  path: string,
  { signal, progress }: ArchiveWork = {},
): Promise<ArchiveSummary> {
  const filesNamed = await namedFiles(folder, datasetId);
  let total = 0;
  for (const name of filesNamed.files.keys())
    total += (await fileStats(folder.datasetFile(datasetId, name)))?.bytes ?? 0;
  // Half of the progress is writing the archive, the other half reading it back.
  const work = {
    ...(signal && { signal }),
    progress: (bytes: number) => progress?.(bytes, 2 * total),
  };
  const writer = await createFile(path);
  try {
    const compress = createZstdCompress({ params: zstdParams, chunkSize: pieceBytes });
    await pipeline(tarOf(folder, datasetId, filesNamed, work), compress, async (pieces: Pieces) => {
      for await (const piece of pieces) await writer.write(piece);
    });
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return checkArchive(path, datasetId, {
    ...(signal && { signal }),
    progress: (bytes, all) => progress?.(total + Math.round((total * bytes) / all), 2 * total),
  });
}

/** The bytes of the tar file of a dataset. */
async function* tarOf(
  folder: DataFolder,
  datasetId: number,
  { version, files }: NamedFiles,
  { signal, progress }: { readonly signal?: AbortSignal; progress(bytes: number): void },
): AsyncGenerator<Uint8Array> {
  const archived: ArchivedFile[] = [];
  let done = 0;
  for (const [path, named] of files) {
    const source = await openFile(folder.datasetFile(datasetId, path));
    try {
      const { bytes } = source;
      yield tarHeader(path, bytes, source.modifiedAt);
      const digest = createHash('sha256');
      for await (const piece of source.stream()) {
        if (signal?.aborted === true) throw canceled();
        digest.update(piece);
        yield piece;
        progress((done += piece.byteLength));
        crashpoint('archive.partial');
      }
      yield tarPadding(bytes);
      const sha256 = digest.digest('hex');
      if (named !== null && (named.bytes !== bytes || named.checksum !== sha256))
        throw damagedFile(source.path, 'does not match its checksum; restore it from a backup');
      archived.push({ path, bytes, sha256 });
    } finally {
      await source.close();
    }
  }
  const now = Date.now();
  const manifest: ArchiveManifest = {
    format: 1,
    dataset_id: datasetId,
    version,
    created_at: new Date(now).toISOString(),
    files: archived,
  };
  const bytes = Buffer.from(`${stringifyJson(manifest)}\n`);
  yield tarHeader(manifestPath, bytes.byteLength, now);
  yield* [bytes, tarPadding(bytes.byteLength), tarEnd];
}

/** Compares every file of an archive with its checksum. Throws `damaged` for the first difference. */
export function checkArchive(
  path: string,
  datasetId: number,
  work: ArchiveWork = {},
): Promise<ArchiveSummary> {
  return readArchive(path, datasetId, work, () => Promise.resolve(undefined));
}

/**
 * Unpacks an archive into `datasets/<id>` below an existing folder, flushes it, and compares every file with the manifest, and the manifest
 * with the unpacked log. Returns the unpacked folder.
 */
export async function unpackArchive(
  path: string,
  datasetId: number,
  into: string,
  work: ArchiveWork = {},
): Promise<ArchiveSummary & { readonly folder: string }> {
  const target = new DataFolder(into);
  const folder = target.dataset(datasetId);
  const parts = ['_delta_log', '_schema'].map((name) => join(folder, name));
  for (const part of parts) await makeFolder(part);
  const summary = await readArchive(path, datasetId, work, (name) =>
    createFile(join(folder, name)),
  );
  const unpackedFiles = new Map(summary.files.map((file) => [file.path, file]));
  for (const part of [...parts, folder]) await syncFolder(part);
  const { version, files } = await namedFiles(target, datasetId);
  if (version !== summary.version) throw damagedFile(path, `has a log that ends at ${version}`);
  for (const [name, named] of files) {
    const file = unpackedFiles.get(name);
    const isSame =
      file && (named === null || (named.bytes === file.bytes && named.checksum === file.sha256));
    if (!isSame) throw damagedFile(path, `does not have ${name} as its log says`);
  }
  return { ...summary, folder };
}

/** The log, the schema files and the segments of all versions, but for those that a vacuum has removed. */
async function namedFiles(folder: DataFolder, datasetId: number): Promise<NamedFiles> {
  const files = new Map<string, { readonly bytes: number; readonly checksum: string } | null>();
  const segments: Segment[] = [];
  const versions = await logVersions(folder, datasetId);
  let columns: Columns = [];
  for (const version of versions) {
    files.set(`_delta_log/${logEntryName(version)}`, null);
    const entry = await readEntry(folder, datasetId, version, columns);
    columns = entry.columns ?? columns;
    segments.push(...entry.add);
  }
  for (const { name } of await list(folder.datasetFile(datasetId, '_schema')))
    if (!name.startsWith(temporaryPrefix)) files.set(`_schema/${name}`, null);
  const { live, removed } = await replayLog(folder, datasetId);
  for (const { path, bytes, checksum } of segments)
    if (live.has(path) || removed.get(path)?.isVacuumed === false)
      files.set(path, { bytes, checksum });
  return { version: versions.length - 1, files };
}

/** Reads all files of an archive and compares them with its manifest; writes each to the file that `target` creates, if it does. */
async function readArchive(
  path: string,
  datasetId: number,
  { signal, progress }: ArchiveWork,
  target: (file: string) => Promise<FileWriter | undefined>,
): Promise<ArchiveSummary & { readonly files: readonly ArchivedFile[] }> {
  const archive = await openFile(path);
  const files: ArchivedFile[] = [];
  const flushes = new Set<Promise<void>>();
  let last: Uint8Array | undefined;
  async function* read(): AsyncGenerator<Uint8Array> {
    let done = 0;
    for await (const piece of archive.stream()) {
      if (signal?.aborted === true) throw canceled();
      yield piece;
      progress?.((done += piece.byteLength), archive.bytes);
    }
  }
  try {
    const decompress = createZstdDecompress({ chunkSize: pieceBytes });
    await pipeline(read(), decompress, async (pieces: Pieces) => {
      for await (const entry of tarEntries(pieces, path)) {
        if (last !== undefined) throw damagedFile(path, `goes on after its ${manifestPath}`);
        if (entry.path === manifestPath) last = await manifestBytes(path, entry);
        else if (pathPattern.test(entry.path))
          files.push(await readEntryOf(entry, target, flushes));
        else throw damagedFile(path, `holds ${entry.path}, which is no file of a dataset`);
      }
    }).catch((error: unknown) => {
      const code = (error as { code?: unknown } | null)?.code;
      throw typeof code === 'string' && /^Z|^ERR_/.test(code) ? damagedFile(path, 'is damaged', error) : error; // prettier-ignore
    });
    await Promise.all(flushes);
    if (last === undefined) throw damagedFile(path, `has no ${manifestPath}`);
    const manifest = manifestOf(path, last);
    if (manifest.dataset_id !== datasetId)
      throw damagedFile(path, `is the archive of dataset ${manifest.dataset_id}`);
    for (const [i, file] of manifest.files.entries())
      if (stringifyJson({ ...files[i] }) !== stringifyJson({ ...file }))
        throw damagedFile(path, `holds ${file.path}, which does not match its checksum`);
    if (files.length !== manifest.files.length)
      throw damagedFile(path, `has other files than its ${manifestPath}`);
    const checksum = createHash('sha256').update(last).digest('hex');
    return { bytes: archive.bytes, checksum, version: manifest.version, files };
  } finally {
    await Promise.allSettled(flushes);
    await archive.close();
  }
}

/** Files that are flushed at the same time while others are written. */
const mostFlushes = 8;

/** Reads one file, and writes it to the one that `target` creates, if it does. It is durable when its promise in `flushes` resolves. */
async function readEntryOf(
  { path, content }: TarEntry,
  target: (file: string) => Promise<FileWriter | undefined>,
  flushes: Set<Promise<void>>,
): Promise<ArchivedFile> {
  while (flushes.size >= mostFlushes) await Promise.race(flushes);
  const writer = await target(path);
  const digest = createHash('sha256');
  let bytes = 0;
  let writing: Promise<void> | undefined;
  try {
    for await (const piece of content) {
      await writing;
      digest.update(piece);
      bytes += piece.byteLength;
      // The next piece is unpacked while this one is being written.
      writing = writer?.write(piece);
      writing?.catch(() => undefined); // the next turn receives the error
      if (writer !== undefined) crashpoint('restore.partial');
    }
    await writing;
  } catch (error) {
    await Promise.allSettled([writing]);
    await writer?.abort();
    throw error;
  }
  if (writer !== undefined) {
    const flush = writer.finish().then(
      () => void flushes.delete(flush),
      async (error: unknown) => {
        await writer.abort();
        throw error;
      },
    );
    flush.catch(() => undefined); // the awaiter of `flushes` receives the error
    flushes.add(flush);
  }
  return { path, bytes, sha256: digest.digest('hex') };
}

async function manifestBytes(path: string, { bytes, content }: TarEntry): Promise<Uint8Array> {
  if (bytes > maxManifestBytes) throw damagedFile(path, `has a ${manifestPath} without end`);
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(Uint8Array.from(piece));
  return Buffer.concat(pieces);
}

function manifestOf(path: string, bytes: Uint8Array): ArchiveManifest {
  try {
    const manifest = parseJson(Buffer.from(bytes).toString()) as unknown as ArchiveManifest;
    if (manifest.format === 1 && Array.isArray(manifest.files)) return manifest;
  } catch (error) {
    throw damagedFile(path, `has a damaged ${manifestPath}`, error);
  }
  throw damagedFile(path, 'has a format that this release does not know');
}

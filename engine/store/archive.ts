import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { crashpoint } from '../core/crashpoint.js';
import { DataFolder, logEntryName } from '../core/data-folder.js';
import { canceledError, toErrorValue } from '../core/errors.js';
import { createFile, type FileWriter } from '../core/file-writer.js';
import { damagedFileError } from '../core/file-steps.js';
import { readFileStats, makeFolder, openFile, syncFolder } from '../core/files.js';
import { parseJson, stringifyJson } from '../core/json.js';
import { replayLog, storedSegments } from './replay-log.js';
import { tarEndBlocks, parseTarEntries, tarHeader, tarPadding, type TarEntry } from './tar.js';

/*
 * The archive of a dataset is a tar file, compressed with zstd, of all entries of its log and every segment that one of them names and no
 * vacuum has begun to remove. So it includes the dataset's history; unpacked, it is a Delta table. The last file, `manifest.json`, has the
 * size and the SHA-256 of all other files. Schema files, which archives of earlier releases have, are not unpacked: they are written again
 * when a version is read. Checkpoints are left out.
 */

/** A file of an archive, as listed in the manifest. */
interface ArchivedFile {
  /**
   * The path of the file in the dataset's folder: `_delta_log/<version>.json`, `<segment>.parquet`, and, in archives of earlier releases,
   * `_schema/<hash>.parquet`.
   */
  readonly path: string;
  readonly bytes: number;
  /** The SHA-256 in hexadecimal. */
  readonly sha256: string;
}

/** The contents of `manifest.json`. */
interface ArchiveManifest {
  readonly format: 1;
  readonly dataset_id: number;
  /** The last version of the log; -1 if the log has no entry. */
  readonly version: number;
  readonly created_at: string;
  readonly files: readonly ArchivedFile[];
}

/** An archive that has been completely written or read. */
export interface ArchiveSummary {
  readonly bytes: number;
  /** The SHA-256 of the manifest in hexadecimal; it covers every file, because the manifest contains the checksums of the files. */
  readonly checksum: string;
  readonly version: number;
}

/** A signal that stops work on an archive, and a function that receives its progress. */
export interface ArchiveOptions {
  readonly signal?: AbortSignal;
  /** Called with the number of processed bytes and the total. */
  progress?(bytes: number, bytesTotal: number): void;
}

type ArchiveBytes = AsyncIterable<Uint8Array>;

/**
 * A higher compression level than this saves little: level 3 is one percent smaller and takes two and a half times as long (decision 24).
 * The window is that of level 3, because entries of the log repeat earlier ones. Zstd's own checksum detects damage early.
 */
const zstdParams = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 21,
  [constants.ZSTD_c_checksumFlag]: 1,
};
const streamChunkBytes = 1 << 20;
const manifestPath = 'manifest.json';
const maxManifestBytes = 512 << 20;
/** Matches the permitted paths in an archive: an archive from elsewhere must not write outside its folder. */
const archivedPathPattern =
  /^(_delta_log\/\d{20}\.json|_schema\/[0-9a-f]{32}\.parquet|[0-9a-z]+-[0-9a-f]{12}-\d{5,}\.parquet)$/;

/** The files of a dataset's folder that its archive contains: segments with size and checksum from the log, and log entries (null). */
interface LoggedFiles {
  readonly version: number;
  readonly files: ReadonlyMap<string, { readonly bytes: number; readonly checksum: string } | null>;
}

/**
 * Writes the archive of a dataset to a new file, flushes it, and reads it back. Throws `damaged` for a segment that differs from its
 * checksum in the log. Nothing may be committed to the dataset meanwhile.
 */
export async function writeArchive(
  folder: DataFolder,
  datasetId: number,
  path: string,
  { signal, progress }: ArchiveOptions = {},
): Promise<ArchiveSummary> {
  const loggedFiles = await listLoggedFiles(folder, datasetId);
  let totalBytes = 0;
  for (const name of loggedFiles.files.keys())
    totalBytes += (await readFileStats(folder.datasetFile(datasetId, name)))?.bytes ?? 0;
  // The first half of the progress is writing the archive; the second is reading it back.
  const writeOptions = {
    ...(signal && { signal }),
    progress: (bytes: number) => progress?.(bytes, 2 * totalBytes),
  };
  const writer = await createFile(path);
  let writtenBytes: number;
  try {
    const compress = createZstdCompress({ params: zstdParams, chunkSize: streamChunkBytes });
    await pipeline(
      writeTar(folder, datasetId, loggedFiles, writeOptions),
      compress,
      async (pieces: ArchiveBytes) => {
        for await (const piece of pieces) await writer.write(piece);
      },
    );
    writtenBytes = (await writer.finish()).bytes;
  } catch (error) {
    await writer.abort();
    throw error;
  }
  const summary = await checkArchive(path, datasetId, {
    ...(signal && { signal }),
    progress: (bytes, archiveBytes) =>
      progress?.(totalBytes + Math.round((totalBytes * bytes) / archiveBytes), 2 * totalBytes),
  });
  // The compressor ends with an empty frame. The decompressor does not notice if the end of this frame is missing.
  if (summary.bytes !== writtenBytes)
    throw damagedFileError(path, `has ${summary.bytes} bytes instead of ${writtenBytes}`);
  return summary;
}

/** Yields the bytes of the tar file of a dataset. */
async function* writeTar(
  folder: DataFolder,
  datasetId: number,
  { version, files }: LoggedFiles,
  { signal, progress }: { readonly signal?: AbortSignal; progress(bytes: number): void },
): AsyncGenerator<Uint8Array> {
  const archivedFiles: ArchivedFile[] = [];
  let doneBytes = 0;
  for (const [path, loggedFile] of files) {
    const source = await openFile(folder.datasetFile(datasetId, path));
    try {
      const { bytes } = source;
      yield tarHeader(path, bytes, source.modifiedAt);
      const digest = createHash('sha256');
      for await (const piece of source.stream()) {
        if (signal?.aborted === true) throw canceledError();
        digest.update(piece);
        yield piece;
        progress((doneBytes += piece.byteLength));
        crashpoint('archive.partial');
      }
      yield tarPadding(bytes);
      const sha256 = digest.digest('hex');
      if (loggedFile !== null && (loggedFile.bytes !== bytes || loggedFile.checksum !== sha256))
        throw damagedFileError(
          source.path,
          'does not match its checksum; restore it from a backup',
        );
      archivedFiles.push({ path, bytes, sha256 });
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
    files: archivedFiles,
  };
  const bytes = Buffer.from(`${stringifyJson(manifest)}\n`);
  yield tarHeader(manifestPath, bytes.byteLength, now);
  yield* [bytes, tarPadding(bytes.byteLength), tarEndBlocks];
}

/** Compares every file of an archive with its checksum. Throws `damaged` at the first difference. */
export function checkArchive(
  path: string,
  datasetId: number,
  options: ArchiveOptions = {},
): Promise<ArchiveSummary> {
  return readArchive(path, datasetId, options, () => Promise.resolve(undefined));
}

/**
 * Unpacks an archive into `datasets/<id>` in an existing folder and flushes it. Compares every file with the manifest, and the manifest
 * with the unpacked log. Returns the summary of the archive and the unpacked folder.
 */
export async function unpackArchive(
  path: string,
  datasetId: number,
  into: string,
  options: ArchiveOptions = {},
): Promise<ArchiveSummary & { readonly folder: string }> {
  const target = new DataFolder(into);
  const folder = target.dataset(datasetId);
  const log = target.deltaLog(datasetId);
  await makeFolder(log);
  const summary = await readArchive(path, datasetId, options, async (name) =>
    name.startsWith('_schema/') ? undefined : createFile(join(folder, name)),
  );
  const unpackedFiles = new Map(summary.files.map((file) => [file.path, file]));
  for (const changedFolder of [log, folder]) await syncFolder(changedFolder);
  const { version, files } = await listLoggedFiles(target, datasetId).catch((error: unknown) => {
    const { code, message } = toErrorValue(error);
    throw code === 'damaged' ? damagedFileError(path, `has a log that cannot be read (${message})`, error) : error; // prettier-ignore
  });
  if (version !== summary.version)
    throw damagedFileError(path, `has a log that ends at ${version}`);
  for (const [name, loggedFile] of files) {
    const file = unpackedFiles.get(name);
    const isSame =
      file &&
      (loggedFile === null ||
        (loggedFile.bytes === file.bytes && loggedFile.checksum === file.sha256));
    if (!isSame) throw damagedFileError(path, `does not have ${name} as its log says`);
  }
  return { ...summary, folder };
}

/** Returns the log and the segments of all versions, except segments that a vacuum has begun to remove. */
async function listLoggedFiles(folder: DataFolder, datasetId: number): Promise<LoggedFiles> {
  const files = new Map<string, { readonly bytes: number; readonly checksum: string } | null>();
  const state = await replayLog(folder, datasetId);
  for (let version = 0; version <= state.version; version++)
    files.set(`_delta_log/${logEntryName(version)}`, null);
  const { live, old } = await storedSegments(folder, datasetId, state);
  for (const { path, bytes, checksum } of [...live, ...old]) files.set(path, { bytes, checksum });
  return { version: state.version, files };
}

/** Reads all files of an archive and compares them with its manifest. If `target` returns a writer for a file, the file is also written. */
async function readArchive(
  path: string,
  datasetId: number,
  { signal, progress }: ArchiveOptions,
  target: (file: string) => Promise<FileWriter | undefined>,
): Promise<ArchiveSummary & { readonly files: readonly ArchivedFile[] }> {
  const archive = await openFile(path);
  const files: ArchivedFile[] = [];
  const flushes = new Set<Promise<void>>();
  let manifestBytes: Uint8Array | undefined;
  async function* readPieces(): AsyncGenerator<Uint8Array> {
    let doneBytes = 0;
    for await (const piece of archive.stream()) {
      if (signal?.aborted === true) throw canceledError();
      yield piece;
      progress?.((doneBytes += piece.byteLength), archive.bytes);
    }
  }
  try {
    const decompress = createZstdDecompress({ chunkSize: streamChunkBytes });
    await pipeline(readPieces(), decompress, async (pieces: ArchiveBytes) => {
      for await (const entry of parseTarEntries(pieces, path)) {
        if (manifestBytes !== undefined)
          throw damagedFileError(path, `goes on after its ${manifestPath}`);
        if (entry.path === manifestPath) manifestBytes = await readManifestBytes(path, entry);
        else if (archivedPathPattern.test(entry.path))
          files.push(await readArchiveEntry(entry, target, flushes));
        else throw damagedFileError(path, `holds ${entry.path}, which is no file of a dataset`);
      }
    }).catch((error: unknown) => {
      const code = (error as { code?: unknown } | null)?.code;
      throw typeof code === 'string' && /^Z|^ERR_/.test(code) ? damagedFileError(path, 'is damaged', error) : error; // prettier-ignore
    });
    await Promise.all(flushes);
    if (manifestBytes === undefined) throw damagedFileError(path, `has no ${manifestPath}`);
    const manifest = parseManifest(path, manifestBytes);
    if (manifest.dataset_id !== datasetId)
      throw damagedFileError(path, `is the archive of dataset ${manifest.dataset_id}`);
    for (const [i, file] of manifest.files.entries())
      if (stringifyJson({ ...files[i] }) !== stringifyJson({ ...file }))
        throw damagedFileError(path, `holds ${file.path}, which does not match its checksum`);
    if (files.length !== manifest.files.length)
      throw damagedFileError(path, `has other files than its ${manifestPath}`);
    const checksum = createHash('sha256').update(manifestBytes).digest('hex');
    return { bytes: archive.bytes, checksum, version: manifest.version, files };
  } finally {
    await Promise.allSettled(flushes);
    await archive.close();
  }
}

/** Maximum number of files that are being flushed while other files are written. */
const maxConcurrentFlushes = 8;

/** Reads one file and, if `target` returns a writer for it, writes it. The file is durable when its promise in `flushes` resolves. */
async function readArchiveEntry(
  { path, content }: TarEntry,
  target: (file: string) => Promise<FileWriter | undefined>,
  flushes: Set<Promise<void>>,
): Promise<ArchivedFile> {
  while (flushes.size >= maxConcurrentFlushes) await Promise.race(flushes);
  const writer = await target(path);
  const digest = createHash('sha256');
  let bytes = 0;
  let writing: Promise<void> | undefined;
  try {
    for await (const piece of content) {
      await writing;
      digest.update(piece);
      bytes += piece.byteLength;
      // The next piece is decompressed while this one is being written.
      writing = writer?.write(piece);
      writing?.catch(() => undefined); // the next iteration receives the error
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

async function readManifestBytes(path: string, { bytes, content }: TarEntry): Promise<Uint8Array> {
  if (bytes > maxManifestBytes) throw damagedFileError(path, `has a ${manifestPath} without end`);
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(Uint8Array.from(piece));
  return Buffer.concat(pieces);
}

function parseManifest(path: string, bytes: Uint8Array): ArchiveManifest {
  try {
    const manifest = parseJson(Buffer.from(bytes).toString()) as unknown as ArchiveManifest;
    if (manifest.format === 1 && Array.isArray(manifest.files)) return manifest;
  } catch (error) {
    throw damagedFileError(path, `has a damaged ${manifestPath}`, error);
  }
  throw damagedFileError(path, 'has a format that this release does not know');
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { AppError, toErrorValue } from '../../engine/core/errors.js';
import type { Batch } from '../../engine/ingest/batch.js';
import { errorMessage, mergeFindings, type Findings } from '../../engine/ingest/findings.js';
import type { Columns, GenomeBuild, Row } from '../../engine/core/types.js';
import { readerNamed } from '../../readers/index.js';
import { chunkStartOf, type ChunkRef } from '../../readers/source/chunks.js';
import { loadChunk, releaseChunk } from '../../readers/source/load-chunk.js';
import { openSource } from '../../readers/source/open-source.js';
import type { Random } from '../random.js';
import {
  importTestChunks,
  type UnreleasedChunks,
  type TestChunk,
  type ImportChunksOptions,
} from './import-pieces.js';
import { compressBgzf } from './source/bgzf.js';

/** The result of importing a source. */
export interface SourceImport {
  readonly rows: readonly Row[];
  readonly columns: Columns;
  /** The error message of the import; null if it succeeds. */
  readonly error: string | null;
  readonly findings: Findings;
  readonly warnings: readonly string[];
  readonly about: unknown;
  /** The header that the reader passes to all chunks. */
  readonly header: unknown;
  readonly genomeBuild: GenomeBuild | null;
  readonly ordering: readonly (readonly [name: string, ordering: number | null | undefined])[];
  readonly chunks: number;
  /** The number of chunks that were read twice. */
  readonly rewritten: number;
  readonly lines: number;
  /** Number of records that would be stored, up to the end of the records in the source. */
  readonly stored: number;
  readonly rejected: number;
}

/** Options for splitting and reading a file. */
export interface FileOptions extends Pick<
  ImportChunksOptions,
  'known' | 'validation' | 'isReadTwice' | 'collector'
> {
  readonly params?: Record<string, unknown>;
  /** About how many bytes of text a chunk has; from gzip, never fewer than one piece of the decompressor. */
  readonly targetBytes?: number;
  /** A generator for a random order in which chunks are read, as threads may; by default their own order. */
  readonly shuffle?: Random;
  /**
   * Called with each batch as an import would store it, and with the index of its chunk in the source. The batch is released afterwards.
   */
  readonly onBatch?: (batch: Batch, index: number) => Promise<void> | void;
  /** Called with the result of reading all chunks. */
  readonly onRead?: (imported: UnreleasedChunks, bodyLine: number) => void;
}

/** Options for compressing, splitting and reading a source. */
export interface SourceOptions extends FileOptions {
  readonly name?: string;
  readonly layer?: keyof typeof compressionLayers;
}

const compressionLayers = {
  plain: (bytes: Uint8Array) => bytes,
  gzip: (bytes: Uint8Array) => gzipSync(bytes, { level: 1 }),
  bgzf: (bytes: Uint8Array) => compressBgzf(bytes, 700),
};

/** Imports a source as the import task does, but without a scheduler. Chunks that follow the last record are parsed too. */
export async function importSource(
  text: string | Uint8Array,
  reader: string,
  options: SourceOptions = {},
): Promise<SourceImport> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-source-'));
  const path = join(folder, 'source');
  writeFileSync(path, compressionLayers[options.layer ?? 'plain'](bytes));
  try {
    return await importFileOrThrow(path, options.name ?? 'file', reader, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Imports a file as the import task does; throws if the file is refused as a whole. */
export async function importFileOrThrow(
  path: string,
  name: string,
  readerName: string,
  options: FileOptions = {},
): Promise<SourceImport> {
  const reader = readerNamed(readerName);
  const params = reader.params(options.params ?? {});
  const source = await openSource(resolve(path), name, reader.encodingOf?.(options.params ?? {}));
  const loadedChunks: { readonly ref: ChunkRef; readonly bytes: Uint8Array }[] = [];
  try {
    const head = await reader.header(source.head, params);
    const pieces: TestChunk[] = [];
    const { targetBytes = 1 << 20 } = options;
    const splitter = reader.splitter?.(head.header, params);
    // An error in the source after the end of the records is ignored.
    let failure: unknown;
    try {
      for await (const { ref } of source.chunks(
        head.bodyOffset,
        targetBytes,
        undefined,
        splitter,
      )) {
        const bytes = await loadChunk(ref);
        loadedChunks.push({ ref, bytes });
        pieces.push({ bytes, ...chunkStartOf(ref) });
      }
    } catch (error) {
      failure = error;
    }
    const { header, bodyLine } = head;
    const order = chunkOrder(pieces.length, options.shuffle);
    const unreleasedChunks = importTestChunks(reader, pieces, {
      ...options,
      header,
      params,
      order,
      bodyLine,
    });
    const { hasEnded, hasErrors, batches, firsts: _, conflicts: __, release, ...importResult } = unreleasedChunks; // prettier-ignore
    try {
      if (!hasEnded && failure !== undefined) throw failure as Error;
      for (const [i, batch] of batches.entries()) await options.onBatch?.(batch, i);
      options.onRead?.(unreleasedChunks, bodyLine);
    } finally {
      release();
    }
    const missingEndMessage =
      head.missingEndMessage !== undefined && !hasEnded && !hasErrors
        ? head.missingEndMessage
        : null;
    return {
      ...importResult,
      error:
        missingEndMessage === null
          ? errorMessage(name, importResult.findings)
          : `${name}: ${missingEndMessage}`,
      warnings: [...head.warnings, ...source.warnings],
      about: head.about,
      header,
      genomeBuild: head.genomeBuild,
      ordering: head.fields.map((field) => [field.name!, field.ordering] as const),
      chunks: pieces.length,
    };
  } finally {
    for (const { ref, bytes } of loadedChunks) releaseChunk(ref, bytes);
    await source.close();
  }
}

const emptyImport: Omit<SourceImport, 'error'> = {
  rows: [],
  columns: [],
  findings: mergeFindings([]),
  warnings: [],
  about: null,
  header: null,
  genomeBuild: null,
  ordering: [],
  chunks: 0,
  rewritten: 0,
  lines: 0,
  stored: 0,
  rejected: 0,
};

/** Imports a file. If any step fails, the result has the message of the error and no rows. */
export async function importFile(
  path: string,
  name: string,
  reader: string,
  options: FileOptions = {},
): Promise<SourceImport> {
  try {
    const importedFile = await importFileOrThrow(path, name, reader, options);
    return importedFile.error === null ? importedFile : { ...importedFile, rows: [] };
  } catch (error) {
    return { ...emptyImport, error: toErrorValue(error).message };
  }
}

/** Imports a source; returns the message of its error, or `accepted` if it has none. */
export async function importErrorMessage(
  text: string | Uint8Array,
  reader: string,
  params: Record<string, unknown> = {},
): Promise<string> {
  try {
    const { error } = await importSource(text, reader, { params });
    return error ?? 'accepted';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.message;
  }
}

/** Returns a record without `genomic_coordinates`, so that it can be compared with its line. */
export function withoutCoordinates(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'genomic_coordinates'));
}

function chunkOrder(count: number, shuffle: Random | undefined): number[] {
  const indices = Array.from({ length: count }, (_, i) => i);
  return shuffle ? indices.sort(() => shuffle() - 0.5) : indices;
}

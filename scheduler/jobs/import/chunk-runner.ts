import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import type { Columns } from '../../../engine/core/types.js';
import type { ReplaceableRows } from '../../../engine/change/replace-by-batch.js';
import { flushSegment } from '../../../engine/store/segment.js';
import type { RequiredKey } from '../change/missing-keys.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import type { SourceChunk } from './chunk-flow.js';
import type { ChunkJob, ChunkResult } from './chunk-types.js';
import type { FieldExpressions } from '../../expressions/columns/field-expressions.js';
import type { RejectedBudget } from './rejected-budget.js';
import { chunkKey, type ImportResume } from './resume.js';
import type { ImportSource } from './import-source.js';
import type { LocalFile } from './source-files.js';
import type { SourceLayout } from './source-layout.js';

const parseInThread = 'parse' as ThreadJob<ChunkJob, ChunkResult>;

/** The data and functions that all sources of an import share. */
export interface ImportRunContext {
  readonly context: RunContext;
  /** The columns whose types must be kept, as in `ImportParams`. */
  readonly known: Columns;
  /** Dotted names of fields that are read and not stored. */
  readonly transient: readonly string[];
  /** The expressions of fields; null if there are none. */
  readonly expressions: FieldExpressions | null;
  /** The key of a deletion, as in `ChunkJob`. */
  readonly key?: readonly string[] | undefined;
  /** The key that a change requires; sources that may reject records reject those without it. */
  readonly requiredKey?: RequiredKey | undefined;
  /** Dotted names of the fields whose entity type is not detected. */
  readonly fixedEntities: readonly string[];
  readonly commitId: number;
  /** Whether the chunks are read before those that are not urgent. */
  readonly isUrgent: boolean;
  /** Whether no segments are written, apart from those of the sample. */
  readonly isDryRun: boolean;
  /** Whether the written segments are only read by the import itself and never committed, except those that replace stored rows at once. */
  readonly isIntermediate: boolean;
  /**
   * Returns the stored records that the records of a small import may replace as soon as a chunk is read; undefined if they are replaced
   * later.
   */
  readonly replaceable: (() => Promise<ReplaceableRows | undefined>) | undefined;
  readonly rejected: RejectedBudget;
  /** The results of earlier attempts; null if the import cannot be resumed. */
  readonly resume: ImportResume | null;
  /** Called when a chunk has been read in the first pass; not for a restored one. */
  chunkRead(): void;
}

/** The part of a `ChunkJob` that is the same for all chunks of a source in one pass. */
export type ChunkSettings = Omit<ChunkJob, 'ref' | 'index' | 'file' | 'rejectedBytes' | 'hints'>;

/**
 * The letter in the file names of a chunk's segments: `a` first pass, `b` second pass, `e` expressions evaluated again, `s` sample of a dry
 * run.
 */
export type PassMark = 'a' | 'b' | 'e' | 's';

/** Reads the chunks of one source in pool threads, or restores their results from an earlier attempt. */
export class ChunkRunner {
  /** Numbers, within the import, of the chunks whose results were restored from an earlier attempt. */
  readonly restoredChunkNumbers = new Set<number>();
  readonly #import: ImportRunContext;
  readonly #source: ImportSource;
  readonly #file: LocalFile;
  readonly #layout: SourceLayout;
  /** Number of the source's first chunk within the import. */
  readonly #firstChunk: number;
  readonly #fingerprints = new Map<ChunkSettings, string>();

  constructor(
    importContext: ImportRunContext,
    source: ImportSource,
    file: LocalFile,
    layout: SourceLayout,
    firstChunk: number,
  ) {
    this.#import = importContext;
    this.#source = source;
    this.#file = file;
    this.#layout = layout;
    this.#firstChunk = firstChunk;
  }

  /** Restores the result of a chunk from an earlier attempt, or reads the chunk and records the result for later attempts. */
  async restoreOrRead(
    chunk: SourceChunk,
    settings: ChunkSettings,
    pass: PassMark,
    hints: () => Columns,
  ): Promise<ChunkResult> {
    const { resume, rejected } = this.#import;
    if (resume === null) return this.readChunk(chunk, settings, pass, hints);
    const number = this.#firstChunk + chunk.index;
    const key = `${this.#fingerprint(settings, resume)} ${number} ${chunkKey(chunk.ref)}`;
    const restored = await resume.restoreChunk(key);
    if (restored !== undefined) {
      this.restoredChunkNumbers.add(restored.index);
      rejected.recordUsedBytes(restored.index, restored.rejectedPart?.bytes ?? 0);
      return restored;
    }
    const result = await this.readChunk(chunk, settings, pass, hints);
    await resume.recordChunk(key, result);
    return result;
  }

  /** Reads a chunk. `hints` is called when a thread is free, so that it returns the latest hints. */
  async readChunk(
    chunk: SourceChunk,
    settings: ChunkSettings,
    pass: PassMark,
    hints: () => Columns,
  ): Promise<ChunkResult> {
    const { context, commitId, isUrgent, rejected } = this.#import;
    const { pool, scratch, signal, attempt: taskAttempt } = context;
    const index = this.#firstChunk + chunk.index;
    const name = `${commitId}-${String(index).padStart(6, '0')}`;
    const result = await pool.run(
      parseInThread,
      // Each attempt writes a new file, because a thread that died may have left an incomplete one.
      (attempt) => ({
        ...settings,
        ref: chunk.ref,
        hints: hints(),
        index,
        rejectedBytes: rejected.byteLimitOfChunk(index),
        file: join(scratch, `${name}-${taskAttempt}${pass}${attempt}.parquet`),
      }),
      signal,
      {
        isUrgent,
        ...(settings.expressions && { calls: context.hostCalls }),
      },
    );
    // The segment is flushed in this thread, so that the pool thread can read its next chunk meanwhile. An intermediate segment is not
    // flushed: after a crash it is compared with its checksum.
    if (result.segment !== null && (!settings.isIntermediate || result.replaced !== undefined))
      await flushSegment(join(scratch, result.segment.path));
    rejected.recordUsedBytes(index, result.rejectedPart?.bytes ?? 0);
    const rows = result.segment?.rows ?? result.stored; // a dry run or an error may prevent that a segment is written
    const { read, made = 0, stored, rejected: refused } = result;
    if (read + made !== stored + refused || stored !== rows) {
      throw new AppError(
        'internal',
        `${this.#source.name}, chunk ${index}: ${read} records read and ${made} made, but ${stored} stored and ${refused} rejected`,
      );
    }
    return result;
  }

  #fingerprint(settings: ChunkSettings, resume: ImportResume): string {
    const cachedFingerprint = this.#fingerprints.get(settings);
    if (cachedFingerprint !== undefined) return cachedFingerprint;
    const { identity, bytes } = this.#file;
    const split = [this.#layout.chunkBytes, this.#layout.header.bodyOffset];
    const fingerprint = resume.fingerprint(this.#source.name, identity, bytes, split, settings);
    this.#fingerprints.set(settings, fingerprint);
    return fingerprint;
  }
}

import type { ReplaceableRows } from '../../../engine/change/replace-by-batch.js';
import { InputError } from '../../../engine/core/errors.js';
import type { Columns } from '../../../engine/core/types.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import { producesRecords } from '../../expressions/columns/field-expressions.js';
import {
  mergeFindings,
  maxRejectedRecords,
  noFindings,
  type Findings,
} from '../../../engine/ingest/findings.js';
import { resolveTypeDependentWarnings } from '../../../engine/ingest/type-dependent-warnings.js';
import { unifyChunkColumns, needsRewrite } from '../../../engine/ingest/unify-columns.js';
import type { Segment } from '../../../engine/store/store.js';
import { readerNamed } from '../../../readers/index.js';
import { openSource } from '../../../readers/source/open-source.js';
import type { Source } from '../../../readers/source/source.js';
import type { ChunkFlow, ChunkOutcome, SourceChunk } from './chunk-flow.js';
import {
  ChunkRunner,
  type ChunkSettings,
  type ImportRunContext,
  type PassMark,
} from './chunk-runner.js';
import type { ChunkResult } from './chunk-types.js';
import {
  ChunkSamples,
  parseEntityRules,
  type EntityDetectionRules,
  type SourceSamples,
} from './entity-samples.js';
import {
  computedNames,
  rereadColumns,
  hasSeenOtherTypes,
  type InputFields,
} from '../../expressions/columns/input-columns.js';
import type { ImportSource } from './import-source.js';
import { locateChunks, type LocatedChunk } from './located-chunks.js';
import type { SourceRejections } from './rejected-file.js';
import type { LocalFile } from './source-files.js';
import { chunksOf, readLayout, type SourceLayout } from './source-layout.js';

/** A source to be read by `SourceRun.readSource`. */
export interface SourceToRead {
  readonly source: ImportSource;
  /** Number of the source's first chunk within the import. */
  readonly firstChunk: number;
  /** Whether all chunks are counted, even those after the end of the records, because another source follows. */
  readonly isCounted: boolean;
  /** The file of the source; resolves when its download is complete. */
  file(): Promise<LocalFile>;
  /** Called before the first chunk is read. */
  opened(run: SourceRun): void;
}

/** Reads one source, chunk by chunk, and keeps the results of the chunks in the order of the source. */
export class SourceRun {
  readonly source: ImportSource;
  readonly file: LocalFile;
  readonly layout: SourceLayout;
  /** Whether reading stopped at an error (`raise_on_errors`). */
  isStoppedByError = false;
  /** The number of bytes on disk that have been read. */
  bytesRead = 0;
  readonly #import: ImportRunContext;
  readonly #chunks: ChunkRunner;
  readonly #settings: ChunkSettings;
  readonly #results: ChunkResult[] = [];
  /**
   * The unified columns of the first `#hintedChunks` chunks, all of which have been read. Later chunks get them as hints, so that a chunk
   * whose values fit these types needs no second pass. Empty if the reader uses no hints.
   */
  #hints: Columns = [];
  #hintedChunks = 0;
  readonly #rules: EntityDetectionRules | null;
  readonly #samples: ChunkSamples | null;
  /** The columns of the input, unified over all chunks; empty until expressions are evaluated again. */
  #inputColumns: Columns = [];
  /** For each chunk that was read twice, the findings of the first pass, which include the warnings. */
  readonly #firstPassFindings = new Map<number, Findings>();
  /** Index of the chunk in which the records end or at whose error reading stops. The results of later chunks are ignored. */
  #lastChunk = Infinity;

  private constructor(
    importContext: ImportRunContext,
    { source, firstChunk }: SourceToRead,
    file: LocalFile,
    layout: SourceLayout,
    replaceable: ReplaceableRows | undefined,
  ) {
    const {
      known,
      transient,
      expressions,
      key,
      requiredKey,
      fixedEntities,
      commitId,
      isDryRun,
      isIntermediate,
    } = importContext;
    this.#import = importContext;
    this.source = source;
    this.file = file;
    this.layout = layout;
    this.#chunks = new ChunkRunner(importContext, source, file, layout, firstChunk);
    this.#rules = parseEntityRules(source.entityParams);
    this.#samples = this.#rules && new ChunkSamples(this.#rules.size);
    this.#settings = {
      reader: layout.reader.name,
      header: layout.header.header,
      params: layout.params,
      // The columns that the header declares are not included: the reader takes them from the header, and their types may change according
      // to the values.
      columns: known,
      isFinal: false,
      validation: source.validation,
      transient,
      key,
      requiredKey: (source.validation.maxRejected ?? 0) > 0 ? requiredKey : undefined,
      sampling: this.#rules && { ...this.#rules.size, except: fixedEntities },
      commitId,
      isDryRun,
      isIntermediate,
      replaceable,
      ...(expressions !== null && {
        expressions: {
          ...expressions,
          sourceFilename: importContext.isUrgent ? null : source.name,
        },
        // If expressions produce the records, the known types belong to their results, and the types of the input follow its values.
        inputs: known.filter(({ name, physical }) =>
          producesRecords(expressions)
            ? physical === givenIdColumn.physical
            : !computedNames(expressions).has(name),
        ),
      }),
    };
  }

  /**
   * Runs the first pass: opens a source and starts to read its chunks up to the end of the records. Resolves with the number of enumerated
   * chunks when the last one has started.
   */
  static async readSource(
    importContext: ImportRunContext,
    sourceToRead: SourceToRead,
    flow: ChunkFlow,
  ): Promise<number> {
    const { source: importSource, isCounted } = sourceToRead;
    const { pool, signal } = importContext.context;
    let source: Source | undefined;
    let run: SourceRun | undefined;
    try {
      return await flow.feedChunks(
        async () => {
          const file = await sourceToRead.file();
          source = await openLocalSource(file, importSource);
          const layout = await readLayout(importSource, source, pool.threads);
          const replaceable = layout.isSmall ? await importContext.replaceable?.() : undefined;
          run = new SourceRun(importContext, sourceToRead, file, layout, replaceable);
          sourceToRead.opened(run);
          return chunksOf(layout, source, signal);
        },
        (chunk) => run!.#readInFirstPass(chunk),
        { isCounted },
      );
    } finally {
      await source?.close();
    }
  }

  /**
   * Reads those chunks again in which expressions may have seen other values than with `columns`, the columns of the input unified over all
   * chunks.
   */
  async reevaluateChunks(
    columns: Columns,
    fieldsRead: InputFields,
    flow: ChunkFlow,
  ): Promise<void> {
    this.#inputColumns = columns;
    const knownInputs = this.#settings.inputs ?? [];
    const outdatedChunks = new Set(
      this.#results.flatMap(({ inputs, stored }, index) =>
        index <= this.#lastChunk &&
        stored > 0 &&
        hasSeenOtherTypes(inputs ?? [], columns, { known: knownInputs, read: fieldsRead })
          ? [index]
          : [],
      ),
    );
    if (outdatedChunks.size === 0) return;
    const settings = { ...this.#settings, inputs: columns, isFinal: true };
    await this.#readAgain(outdatedChunks, flow, (chunk) =>
      this.#readInSecondPass(chunk, settings, 'e'),
    );
  }

  /**
   * Runs the second pass: reads those chunks with stored records again whose column types differ from the final types, or whose records may
   * lack the key.
   */
  async rewriteChunks(columns: Columns, flow: ChunkFlow): Promise<void> {
    const outdatedChunks = new Set(
      this.#results.flatMap((chunk, index) =>
        index <= this.#lastChunk &&
        chunk.stored > 0 &&
        (needsRewrite(chunk.columns, columns) || chunk.mayLackKey === true)
          ? [index]
          : [],
      ),
    );
    if (outdatedChunks.size === 0) return;
    const settings = this.#finalSettings(columns);
    await this.#readAgain(outdatedChunks, flow, (chunk) =>
      this.#readInSecondPass(chunk, settings, 'b'),
    );
  }

  /** Writes, for a dry run, the segments of the first chunks that together have at least `recordsWanted` records. */
  async writeSampleSegments(
    columns: Columns,
    flow: ChunkFlow,
    recordsWanted: number,
  ): Promise<readonly Segment[]> {
    const chunkIndices = new Set<number>();
    for (const [index, { stored }] of this.#results.entries()) {
      if (recordsWanted <= 0 || index > this.#lastChunk) break;
      if (stored > 0) chunkIndices.add(index);
      recordsWanted -= stored;
    }
    if (chunkIndices.size === 0) return [];
    const segments: Segment[] = [];
    const settings = { ...this.#finalSettings(columns), isDryRun: false, replaceable: undefined };
    await this.#readAgain(chunkIndices, flow, async (chunk) => {
      const { segment } = await this.#chunks.readChunk(chunk, settings, 's', () => this.#hints);
      if (segment !== null) segments[chunk.index] = segment;
      return 'continue';
    });
    await flow.waitUntilFinished();
    return segments.filter((segment) => segment !== undefined);
  }

  /** Throws if the format marks the end of the records and no chunk contained it. */
  requireEndMark(): void {
    const { missingEndMessage } = this.layout.header;
    if (missingEndMessage === undefined || this.#lastChunk < Infinity) return;
    throw new InputError({ file: this.source.name }, missingEndMessage);
  }

  /** Number of chunks that were restored from an earlier attempt. */
  get restoredChunkCount(): number {
    return this.#chunks.restoredChunkNumbers.size;
  }

  /** Returns the results of the chunks read so far, in order, up to the end of the records or the error at which reading stopped. */
  results(): readonly ChunkResult[] {
    return this.#results.filter((chunk, index) => chunk !== undefined && index <= this.#lastChunk);
  }

  get rejectedRecordCount(): number {
    return this.results().reduce((sum, chunk) => sum + chunk.rejected, 0);
  }

  /** Maximum number of records that may be rejected without failing the import. */
  get maxRejectedRecords(): number {
    const isDamaged = this.results().some((chunk) => chunk.isDamaged);
    return isDamaged ? 0 : maxRejectedRecords(this.source.validation);
  }

  columnsOfChunks(): readonly Columns[] {
    return this.results().map((chunk) => chunk.columns);
  }

  /** Returns for each chunk the input columns as they were read, if fields were computed from them. */
  inputColumnsOfChunks(): readonly Columns[] {
    return this.results().map(({ inputs }) => inputs ?? []);
  }

  /**
   * Returns the findings of the chunks up to the end of the records, or up to the error at which reading stopped, with line numbers of the
   * file.
   */
  findings(): Findings {
    let linesBefore = this.layout.header.bodyLine;
    const results = this.#resultsBeforeGap();
    const findingsOfChunks = results.flatMap(({ findings, lateFindings, lines }, index) => {
      const firstFindings = this.#firstPassFindings.get(index);
      const linesBeforeChunk = linesBefore;
      linesBefore += lines;
      // If the chunk has rejected records, the second pass finds the same errors again, so only the findings of the first pass count.
      const ownFindings =
        firstFindings === undefined || firstFindings.errors > 0
          ? [firstFindings ?? findings]
          : [firstFindings, findings];
      return [...ownFindings, lateFindings ?? noFindings].map((part) => ({
        findings: part,
        linesBefore: linesBeforeChunk,
      }));
    });
    return resolveTypeDependentWarnings(mergeFindings(findingsOfChunks), this.columnsOfChunks());
  }

  /** Returns the chunks, with their positions in the source. */
  locatedChunks(): readonly LocatedChunk<ChunkResult>[] {
    return locateChunks(this.#resultsBeforeGap(), this.source.name, this.layout.header.bodyLine);
  }

  /** Returns the results of the chunks before the first one that has none, because it failed: the lines of later chunks are unknown. */
  #resultsBeforeGap(): readonly ChunkResult[] {
    const gap = this.#results.findIndex((result) => result === undefined);
    return this.#results.slice(0, Math.min(gap < 0 ? Infinity : gap, this.#lastChunk + 1));
  }

  /** Returns the rejected records of the chunks. */
  sourceRejections(): SourceRejections {
    const parts = this.locatedChunks().flatMap(({ result: { rejectedPart: part }, before }) =>
      part === null ? [] : [{ part, linesBefore: before.lines }],
    );
    return { name: this.source.name, rejected: this.rejectedRecordCount, parts };
  }

  /** Returns the samples for the detection of entity types; null if the source requests none. */
  samples(): SourceSamples | null {
    const [rules, samples] = [this.#rules, this.#samples];
    return rules === null || samples === null ? null : { rules, samples: samples.result() };
  }

  async #readAgain(
    chunkIndices: ReadonlySet<number>,
    flow: ChunkFlow,
    work: (chunk: SourceChunk) => Promise<ChunkOutcome>,
  ): Promise<void> {
    let source: Source | undefined;
    try {
      await flow.feedChunks(
        async () => {
          source = await openLocalSource(this.file, this.source);
          return chunksOf(this.layout, source, this.#import.context.signal);
        },
        (chunk) => (chunkIndices.has(chunk.index) ? work(chunk) : 'skip'),
        { last: Math.max(...chunkIndices) },
      );
    } finally {
      await source?.close();
    }
  }

  async #readInFirstPass(chunk: SourceChunk): Promise<ChunkOutcome> {
    const result = await this.#chunks.restoreOrRead(chunk, this.#settings, 'a', () => this.#hints);
    this.#storeResult(chunk.index, result);
    this.#samples?.addChunk(chunk.index, result.samples, result.hasEnded);
    this.bytesRead += chunk.bytes;
    if (result.hasEnded) this.#lastChunk = Math.min(this.#lastChunk, chunk.index);
    if (!this.#chunks.restoredChunkNumbers.has(result.index)) this.#import.chunkRead();
    if (result.hasEnded) return 'end';
    if (!this.source.validation.raiseOnErrors || result.findings.errors === 0) return 'continue';
    this.isStoppedByError = true;
    this.#lastChunk = Math.min(this.#lastChunk, chunk.index);
    return 'stop';
  }

  /** Returns the settings of the second pass, with the final columns. */
  #finalSettings(columns: Columns): ChunkSettings {
    const { expressions } = this.#import;
    const { requiredKey: key } = this.#settings;
    const requiredKey = key && { ...key, isEnforced: true };
    const settings = { ...this.#settings, columns, requiredKey, isFinal: true };
    if (expressions === null) return settings;
    return { ...settings, inputs: rereadColumns(columns, this.#inputColumns, expressions) };
  }

  async #readInSecondPass(
    chunk: SourceChunk,
    settings: ChunkSettings,
    pass: PassMark,
  ): Promise<'continue'> {
    const result = await this.#chunks.restoreOrRead(chunk, settings, pass, () => this.#hints);
    const firstResult = this.#results[chunk.index];
    if (firstResult !== undefined && !this.#firstPassFindings.has(chunk.index))
      this.#firstPassFindings.set(chunk.index, firstResult.findings);
    this.#storeResult(chunk.index, result);
    this.#samples?.addRereadChunk(result.samples);
    return 'continue';
  }

  #storeResult(index: number, result: ChunkResult): void {
    // The samples are not kept with the result, because their total size would grow with the number of chunks.
    this.#results[index] = { ...result, samples: [] };
    if (!this.layout.reader.usesHints) return;
    for (
      let nextResult;
      (nextResult = this.#results[this.#hintedChunks]) !== undefined;
      this.#hintedChunks++
    )
      this.#hints = unifyChunkColumns(this.#hints, nextResult.columns);
  }
}

/** Returns the maximum number of records that the sources may reject together, if they have rejected more; undefined otherwise. */
export function exceededRejectionLimit(runs: readonly SourceRun[]): number | undefined {
  const withErrors = runs.filter((run) => run.rejectedRecordCount > 0);
  if (withErrors.length === 0) return undefined;
  const mostRejectable = Math.min(...withErrors.map((run) => run.maxRejectedRecords));
  const rejectedCount = withErrors.reduce((sum, run) => sum + run.rejectedRecordCount, 0);
  return rejectedCount > mostRejectable ? mostRejectable : undefined;
}

function openLocalSource(
  { completeFile }: LocalFile,
  { name, reader, readerParams }: ImportSource,
): Promise<Source> {
  return openSource(completeFile, name, readerNamed(reader).encodingOf?.(readerParams));
}

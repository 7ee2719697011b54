import type { ReplaceableRows } from '../../../engine/change/replace-by-batch.js';
import { InputError } from '../../../engine/core/errors.js';
import type { Columns } from '../../../engine/core/types.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { makesRecords } from './expressions/field-expressions.js';
import {
  mergeFindings,
  mostRejected,
  noFindings,
  type Findings,
} from '../../../engine/ingest/findings.js';
import { settledFindings } from '../../../engine/ingest/settled-findings.js';
import { joinColumns, needsRewrite } from '../../../engine/ingest/unify-columns.js';
import type { Segment } from '../../../engine/store/store.js';
import { readerNamed } from '../../../readers/index.js';
import { openSource } from '../../../readers/source/open.js';
import type { Source } from '../../../readers/source/source.js';
import type { ChunkFlow, ChunkOutcome, SourceChunk } from './chunk-flow.js';
import {
  ChunkRunner,
  type ChunkSettings,
  type ImportRunContext,
  type SegmentMark,
} from './chunk-runner.js';
import type { ChunkResult } from './chunk-types.js';
import {
  ChunkSamples,
  entityRules,
  type EntityRules,
  type SourceSamples,
} from './entity-samples.js';
import {
  computedNames,
  readColumns,
  seesOther,
  type InputFields,
} from './expressions/input-columns.js';
import type { ImportSource } from './import-source.js';
import type { RejectingSource } from './rejected-file.js';
import type { LocalFile } from './source-files.js';
import { chunksOf, readLayout, type SourceLayout } from './source-layout.js';

/** A source to be read by `SourceRun.read`. */
export interface SourceToRead {
  readonly source: ImportSource;
  /** Number of the source's first chunk within the import. */
  readonly firstChunk: number;
  /** Whether all chunks are counted, even those after the end of the records: another source follows. */
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
  /** Reading stopped at an error (`raise_on_errors`). */
  isStopped = false;
  /** Bytes on disk that have been read. */
  bytesRead = 0;
  readonly #import: ImportRunContext;
  readonly #chunks: ChunkRunner;
  readonly #settings: ChunkSettings;
  readonly #results: ChunkResult[] = [];
  /**
   * The columns of the first `#hinted` chunks, all of which have been read. Every later chunk is unified with these, so values that
   * it stores with their types at once need no second pass.
   */
  #hints: Columns = [];
  #hinted = 0;
  readonly #rules: EntityRules | null;
  readonly #samples: ChunkSamples | null;
  /** The columns of the input over all chunks, for expressions. */
  #inputs: Columns = [];
  /** Findings of the first pass, which include the warnings, for chunks that were read twice. */
  readonly #firstPass = new Map<number, Findings>();
  /** Index of the chunk in which the records or the reading ended. The results of later chunks are ignored. */
  #last = Infinity;

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
      stored,
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
    this.#rules = entityRules(source.entityParams);
    this.#samples = this.#rules && new ChunkSamples(this.#rules.size);
    this.#settings = {
      reader: layout.reader.name,
      header: layout.header.header,
      params: layout.params,
      // The columns that the header declares are left out: their types give way to the values, and the reader has the header.
      columns: known,
      isFinal: false,
      validation: source.validation,
      transient,
      stored,
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
        // If expressions make the records, the known types belong to their results, and the input has the types of its values.
        inputs: known.filter(({ name, physical }) =>
          makesRecords(expressions)
            ? physical === givenId.physical
            : !computedNames(expressions).has(name),
        ),
      }),
    };
  }

  /** The first pass: opens a source and starts to read all of its chunks. Resolves with their number when the last one has started. */
  static async read(
    importContext: ImportRunContext,
    toRead: SourceToRead,
    flow: ChunkFlow,
  ): Promise<number> {
    const { source: importSource, isCounted } = toRead;
    const { pool, signal } = importContext.context;
    let source: Source | undefined;
    let run: SourceRun | undefined;
    try {
      return await flow.feed(
        async () => {
          const file = await toRead.file();
          source = await openLocalSource(file, importSource);
          const layout = await readLayout(importSource, source, pool.threads);
          const replaceable = layout.isSmall ? await importContext.replaceable?.() : undefined;
          run = new SourceRun(importContext, toRead, file, layout, replaceable);
          toRead.opened(run);
          return chunksOf(layout, source, signal);
        },
        (chunk) => run!.#readFirst(chunk),
        { isCounted },
      );
    } finally {
      await source?.close();
    }
  }

  /** Reads the chunks again in which expressions have seen other values than with `columns`, the columns of the input over all chunks. */
  async settle(columns: Columns, read: InputFields, flow: ChunkFlow): Promise<void> {
    this.#inputs = columns;
    const knownInputs = this.#settings.inputs ?? [];
    const outdatedChunks = new Set(
      this.#results.flatMap(({ inputs, stored }, index) =>
        index <= this.#last &&
        stored > 0 &&
        seesOther(inputs ?? [], columns, { known: knownInputs, read })
          ? [index]
          : [],
      ),
    );
    if (outdatedChunks.size === 0) return;
    const settings = { ...this.#settings, inputs: columns, isFinal: true };
    await this.#readAgain(outdatedChunks, flow, (chunk) => this.#readSecond(chunk, settings, 'e'));
  }

  /** The second pass: reads the chunks again whose column types differ from the final ones. */
  async rewrite(columns: Columns, flow: ChunkFlow): Promise<void> {
    const outdatedChunks = new Set(
      this.#results.flatMap((chunk, index) =>
        index <= this.#last && chunk.stored > 0 && needsRewrite(chunk.columns, columns)
          ? [index]
          : [],
      ),
    );
    if (outdatedChunks.size === 0) return;
    const settings = this.#finalSettings(columns);
    await this.#readAgain(outdatedChunks, flow, (chunk) => this.#readSecond(chunk, settings, 'b'));
  }

  /** Writes the segments of the first chunks that together have `records` records, in a dry run. */
  async sample(columns: Columns, flow: ChunkFlow, records: number): Promise<readonly Segment[]> {
    const chunks = new Set<number>();
    for (const [index, { stored }] of this.#results.entries()) {
      if (records <= 0 || index > this.#last) break;
      if (stored > 0) chunks.add(index);
      records -= stored;
    }
    if (chunks.size === 0) return [];
    const segments: Segment[] = [];
    const settings = { ...this.#finalSettings(columns), isDryRun: false, replaceable: undefined };
    await this.#readAgain(chunks, flow, async (chunk) => {
      const { segment } = await this.#chunks.read(chunk, settings, 's', () => this.#hints);
      if (segment !== null) segments[chunk.index] = segment;
      return 'continue';
    });
    await flow.settled();
    return segments.filter((segment) => segment !== undefined);
  }

  /** Throws if the format marks the end of the records and no chunk contained it. */
  requireEnd(): void {
    const { unended } = this.layout.header;
    if (unended === undefined || this.#last < Infinity) return;
    throw new InputError({ file: this.source.name }, unended);
  }

  /** Number of chunks that were restored from an earlier attempt. */
  get restoredChunks(): number {
    return this.#chunks.restored.size;
  }

  /** The results of the chunks that have been read, in order, up to the end of the records. */
  results(): readonly ChunkResult[] {
    return this.#results.filter((chunk, index) => chunk !== undefined && index <= this.#last);
  }

  /** The number of rejected records. */
  get rejected(): number {
    return this.results().reduce((sum, chunk) => sum + chunk.rejected, 0);
  }

  /** The most records that may be rejected without failing the import. */
  get mostRejected(): number {
    const isDamaged = this.results().some((chunk) => chunk.isDamaged);
    return isDamaged ? 0 : mostRejected(this.source.validation);
  }

  /** The columns of each chunk. */
  columns(): readonly Columns[] {
    return this.results().map((chunk) => chunk.columns);
  }

  /** The columns of each chunk as they were read, if fields were computed from them. */
  inputs(): readonly Columns[] {
    return this.results().map(({ inputs }) => inputs ?? []);
  }

  /** The findings of all chunks, with line numbers of the file. */
  findings(): Findings {
    let linesBefore = this.layout.header.bodyLine;
    const parts = this.#results.flatMap(({ findings, expressionFindings, lines }, index) => {
      if (index > this.#last) return [];
      const first = this.#firstPass.get(index);
      const before = linesBefore;
      linesBefore += lines;
      // The second pass meets the errors of rejected records again.
      const parts =
        first === undefined || first.errors > 0 ? [first ?? findings] : [first, findings];
      return [...parts, expressionFindings ?? noFindings].map((part) => ({
        findings: part,
        linesBefore: before,
      }));
    });
    return settledFindings(mergeFindings(parts), this.columns());
  }

  /** The rejected records of the chunks. */
  rejecting(): RejectingSource {
    let lines = this.layout.header.bodyLine;
    const parts = this.results().flatMap(({ rejectedPart: part, lines: own }) => {
      const linesBefore = lines;
      lines += own;
      return part === null ? [] : [{ part, linesBefore }];
    });
    return { name: this.source.name, rejected: this.rejected, parts };
  }

  /** The samples for the detection of entity types; null if the source asks for none. */
  samples(): SourceSamples | null {
    const [rules, samples] = [this.#rules, this.#samples];
    return rules === null || samples === null ? null : { rules, samples: samples.result() };
  }

  async #readAgain(
    chunks: ReadonlySet<number>,
    flow: ChunkFlow,
    work: (chunk: SourceChunk) => Promise<ChunkOutcome>,
  ): Promise<void> {
    let source: Source | undefined;
    try {
      await flow.feed(
        async () => {
          source = await openLocalSource(this.file, this.source);
          return chunksOf(this.layout, source, this.#import.context.signal);
        },
        (chunk) => (chunks.has(chunk.index) ? work(chunk) : 'skip'),
        { last: Math.max(...chunks) },
      );
    } finally {
      await source?.close();
    }
  }

  async #readFirst(chunk: SourceChunk): Promise<ChunkOutcome> {
    const result = await this.#chunks.run(chunk, this.#settings, 'a', () => this.#hints);
    this.#store(chunk.index, result);
    this.#samples?.add(chunk.index, result.samples, result.hasEnded);
    this.bytesRead += chunk.bytes;
    if (result.hasEnded) this.#last = Math.min(this.#last, chunk.index);
    if (!this.#chunks.restored.has(result.index)) this.#import.chunkRead();
    if (result.hasEnded) return 'end';
    if (!this.source.validation.raiseOnErrors || result.findings.errors === 0) return 'continue';
    this.isStopped = true;
    this.#last = Math.min(this.#last, chunk.index);
    return 'stop';
  }

  /** The settings of the second pass, with the final columns. */
  #finalSettings(columns: Columns): ChunkSettings {
    const { expressions } = this.#import;
    const settings = { ...this.#settings, columns, isFinal: true };
    if (expressions === null) return settings;
    return { ...settings, inputs: readColumns(columns, this.#inputs, expressions) };
  }

  async #readSecond(
    chunk: SourceChunk,
    settings: ChunkSettings,
    pass: SegmentMark,
  ): Promise<'continue'> {
    const result = await this.#chunks.run(chunk, settings, pass, () => this.#hints);
    const first = this.#results[chunk.index];
    if (first !== undefined && !this.#firstPass.has(chunk.index))
      this.#firstPass.set(chunk.index, first.findings);
    this.#store(chunk.index, result);
    this.#samples?.addAgain(result.samples);
    return 'continue';
  }

  #store(index: number, result: ChunkResult): void {
    // The samples are left out, because their size would grow with the number of chunks.
    this.#results[index] = { ...result, samples: [] };
    if (!this.layout.reader.usesHints) return;
    for (let next; (next = this.#results[this.#hinted]) !== undefined; this.#hinted++)
      this.#hints = joinColumns(this.#hints, next.columns);
  }
}

/** The most records that the sources of an import may reject if their errors fail it; undefined if they do not. */
export function exceededLimit(runs: readonly SourceRun[]): number | undefined {
  const withErrors = runs.filter((run) => run.rejected > 0);
  if (withErrors.length === 0) return undefined;
  const mostRejectable = Math.min(...withErrors.map((run) => run.mostRejected));
  const rejectedCount = withErrors.reduce((sum, run) => sum + run.rejected, 0);
  return rejectedCount > mostRejectable ? mostRejectable : undefined;
}

function openLocalSource(
  { file }: LocalFile,
  { name, reader, readerParams }: ImportSource,
): Promise<Source> {
  return openSource(file, name, readerNamed(reader).encodingOf?.(readerParams));
}

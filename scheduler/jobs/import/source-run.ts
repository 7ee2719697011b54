import { join } from 'node:path';
import { AppError, InputError } from '../../../engine/core/errors.js';
import { mergeFindings, type Findings } from '../../../engine/ingest/findings.js';
import { joinColumns, needsRewrite } from '../../../engine/ingest/unify-columns.js';
import { flushSegment } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { readerNamed, readerOfContent } from '../../../readers/index.js';
import type { Header, Reader } from '../../../readers/reader.js';
import { openSource } from '../../../readers/source/open.js';
import type { Source } from '../../../readers/source/source.js';
import type { ChunkJob, ChunkResult, RejectedPart } from './chunk-types.js';
import type { RunContext } from '../job.js';
import type { ChunkFlow, Outcome, Piece } from './chunk-flow.js';
import { ChunkSamples } from './chunk-samples.js';
import { targetBytes } from './chunk-size.js';
import { entityRules } from './entity-rules.js';
import type { Sampled } from './detect-entities.js';
import type { ImportSource } from './source.js';
import type { RejectedBudget } from './rejected-budget.js';
import { placeOf, type Resume } from './resume.js';
import type { LocalFile } from './source-files.js';

/** What the runs of an import's sources share. */
export interface RunShare {
  readonly context: RunContext;
  readonly known: Columns;
  readonly transient: readonly string[];
  readonly commitId: number;
  readonly isUrgent: boolean;
  readonly isDryRun: boolean;
  readonly rejected: RejectedBudget;
  readonly resume: Resume | null;
  /** Something has been read. */
  tell(): void;
}

type JobBase = Omit<ChunkJob, 'ref' | 'index' | 'file' | 'rejectedBytes' | 'hints'>;

interface Opened {
  readonly source: Source;
  readonly reader: Reader;
  readonly head: Header<unknown>;
}

/** Finds the reader for a source's content, and reads its header. */
async function begin(
  { reader: name, isReaderAsked, readerParams }: ImportSource,
  source: Source,
): Promise<Opened> {
  const named = readerNamed(name);
  const reader = isReaderAsked ? named : await readerOfContent(named, source.head);
  const head = await reader.header(source.head, reader.params(readerParams));
  if (reader === named) return { source, reader, head };
  const warning = `the name stands for ${named.name} and the content is ${reader.name}: read as that; set reader_params.reader to choose`;
  return { source, reader, head: { ...head, warnings: [warning, ...head.warnings] } };
}

/** The chunks of one source: what each came to, in the order of the source. */
export class SourceRun {
  readonly source: ImportSource;
  readonly file: LocalFile;
  readonly head: Header<unknown>;
  readonly compression: Source['compression'];
  /** What is unusual about the file. */
  readonly warnings: readonly string[];
  /** An error has come, and the rest was not to be read. */
  isStopped = false;
  /** Chunks that an earlier attempt has read. */
  readonly resumed = new Set<number>();
  /** Bytes on disk that have been read. */
  bytesRead = 0;
  readonly #share: RunShare;
  readonly #reader: Reader;
  readonly #job: JobBase;
  readonly #targetBytes: number;
  readonly #fingerprints = new Map<JobBase, string>();
  /** The import's number of the first chunk. */
  readonly #firstChunk: number;
  readonly #results: ChunkResult[] = [];
  /**
   * What the first chunks came to, so many of them: all that are read already, up to the first that is not. They count whenever
   * a later one does, so what a later one stores as that comes out as it would have without.
   */
  #hints: Columns = [];
  #hinting = 0;
  readonly #rules: Sampled['rules'] | null;
  readonly #samples: ChunkSamples | null;
  /** Of chunks that were read twice: the first pass has their warnings. */
  readonly #firstPass = new Map<number, Findings>();
  /** The chunk in which the records or the reading end; what those behind it came to is dropped. */
  #last = Infinity;

  private constructor(
    share: RunShare,
    source: ImportSource,
    file: LocalFile,
    opened: Opened,
    firstChunk: number,
  ) {
    this.#share = share;
    this.source = source;
    this.file = file;
    this.head = opened.head;
    this.compression = opened.source.compression;
    this.warnings = opened.source.warnings;
    this.#reader = opened.reader;
    this.#firstChunk = firstChunk;
    this.#targetBytes = targetBytes(
      opened.source,
      share.context.pool.threads,
      opened.head.memoryPerByte,
    );
    this.#rules = entityRules(source.entityParams);
    this.#samples = this.#rules && new ChunkSamples(this.#rules.size);
    this.#job = {
      reader: opened.reader.name,
      header: opened.head.header,
      params: opened.reader.params(source.readerParams),
      // Not the header's: what a format declares gives way to its values, and its reader knows it from the header.
      columns: share.known,
      isFinal: false,
      validation: source.validation,
      transient: share.transient,
      sampling: this.#rules?.size ?? null,
      commitId: share.commitId,
      isDryRun: share.isDryRun,
    };
  }

  /**
   * Opens a source and begins to read it; `begun` gets its run before the first chunk. Resolves with the number of its
   * chunks when the last has begun.
   */
  static async read(
    share: RunShare,
    source: ImportSource,
    file: () => Promise<LocalFile>,
    flow: ChunkFlow,
    firstChunk: number,
    isCounted: boolean,
    begun: (run: SourceRun) => void,
  ): Promise<number> {
    let opened: Source | undefined;
    let run: SourceRun | undefined;
    try {
      return await flow.feed(
        async () => {
          const local = await file();
          opened = await openSource(local.file, source.name);
          run = new SourceRun(share, source, local, await begin(source, opened), firstChunk);
          begun(run);
          return run.#pieces(opened);
        },
        (piece) => run!.#first(piece),
        { isCounted },
      );
    } finally {
      await opened?.close();
    }
  }

  /** Reads the chunks again whose types lost against the others'. */
  async rewrite(columns: Columns, flow: ChunkFlow): Promise<void> {
    const losers = new Set(
      this.#results.flatMap((chunk, index) =>
        index <= this.#last && chunk.stored > 0 && needsRewrite(chunk.columns, columns)
          ? [index]
          : [],
      ),
    );
    if (losers.size === 0) return;
    const job = { ...this.#job, columns, isFinal: true };
    await this.#readAgain(losers, flow, (piece) => this.#again(piece, job));
  }

  /** Segments, in the scratch folder of a dry run, of the first chunks that together hold so many records. */
  async sample(columns: Columns, flow: ChunkFlow, records: number): Promise<readonly Segment[]> {
    const chunks = new Set<number>();
    for (const [index, { stored }] of this.#results.entries()) {
      if (records <= 0 || index > this.#last) break;
      if (stored > 0) chunks.add(index);
      records -= stored;
    }
    if (chunks.size === 0) return [];
    const segments: Segment[] = [];
    const job = { ...this.#job, columns, isFinal: true, isDryRun: false };
    await this.#readAgain(chunks, flow, async (piece) => {
      const { segment } = await this.#read(piece, job, 's');
      if (segment !== null) segments[piece.index] = segment;
      return 'go on';
    });
    await flow.settled();
    return segments.filter((segment) => segment !== undefined);
  }

  async #readAgain(
    chunks: ReadonlySet<number>,
    flow: ChunkFlow,
    work: (piece: Piece) => Promise<Outcome>,
  ): Promise<void> {
    let source: Source | undefined;
    try {
      await flow.feed(
        async () => {
          source = await openSource(this.file.file, this.source.name);
          return this.#pieces(source);
        },
        (piece) => (chunks.has(piece.index) ? work(piece) : 'skip'),
        { last: Math.max(...chunks) },
      );
    } finally {
      await source?.close();
    }
  }

  /** Throws when the format closes its records with a mark and no chunk has seen it. */
  requireEnd(): void {
    if (this.head.unended === undefined || this.#last < Infinity) return;
    throw new InputError({ file: this.source.name }, this.head.unended);
  }

  /** Which reader it was in the end: a file's content may tell otherwise than its name. */
  get readerName(): string {
    return this.#reader.name;
  }

  results(): readonly ChunkResult[] {
    return this.#results.filter((chunk, index) => chunk !== undefined && index <= this.#last);
  }

  columns(): readonly Columns[] {
    return this.results().map((chunk) => chunk.columns);
  }

  /** All findings of the chunks, with the lines of the file. */
  findings(): Findings {
    let linesBefore = this.head.bodyLine;
    const parts = this.#results.flatMap(({ findings, lines }, index) => {
      if (index > this.#last) return [];
      const first = this.#firstPass.get(index);
      const here = linesBefore;
      linesBefore += lines;
      return [...(first ? [first] : []), findings].map((part) => ({
        findings: part,
        linesBefore: here,
      }));
    });
    return mergeFindings(parts);
  }

  /** The rejected records of the chunks, each part with the number of lines before it. */
  rejectedParts(): readonly { readonly part: RejectedPart; readonly linesBefore: number }[] {
    let lines = this.head.bodyLine;
    return this.results().flatMap((chunk) => {
      const linesBefore = lines;
      lines += chunk.lines;
      return chunk.rejectedPart === null ? [] : [{ part: chunk.rejectedPart, linesBefore }];
    });
  }

  /** What entity types are looked for in; empty when none are. */
  sampled(): readonly Sampled[] {
    const [rules, samples] = [this.#rules, this.#samples];
    return rules === null || samples === null ? [] : [{ rules, samples: samples.result() }];
  }

  #pieces(source: Source): ReturnType<Source['chunks']> {
    const { header } = this.head;
    const splitter = this.#reader.splitter?.(header, this.#job.params);
    const { signal } = this.#share.context;
    return source.chunks(this.head.bodyOffset, this.#targetBytes, signal, splitter);
  }

  async #first(piece: Piece): Promise<Outcome> {
    const chunk = await this.#run(piece, this.#job, 'a');
    this.#keep(piece.index, chunk);
    this.#samples?.add(piece.index, chunk.samples, chunk.hasEnded);
    this.bytesRead += piece.bytes;
    if (chunk.hasEnded) this.#last = Math.min(this.#last, piece.index);
    if (!this.resumed.has(chunk.index)) this.#share.tell();
    if (chunk.hasEnded) return 'end';
    if (!this.source.validation.raiseOnErrors || chunk.findings.errors === 0) return 'go on';
    this.isStopped = true;
    this.#last = Math.min(this.#last, piece.index);
    return 'stop';
  }

  async #again(piece: Piece, job: JobBase): Promise<'go on'> {
    const chunk = await this.#run(piece, job, 'b');
    const first = this.#results[piece.index];
    if (first !== undefined) this.#firstPass.set(piece.index, first.findings);
    this.#keep(piece.index, chunk);
    this.#samples?.addAgain(chunk.samples);
    return 'go on';
  }

  /** Without its samples: those of all chunks would grow with the source. */
  #keep(index: number, chunk: ChunkResult): void {
    this.#results[index] = { ...chunk, samples: [] };
    if (!this.#reader.takesHints) return;
    for (let next; (next = this.#results[this.#hinting]) !== undefined; this.#hinting++)
      this.#hints = joinColumns(this.#hints, next.columns);
  }

  /** Takes over what an earlier attempt made of the piece, or has it read. */
  async #run(piece: Piece, job: JobBase, pass: string): Promise<ChunkResult> {
    const { resume } = this.#share;
    if (resume === null) return this.#read(piece, job, pass);
    const key = `${this.#fingerprint(job, resume)} ${this.#firstChunk + piece.index} ${placeOf(piece.ref)}`;
    const taken = await resume.takeChunk(key);
    if (taken !== undefined) {
      this.resumed.add(taken.index);
      this.#share.rejected.use(taken.index, taken.rejectedPart?.bytes ?? 0);
      return taken;
    }
    const chunk = await this.#read(piece, job, pass);
    await resume.noteChunk(key, chunk);
    return chunk;
  }

  #fingerprint(job: JobBase, resume: Resume): string {
    const known = this.#fingerprints.get(job);
    if (known !== undefined) return known;
    const { identity, bytes } = this.file;
    const cut = [this.#targetBytes, this.head.bodyOffset];
    const found = resume.fingerprint(this.source.name, identity, bytes, cut, job);
    this.#fingerprints.set(job, found);
    return found;
  }

  async #read(piece: Piece, job: JobBase, pass: string): Promise<ChunkResult> {
    const { context, commitId, isUrgent, rejected } = this.#share;
    const { pool, scratch, signal, attempt: taskAttempt } = context;
    const index = this.#firstChunk + piece.index;
    const name = `${commitId}-${String(index).padStart(6, '0')}`;
    const chunk = await pool.run(
      'chunk',
      // Each try has a file of its own: a dead thread may have left half of one.
      (attempt) => ({
        ...job,
        ref: piece.ref,
        hints: this.#hints,
        index,
        rejectedBytes: rejected.limitOf(index),
        file: join(scratch, `${name}-${taskAttempt}${pass}${attempt}.parquet`),
      }),
      signal,
      isUrgent,
    );
    // Here, not in the thread, which has the next chunk to read meanwhile.
    if (chunk.segment !== null) await flushSegment(join(scratch, chunk.segment.path));
    rejected.use(index, chunk.rejectedPart?.bytes ?? 0);
    const rows = chunk.segment?.rows ?? chunk.stored; // nothing is written once an error has come
    if (chunk.read !== chunk.stored + chunk.rejected || chunk.stored !== rows) {
      throw new AppError(
        'internal',
        `${this.source.name}, chunk ${index}: ${chunk.read} records read, but ${chunk.stored} stored and ${chunk.rejected} rejected`,
      );
    }
    return chunk;
  }
}

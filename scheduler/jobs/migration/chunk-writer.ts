import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import type { Columns } from '../../../engine/core/types.js';
import { maxRejectedRecords } from '../../../engine/ingest/findings.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import { needsRewrite, unifyColumns } from '../../../engine/ingest/unify-columns.js';
import type { RowBatch } from '../../../engine/query/executor/executor.js';
import { presentColumns } from '../../../engine/store/merge-segments.js';
import { flushSegment } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import { fieldsOfColumns } from '../../../engine/core/dataset-field.js';
import { errorsField } from '../../expressions/columns/record-errors.js';
import { producesRecords } from '../../expressions/columns/field-expressions.js';
import { computedNames } from '../../expressions/columns/input-columns.js';
import { ChunkSamples, type SourceSamples } from '../import/entity-samples.js';
import type { RequiredKey } from '../change/missing-keys.js';
import { locateChunks, type LocatedChunk } from '../import/located-chunks.js';
import { RejectedBudget } from '../import/rejected-budget.js';
import type { SourceRejections } from '../import/rejected-file.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import { cutRowsIntoChunks, countRows, type ChunkRows } from './chunk-rows.js';
import { gatherOrdered } from './gather-ordered.js';
import { withFinalTypes } from './column-plan.js';
import type { MigratedChunk, MigrationChunk, MigrationExpressions } from './migrate-chunk.js';
import type { MigrationParams } from './migration-types.js';

const migrateInThread = 'migrate' as ThreadJob<MigrationChunk, MigratedChunk>;

/** Numbers of records; the records that were read or made by expressions always equal the sum of those stored and rejected. */
export interface MigratedCounts {
  readonly read: number;
  /** The number of records that expressions have added to those that were read; negative if they removed some. */
  readonly made: number;
  readonly stored: number;
  readonly rejected: number;
}

/**
 * Writes the chunks of a migration in the threads of the pool, in any order, and keeps their results in the order of the query. If chunks
 * disagree about a type, or records may lack a required key, a second pass writes the affected chunks again.
 */
export class ChunkWriter {
  readonly #params: MigrationParams;
  readonly #context: RunContext;
  readonly #results: MigratedChunk[] = [];
  /** The rows of the chunks, if a second pass may be needed. */
  readonly #rows: ChunkRows[] = [];
  readonly #mayNeedSecondPass: boolean;
  readonly #samples: ChunkSamples | null;
  readonly #rejectedBudget = new RejectedBudget();
  /** The rows of the first chunk. */
  firstChunkRows: ChunkRows | undefined;
  #rowsFound = 0;
  #recordsRead = 0;
  #rejectedCount = 0;
  #isStopped = false;

  constructor(params: MigrationParams, context: RunContext) {
    this.#params = params;
    this.#context = context;
    this.#samples = params.entityDetection && new ChunkSamples(params.entityDetection.rules.size);
    this.#mayNeedSecondPass =
      params.expressions !== null ||
      requiredKeyOf(params, false) !== null ||
      params.columns.some(({ to, isCast }) => isCast && to.isDeclared !== true);
  }

  /**
   * The results of the chunks, in the order of the query; those after an error that ends the migration, or after a chunk without a result,
   * are left out.
   */
  get completedChunks(): readonly MigratedChunk[] {
    const { raiseOnErrors } = this.#params.validation;
    const gap = this.#results.findIndex((chunk) => chunk === undefined);
    const knownResults = gap === -1 ? this.#results : this.#results.slice(0, gap);
    const errorIndex = raiseOnErrors
      ? knownResults.findIndex(({ findings }) => findings.errors > 0)
      : -1;
    return errorIndex === -1 ? knownResults : knownResults.slice(0, errorIndex + 1);
  }

  /** Returns the samples for the detection of entity types; empty if the migration detects none. */
  samples(): readonly SourceSamples[] {
    const { entityDetection } = this.#params;
    if (entityDetection === null || this.#samples === null) return [];
    return [{ rules: entityDetection.rules, samples: this.#samples.result() }];
  }

  segments(): readonly Segment[] {
    return this.#results.flatMap(({ segment }) => (segment === null ? [] : [segment]));
  }

  countRecords(): MigratedCounts {
    const sumOf = (of: (chunk: MigratedChunk) => number): number =>
      this.completedChunks.reduce((total, chunk) => total + of(chunk), 0);
    // A dry run that has nothing to cast, compute, detect or change does not read the records: it only counts them.
    if (this.#readsNothing)
      return { read: this.#rowsFound, made: 0, stored: this.#rowsFound, rejected: 0 };
    return {
      read: sumOf(({ read }) => read),
      made: sumOf(({ made }) => made),
      stored: sumOf(({ stored }) => stored),
      rejected: sumOf(({ rejected }) => rejected),
    };
  }

  /** Returns the completed chunks, with their positions among the records of the query. */
  locatedChunks(): readonly LocatedChunk<MigratedChunk>[] {
    return locateChunks(this.completedChunks, this.#params.sourceName);
  }

  /** Returns the rejected records; the line of a record is its number among the records of the query, from 1 on. */
  rejectingSource(): SourceRejections {
    const parts = this.locatedChunks().flatMap(({ result: { rejectedPart: part }, before }) =>
      part === null ? [] : [{ part, linesBefore: before.lines }],
    );
    return { name: this.#params.sourceName, rejected: this.countRecords().rejected, parts };
  }

  async writeAllChunks(batches: AsyncIterable<RowBatch>): Promise<void> {
    const { snapshot, columns, expressions } = this.#params;
    const heldColumns = [...columns.map(({ to }) => to), ...(expressions?.inputs ?? [])];
    const leafCount = 2 + fieldsOfColumns(heldColumns).length;
    const chunks = cutRowsIntoChunks(batches, snapshot, leafCount);
    const isWhole = await this.#runForEach(this.#gatherChunks(chunks), async (rows, index) => {
      this.firstChunkRows ??= rows;
      this.#rowsFound += countRows(rows);
      if (this.#readsNothing) return;
      if (this.#mayNeedSecondPass) this.#rows[index] = rows;
      await this.#writeChunk(rows, index, 'a');
    });
    // A migration that fails needs no final types. A second pass would even lose errors: it does not treat warnings as errors, as strict
    // validation does in the first pass.
    const isRefused = this.countRecords().rejected > maxRejectedRecords(this.#params.validation);
    if (isWhole && !isRefused) await this.#writeAgain();
    this.#reportProgress(this.#recordsRead);
  }

  /**
   * Returns the chunks from which rows are read: those of `gatherOrdered`, unless the row numbers in the source are needed or no row is
   * read.
   */
  #gatherChunks(chunks: AsyncIterable<ChunkRows>): AsyncIterable<ChunkRows> {
    const { snapshot, columns, expressions, sourceRowColumn } = this.#params;
    if (sourceRowColumn !== null || this.#readsNothing) return chunks;
    const columnsRead = [columns.map(({ from }) => from), expressions?.inputs ?? []];
    const keptColumns = presentColumns(snapshot.columns, columnsRead);
    return gatherOrdered(chunks, { snapshot, columns: keptColumns, context: this.#context });
  }

  /** Writes the given rows as a sample for the report of a dry run. */
  async writeSampleSegment(rows: ChunkRows, final: Columns): Promise<readonly Segment[]> {
    const { segment } = await this.#migrateChunk(rows, 0, 's', this.#finalPlan(final), false);
    return segment === null ? [] : [segment];
  }

  get #readsNothing(): boolean {
    const { dryRun, change, columns, expressions, entityDetection } = this.#params;
    return (
      dryRun !== null &&
      entityDetection === null &&
      change === null &&
      expressions === null &&
      !columns.some(({ isCast }) => isCast)
    );
  }

  /**
   * Runs the second pass: writes those chunks again whose types differ from the unified types of all chunks, or whose records may lack the
   * required key.
   */
  async #writeAgain(): Promise<void> {
    const { stored, columns, expressions } = this.#params;
    if (!this.#mayNeedSecondPass) return;
    // The column `givenIdColumn`, if there is one, keeps its declaration when the types of all chunks are unified.
    const plannedColumns = [...columns.map(({ to }) => to), ...(expressions?.columns ?? [])];
    const givenColumns = plannedColumns.flatMap(({ physical }) => (physical === givenIdColumn.physical ? [givenIdColumn] : [])); // prettier-ignore
    const seenColumns = this.#results.map((chunk) => chunk.columns);
    const final = unifyColumns([...givenColumns, ...stored], seenColumns).columns;
    const outdatedChunks = this.#results.flatMap((chunk, index) =>
      chunk.stored > 0 && (chunk.mayLackKey || needsRewrite(chunk.columns, final)) ? [index] : [],
    );
    const finalPlan = this.#finalPlan(final);
    await this.#runForEach(outdatedChunks, (index) =>
      this.#writeChunk(this.#rows[index]!, index, 'b', finalPlan),
    );
  }

  /** Returns the columns and expressions with the types that are unified over all chunks. */
  #finalPlan(final: Columns): ChunkPlan {
    const { columns, expressions } = this.#params;
    const knownExpressions = expressions && {
      ...expressions,
      columns: final.filter(({ name }) => isComputedColumn(expressions, name)),
    };
    return { columns: withFinalTypes(columns, final), expressions: knownExpressions, final };
  }

  async #writeChunk(
    rows: ChunkRows,
    index: number,
    pass: 'a' | 'b',
    plan: ChunkPlan = this.#params,
  ): Promise<void> {
    const firstResult = this.#results[index];
    const result = await this.#migrateChunk(rows, index, pass, plan, this.#params.dryRun !== null);
    // The samples are not kept with the result, because their total size would grow with the number of chunks.
    const chunk = { ...result, samples: [] };
    if (firstResult === undefined) {
      this.#samples?.addChunk(index, result.samples, false);
      this.#results[index] = chunk;
      this.#reportProgress((this.#recordsRead += chunk.read));
      if (this.#params.validation.raiseOnErrors && chunk.findings.errors > 0)
        this.#isStopped = true;
      this.#rejectedCount += chunk.rejected;
    } else {
      this.#samples?.addRereadChunk(result.samples);
      // The first pass reports the warnings of a chunk; its errors are reported by the second pass if the first found none. Only the second
      // pass finds records without a key, in `keyFindings`.
      const findings =
        firstResult.findings.errors > 0 ? firstResult.findings : mergeFindings(firstResult, chunk);
      this.#results[index] = { ...chunk, findings };
    }
  }

  async #migrateChunk(
    rows: ChunkRows,
    index: number,
    pass: 'a' | 'b' | 's',
    { columns, expressions, final }: ChunkPlan,
    isDryRun: boolean,
  ): Promise<MigratedChunk> {
    const { commitId, sourceRowColumn, validation, change, entityDetection } = this.#params;
    const { pool, scratch, signal, attempt: taskAttempt } = this.#context;
    const name = `${commitId}-${String(index).padStart(6, '0')}`;
    const chunk = await pool.run(
      migrateInThread,
      // Each attempt writes a new file, because a thread that died may have left an incomplete one.
      (attempt) => ({
        rows,
        columns,
        expressions,
        index,
        commitId,
        final: final ?? null,
        sourceRowColumn,
        requiredKey: requiredKeyOf(this.#params, final !== undefined),
        isFinal: pass !== 'a',
        validation,
        file: join(scratch, `${name}-${taskAttempt}${pass}${attempt}.parquet`),
        // The sample of a dry run repeats records whose errors the first pass has already reported, so it keeps no rejected records.
        rejectedBytes: pass === 's' ? 0 : this.#rejectedBudget.byteLimitOfChunk(index),
        sampling: entityDetection && {
          ...entityDetection.rules.size,
          except: entityDetection.except,
        },
        skipsSegment: isDryRun && change === null,
      }),
      signal,
      expressions === null ? {} : { calls: this.#context.hostCalls },
    );
    if (pass !== 's') this.#rejectedBudget.recordUsedBytes(index, chunk.rejectedPart?.bytes ?? 0);
    // The main thread flushes the file, so that the pool thread can read its next chunk meanwhile.
    if (chunk.segment !== null) await flushSegment(join(scratch, chunk.segment.path));
    const writtenRows = chunk.segment?.rows ?? chunk.stored; // a dry run or an error may prevent that a segment is written
    if (chunk.read + chunk.made !== chunk.stored + chunk.rejected || chunk.stored !== writtenRows) {
      throw new AppError(
        'internal',
        `chunk ${index}: ${chunk.read} records read and ${chunk.made} made, but ${writtenRows} stored and ${chunk.rejected} rejected`,
      );
    }
    return chunk;
  }

  /**
   * Starts `work` for each item, for up to two more items at a time than there are threads, so that no thread waits while a chunk is
   * prepared. Resolves when all work has finished, with false if a chunk has stopped the migration. After a failure no further work is
   * started, and the first failure in the order of the items is thrown.
   */
  async #runForEach<T>(
    items: Iterable<T> | AsyncIterable<T>,
    work: (item: T, index: number) => Promise<void>,
  ): Promise<boolean> {
    const { pool, signal } = this.#context;
    const inProgress = new Set<Promise<void>>();
    const failures: { readonly index: number; readonly error: unknown }[] = [];
    let index = 0;
    try {
      for await (const item of items) {
        if (this.#isStopped || failures.length > 0) break;
        signal.throwIfAborted();
        const itemIndex = index++;
        const working: Promise<void> = work(item, itemIndex)
          .catch((error: unknown) => void failures.push({ index: itemIndex, error }))
          .finally(() => void inProgress.delete(working));
        inProgress.add(working);
        while (inProgress.size >= pool.threads + 2) await Promise.race(inProgress);
      }
    } finally {
      await Promise.all(inProgress);
    }
    const [firstFailure] = failures.sort((a, b) => a.index - b.index);
    if (firstFailure !== undefined) throw firstFailure.error;
    return !this.#isStopped;
  }

  #reportProgress(records: number): void {
    const { snapshot, request } = this.#params;
    const selectsAllRecords = request.predicate.kind === 'all';
    const recordsTotal = selectsAllRecords ? Math.min(snapshot.rows, request.limit) : null;
    this.#context.progress({
      records,
      recordsTotal,
      bytes: 0,
      bytesTotal: 0,
      errors: this.#rejectedCount,
    });
  }
}

/** Returns the key without which a migration rejects records; null if it rejects none for lack of a key. */
function requiredKeyOf(
  { change, validation }: MigrationParams,
  isEnforced: boolean,
): RequiredKey | null {
  if (change === null || change.idFields === null || change.mode === 'upsert') return null;
  if (maxRejectedRecords(validation) === 0) return null;
  return { fields: change.idFields, mode: change.mode, isEnforced };
}

/** The columns and expressions with which a chunk is written. */
interface ChunkPlan extends Pick<MigrationParams, 'columns' | 'expressions'> {
  /** The columns of the target with the types of all records; absent in the first pass. */
  readonly final?: Columns;
}

function isComputedColumn({ fields }: MigrationExpressions, name: string): boolean {
  return producesRecords(fields) || name === errorsField || computedNames(fields).has(name);
}

function mergeFindings(first: MigratedChunk, second: MigratedChunk): MigratedChunk['findings'] {
  const { findings } = second;
  if (findings.errors === 0) return first.findings;
  const counts = { ...first.findings.counts };
  for (const [code, count] of Object.entries(findings.counts))
    counts[code] = (counts[code] ?? 0) + count;
  return {
    counts,
    errors: findings.errors,
    warnings: first.findings.warnings + findings.warnings,
    records: findings.records,
    examples: [...first.findings.examples, ...findings.examples],
  };
}

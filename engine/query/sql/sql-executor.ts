import { AppError } from '../../core/errors.js';
import { reservedColumns } from '../../store/arrow-columns.js';
import { VerifiedFiles } from '../../store/integrity.js';
import { deletedRows, rowsOfRecords } from '../../store/deletion-vector.js';
import { liveRowCount, segmentFiles, type Snapshot, type RowRef } from '../../store/store.js';
import type { Executor, RowBatch, SelectedRows, Selection } from '../executor/executor.js';
import { withDatasetNamedInErrors, type RunOptions } from '../executor/run-options.js';
import type { RecordInspector } from '../executor/record-inspector.js';
import {
  all,
  allConditionsIn,
  freezePredicate,
  type CaseVariants,
  type Predicate,
  type ScoredCondition,
} from '../predicate/predicate.js';
import { kindOf } from '../predicate/kinds/index.js';
import { pruneSegments, liveSegmentTest } from '../predicate/kinds/prune.js';
import { materialise } from '../results/materialise.js';
import { openSegments } from '../results/row-blocks.js';
import type { ConditionWeights } from '../text/relevance.js';
import { reservedCells } from '../results/reserved-cells.js';
import { CaseVariantFinder } from './case-variant-finder.js';
import { cacheDeletedIds } from './dialect/deleted-ids.js';
import type { SqlEngine } from './sql-engine.js';
import { computeFacetAnswers } from './compute-facets.js';
import { BoundParams } from './dialect/params.js';
import { countSelectStatement, rowsSelectStatement } from './rows.js';
import { computeBm25Weights } from './bm25-weights.js';
import { SqlRecordInspector } from './sql-record-inspector.js';
import type { RunSelect, SqlSession } from './dialect/statement.js';

/** Minimum number of row references in a batch, except the last. */
const rowsPerBatch = 16_384;

/** The executor that answers by SQL over the snapshot's Parquet files. It supports every query. */
export class SqlExecutor implements Executor {
  readonly engine: SqlEngine;
  readonly #caseVariants: CaseVariantFinder;
  readonly #files = new VerifiedFiles();

  constructor(engine: SqlEngine) {
    this.engine = engine;
    this.#caseVariants = new CaseVariantFinder(engine);
  }

  /** Returns true if statements return row numbers; false if they return `_id`s. */
  hasRowNumbers({ columns }: Snapshot): boolean {
    return this.engine.language(columns).rowRef().type === 'long';
  }

  /** Begins a query: compares the files with their checksums, finds case variants and prunes segments. */
  async #session(
    snapshot: Snapshot,
    predicate: Predicate,
    options: RunOptions,
  ): Promise<SqlSession> {
    await withDatasetNamedInErrors(snapshot, () => this.#files.check(snapshot));
    if (!this.hasRowNumbers(snapshot)) cacheDeletedIds(snapshot, (segment) => readDeletedIds(snapshot, segment)); // prettier-ignore
    const rows: RunSelect = async ({ sql, params }) => {
      try {
        return await this.engine.run(sql, params, options);
      } catch (error) {
        throw (await this.#patternError(snapshot, predicate, error)) ?? error;
      }
    };
    const findCaseVariants = (other: Predicate): Promise<CaseVariants> =>
      this.#caseVariants.find(snapshot, other, rows);
    const caseVariants = await findCaseVariants(predicate);
    const scope = pruneSegments(snapshot, predicate, caseVariants);
    return { language: this.engine.language, scope, caseVariants, rows, findCaseVariants };
  }

  async weigh(
    snapshot: Snapshot,
    conditions: readonly ScoredCondition[],
    options: RunOptions,
  ): Promise<ConditionWeights> {
    const { language, rows } = await this.#session(snapshot, all, options);
    return computeBm25Weights(snapshot, conditions, language, rows);
  }

  async select(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<SelectedRows> {
    const { predicate, facets, limit, cursor } = selection;
    const session = await this.#session(snapshot, predicate, options);
    const { language, caseVariants } = session;
    const facetCounting = facets
      ? computeFacetAnswers({ ...session, snapshot: session.scope, predicate }, facets)
      : undefined;
    // The promise is awaited later; without this handler, a failing page would leave its rejection unhandled.
    facetCounting?.catch(() => undefined);
    // Cursor positions refer to the files of the whole snapshot, so no segment may be pruned.
    const scope = cursor ? snapshot : session.scope;
    const page = rowsSelectStatement(scope, selection, caseVariants, language);
    const foundRows = limit === 0 || scope.rows === 0 ? [] : await session.rows(page);
    const rows = await this.#refs(snapshot, scope, foundRows.map(page.rowOf));
    const countedFacets = await facetCounting;
    const total =
      countedFacets?.total ?? (await this.#total(session, snapshot, selection, rows.length));
    const last = foundRows.at(-1);
    return {
      total,
      rows,
      facets: countedFacets?.facets ?? null,
      ...(cursor && last && { position: page.positionOf(last) }),
    };
  }

  inspect(snapshot: Snapshot, predicate: Predicate, options: RunOptions): RecordInspector {
    return new SqlRecordInspector(snapshot, () => this.#session(snapshot, predicate, options));
  }

  async find(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<AsyncIterable<RowBatch>> {
    const { cursor: _, ...rest } = selection;
    const { scope, caseVariants, language } = await this.#session(
      snapshot,
      rest.predicate,
      options,
    );
    const page = rowsSelectStatement(scope, rest, caseVariants, language);
    return this.#batches(snapshot, scope, page, options);
  }

  async *#batches(
    snapshot: Snapshot,
    scope: Snapshot,
    page: ReturnType<typeof rowsSelectStatement>,
    options: RunOptions,
  ): AsyncGenerator<RowBatch> {
    if (scope.rows === 0) return;
    let waitingRows: (RowRef | string)[] = [];
    for await (const rows of this.engine.stream(page.sql, page.params, options)) {
      for (const row of rows) waitingRows.push(page.rowOf(row));
      if (waitingRows.length < rowsPerBatch) continue;
      yield { refs: await this.#refs(snapshot, scope, waitingRows) };
      waitingRows = [];
    }
    if (waitingRows.length > 0) yield { refs: await this.#refs(snapshot, scope, waitingRows) };
  }

  /** Converts row references in `scope`, or ids, to row references in `snapshot`. */
  async #refs(
    snapshot: Snapshot,
    scope: Snapshot,
    rows: readonly (RowRef | string)[],
  ): Promise<readonly RowRef[]> {
    if (typeof rows[0] === 'string') return findRowsByIds(snapshot, rows as readonly string[]);
    if (scope.segments === snapshot.segments) return rows as readonly RowRef[];
    const index = new Map(snapshot.segments.map((segment, i) => [segment, i]));
    return (rows as readonly RowRef[]).map(([segment, row]) => [
      index.get(scope.segments[segment]!)!,
      row,
    ]);
  }

  /** Returns the number of matches; runs no statement if the page, the cursor or the predicate determines it. */
  async #total(
    { scope, rows, caseVariants, language }: SqlSession,
    snapshot: Snapshot,
    { predicate, cursor, limit, offset }: Selection,
    found: number,
  ): Promise<number> {
    if (predicate.kind === 'all') return snapshot.rows;
    if (predicate.kind === 'none') return 0;
    if (cursor && cursor.total !== null) return cursor.total;
    if (limit > found && (found > 0 || offset === 0)) return offset + found;
    const [row] = await rows(countSelectStatement(scope, predicate, caseVariants, language));
    return Number(row?.[0] ?? 0);
  }

  /**
   * Returns the `invalid` error that names the pattern, if the engine rejected a pattern that passed validation, for example because of its
   * size.
   */
  async #patternError(
    { columns }: Snapshot,
    predicate: Predicate,
    cause: unknown,
  ): Promise<AppError | undefined> {
    const dialect = this.engine.language(columns);
    const problemOf = (error: unknown): string | undefined =>
      dialect.patternProblem(String((error as { message?: unknown } | null)?.message ?? ''));
    if (problemOf(cause) === undefined) return undefined;
    for (const pattern of regexpPatternsOf(predicate)) {
      const params = new BoundParams(dialect.bound);
      const bound = params.add('string', dialect.wholePattern(pattern));
      try {
        const test = dialect.matchesWhole(dialect.literal(''), bound);
        await this.engine.run(`SELECT ${test}`, params.boundValues);
      } catch (error) {
        const message = `Unsupported regular expression ${JSON.stringify(pattern)}: ${problemOf(error) ?? String(error)}`;
        return new AppError('invalid', message, { filters: [message] }, cause);
      }
    }
    return undefined;
  }
}

/**
 * Returns the rows of the records with these ids, in the order of `ids`; unknown ids are left out. Reads the ids of segments whose
 * statistics allow one of them, until all are found.
 */
function findRowsByIds(snapshot: Snapshot, ids: readonly string[]): readonly RowRef[] {
  const field = { name: '_id', path: ['_id'], type: 'string' } as const;
  const mayHold = liveSegmentTest(
    freezePredicate({ kind: 'in', field, values: [...ids], ignoreCase: false }),
  );
  const missingIds = new Set(ids);
  const rowsById = new Map<string, RowRef>();
  const projection = [{ column: reservedColumns[0]!, isStored: true }];
  const source = openSegments(segmentFiles(snapshot));
  try {
    for (const [segment, stored] of snapshot.segments.entries()) {
      const { deletion } = stored;
      if (missingIds.size === 0) break;
      if (!mayHold(stored)) continue;
      const live = rowsOfRecords(deletion, 0, liveRowCount(stored));
      const refs = Array.from(live, (row): RowRef => [segment, row]);
      for (const [i, [id]] of materialise(source, refs, projection, 'cells').entries())
        if (missingIds.delete(id!)) rowsById.set(id!, refs[i]!);
    }
  } finally {
    source.close();
  }
  return ids.flatMap((id) => {
    const row = rowsById.get(id);
    return row ? [row] : [];
  });
}

function readDeletedIds(snapshot: Snapshot, segment: number): readonly string[] {
  const rows = deletedRows(snapshot.segments[segment]!.deletion!);
  const refs = Array.from(rows, (row): RowRef => [segment, row]);
  return reservedCells(snapshot, refs).map((cells) => cells.join('/'));
}

function regexpPatternsOf(predicate: Predicate): readonly string[] {
  return allConditionsIn(predicate).flatMap((one) => kindOf(one).regularExpressions?.(one) ?? []);
}

import type { Column, Columns } from '../../core/types.js';
import type { FilterHash } from '../../parquet/bloom-filter.js';
import type { RowTest } from '../memory/match/row-test.js';
import type { Statement } from '../sql/statement.js';
import type { Cost } from './cost.js';
import type { PlainTest } from './plain-values.js';
import type { CaseVariants, FieldRef, Predicate } from './predicate.js';
import type { Statistic } from './value-bounds.js';

/**
 * Everything the platform knows about one kind of predicate. The registry (kinds.ts) holds one entry per kind; the planner, both
 * executors, pruning, search and `explain` walk the tree and ask the entries.
 *
 * An entry never calls itself for the items of a combinator: every context has the recursion of its own operation.
 */
export interface PredicateKind<P extends Predicate> {
  /** The fields that the predicate reads. */
  fields(predicate: P, fieldsOf: (item: Predicate) => readonly FieldRef[]): readonly FieldRef[];
  /** The estimated cost of evaluating it over columns in memory. */
  cost(predicate: P, costOf: (item: Predicate) => Cost): Cost;
  /** Whether the memory executor evaluates it over the columns of a dataset. */
  memorySupport(predicate: P, context: SupportContext): MemorySupport;
  /** Returns false for segments in which no record satisfies the predicate, by the statistics of the log. */
  mayHold(predicate: P, context: PruneContext): SegmentTest;
  /** Returns true only for segments in which every record satisfies the predicate, by the statistics of the log. */
  mustHold(predicate: P, context: PruneContext): SegmentTest;
  /** The SQL condition. It may be null, instead of false, where a value is missing. */
  sql(predicate: P, context: SqlContext): string;
  /** The SQL condition of the negated predicate, where that is not `(sql) IS NOT TRUE`. */
  negatedSql?(predicate: P, context: SqlContext): string;
  /** Evaluates the predicate over columns in memory; prepared for one query. */
  memory(predicate: P, context: MemoryContext): RowTest;
  /** Evaluates the predicate over documents of the catalogue, for search. */
  document<D>(predicate: P, context: DocumentContext<D>): (document: D) => boolean;
  /** Strings that every matching value contains in some letter case; search asks the catalogue for these first. */
  requiredStrings(predicate: P): readonly string[];
  /** A short description in English, for `explain` and the log. */
  describe(predicate: P, describe: (item: Predicate) => string): string;
}

/** Whether an executor evaluates a predicate, and if not, why. */
export type MemorySupport =
  | { readonly supported: true }
  | {
      readonly supported: false;
      /** A sentence without its full stop. */
      readonly reason: string;
    };

export const supported: MemorySupport = Object.freeze({ supported: true });

/** The memory executor does not evaluate a predicate; `reason` is a sentence without its full stop. */
export function unsupportedBecause(reason: string): MemorySupport {
  return { supported: false, reason };
}

/** The context for `memorySupport`. */
export interface SupportContext {
  /** The column of a field in the dataset's schema; undefined if no record stores the field. */
  column(field: FieldRef): Column | undefined;
  /** True if every segment has an index of the terms of this field. */
  hasTextIndex(field: FieldRef): boolean;
  memorySupport(item: Predicate): MemorySupport;
}

/** Rows that are stored together and have statistics in common: a segment, or a page of its leaves. */
export interface StoredRows {
  readonly rows: number;
  readonly columns: Columns;
  /** Statistics by `leafKey`; bounds that are not known are absent. */
  readonly stats: Readonly<
    Record<
      string,
      {
        readonly nulls: number;
        readonly min?: Statistic;
        readonly max?: Statistic;
        /** False for the hash of a string that is certainly not among the values. */
        readonly mayContain?: (hash: FilterHash) => boolean;
        /** False for bytes that certainly none of the strings contains; it reads the strings' page. */
        readonly mayHoldBytes?: (bytes: Buffer) => boolean;
      }
    >
  >;
  /** Whether variants name their positions, as in `Segment`. */
  readonly areVariantsPlaced?: boolean;
}

/** A decision about a segment or a page by its statistics alone. */
export type SegmentTest = (rows: StoredRows) => boolean;

/** The context for pruning. */
export interface PruneContext {
  readonly caseVariants: CaseVariants;
  mayHold(item: Predicate): SegmentTest;
  mustHold(item: Predicate): SegmentTest;
}

/** The statement that a condition becomes part of. */
export interface SqlContext {
  readonly statement: Statement;
  sql(item: Predicate): string;
  negatedSql(item: Predicate): string;
  /** The context for conditions on an element of a list (`inElement`). */
  within(statement: Statement): SqlContext;
}

/** Preparation for the memory executor. */
export interface MemoryContext {
  rowTest(item: Predicate): RowTest;
  costOf(item: Predicate): Cost;
}

/** How the values of documents of type `D` are read. */
export interface DocumentContext<D> {
  matches(item: Predicate): (document: D) => boolean;
  /** Holds for documents of which any value of the field passes the test. */
  anyValue(field: FieldRef, test: PlainTest): (document: D) => boolean;
  /** Holds for documents of which the number of the field's values passes the test. */
  valueCount(field: FieldRef, test: (count: number) => boolean): (document: D) => boolean;
}

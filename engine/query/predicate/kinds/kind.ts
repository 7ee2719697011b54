import type { Column, Columns } from '../../../core/types.js';
import type { FilterHashes } from '../../../parquet/bloom-filter.js';
import type { RowTest } from '../../memory/match/row-test.js';
import type { Statement } from '../../sql/dialect/statement.js';
import type { ConditionCost } from '../predicate-cost.js';
import type { PlainTest } from '../plain-values.js';
import type { CaseVariants, FieldRef, Predicate, RangeEnd, Scalar } from '../predicate.js';
import type { BoundStatistic } from '../value-bounds.js';

/**
 * The definition of one kind of predicate. The table (index.ts) holds one entry per kind; the planner, the executors that evaluate
 * conditions, pruning, search and `explain` walk the tree of a predicate and call the entries.
 *
 * An entry never calls itself for the items of a combinator: each operation passes its own recursive function.
 */
export interface PredicateKind<P extends Predicate> {
  /** Returns the fields that the predicate reads. */
  fields(predicate: P, fieldsOf: (item: Predicate) => readonly FieldRef[]): readonly FieldRef[];
  /** Returns the estimated cost of evaluating the predicate over columns in memory. */
  cost(predicate: P, costOf: (item: Predicate) => ConditionCost): ConditionCost;
  /**
   * Returns true if the predicate is evaluated on whole segments only, and not on single pages: it reads the elements of a list of objects,
   * or what the text index finds.
   */
  needsWholeSegment(predicate: P, needsWholeSegment: (item: Predicate) => boolean): boolean;
  /** Returns whether the memory executor evaluates the predicate over the columns of a dataset. */
  memorySupport(predicate: P, context: SupportContext): MemorySupport;
  /** Returns a test that is false only for stored rows of which, by their statistics, none satisfies the predicate. */
  mayHold(predicate: P, context: PruneContext): SegmentTest;
  /** Returns a test that is true only for stored rows all of which, by their statistics, satisfy the predicate. */
  mustHold(predicate: P, context: PruneContext): SegmentTest;
  /**
   * Returns a function that counts the records of a segment without deleted rows that satisfy the predicate, by the statistics of the log,
   * or returns undefined if these do not tell; absent if statistics tell no more than `mayHold` and `mustHold`.
   */
  countByStatistics?(predicate: P, context: CountContext): (rows: StoredRows) => number | undefined;
  /** Returns a string that every matching value contains in this letter case; absent or empty if none is known. */
  literal?(predicate: P): string;
  /** True if the memory executor looks up values by their hashes if the column has a hash table. */
  readonly isLookedUpByHash?: true;
  /** Returns the SQL condition. Its value may be null instead of false if a value is missing. */
  sql(predicate: P, context: SqlContext): string;
  /** Returns the SQL condition of the negated predicate; absent if that is `(sql) IS NOT TRUE`. */
  negatedSql?(predicate: P, context: SqlContext): string;
  /**
   * Returns true if the SQL engine may evaluate the predicate by a join, which may not keep the order of the files: DuckDB uses a join for
   * every list of five or more values, and then sometimes returns records of a later file first. Absent if it never does.
   */
  mayNeedJoin?(predicate: P, caseVariants: CaseVariants): boolean;
  /** Returns the strings one of which every matching value equals in some letter case; absent or empty if letter case counts. */
  valuesInAnyCase?(predicate: P): readonly string[];
  /** Returns the regular expressions of a request that the SQL engine has to compile; absent for kinds that have none. */
  regularExpressions?(predicate: P): readonly string[];
  /** Returns a test that evaluates the predicate over columns in memory, prepared for one query. */
  memory(predicate: P, context: MemoryContext): RowTest;
  /** Returns a function that evaluates the predicate over documents of the catalog, for search. */
  document<D>(predicate: P, context: DocumentContext<D>): (document: D) => boolean;
  /** Returns what the predicate requires of its field. Searches narrow the catalog by it, and `explain` derives causes from it. */
  requirement(predicate: P): Requirement;
  /**
   * Returns a function that counts the matches in a text (a wildcard pattern counts at most once), for the relevance of documents; absent
   * for kinds that have no score.
   */
  occurrences?(predicate: P): (text: string) => number;
  /** Returns a short description in English, for `explain` and the log. */
  describe(predicate: P, describe: (item: Predicate) => string): string;
}

/**
 * What a predicate requires of its field, as plain data. A part is absent if the kind of predicate does not require it; for a combinator,
 * all parts are absent.
 */
export interface Requirement {
  /** The values one of which the value equals, in any letter case if the predicate ignores it. */
  readonly values?: readonly Scalar[];
  /** The ends of the range in which the value lies; null if it has no such end. */
  readonly ends?: { readonly low: RangeEnd | null; readonly high: RangeEnd | null };
  /** The string with which the value starts. */
  readonly start?: string;
  /** Strings that the value contains in some letter case. */
  readonly strings?: readonly string[];
  /** The text that the value contains. Values similar to it may be meant. */
  readonly text?: string;
  /** The genome build of the region or variant, in upper case. */
  readonly build?: string;
  /** True if the field has no value. */
  readonly isMissing?: true;
  /** The condition that one element of a list of objects satisfies. */
  readonly element?: { readonly list: FieldRef; readonly item: Predicate };
}

/** Whether the memory executor evaluates a predicate, and if not, why. */
export type MemorySupport =
  | { readonly supported: true }
  | {
      readonly supported: false;
      /** The reason as a sentence without its period. */
      readonly reason: string;
    };

export const supported: MemorySupport = Object.freeze({ supported: true });

/** Returns that the memory executor does not evaluate a predicate; `reason` is a sentence without its period. */
export function unsupportedBecause(reason: string): MemorySupport {
  return { supported: false, reason };
}

/** What `memorySupport` may ask about the dataset. */
export interface SupportContext {
  /** Returns the column of a field in the dataset's schema; undefined if the schema has none. */
  column(field: FieldRef): Column | undefined;
  /** Returns true if segments have an index of the terms of this field, as far as the schema shows; single segments may lack it. */
  hasTextIndex(field: FieldRef): boolean;
  memorySupport(item: Predicate): MemorySupport;
}

/** Rows that are stored together and share statistics: a segment, a row group, or a page. */
export interface StoredRows {
  readonly rows: number;
  readonly columns: Columns;
  /** Statistics by `leafKey`; what is unknown is absent. */
  readonly stats: Readonly<
    Record<
      string,
      {
        readonly nulls?: number;
        readonly min?: BoundStatistic;
        readonly max?: BoundStatistic;
        /** Returns false if certainly none of the strings with these hashes is among the values. */
        readonly mayContainAny?: (hashes: FilterHashes) => boolean;
        /** ASCII characters with which all values begin, as in `SegmentColumnChunk`. */
        readonly prefix?: string;
        /** Returns false if certainly none of the strings contains the bytes; the function reads the pages of the column chunk. */
        readonly mayHoldBytes?: (bytes: Buffer) => boolean;
      }
    >
  >;
  /** Whether the names of variants contain their positions, as in `Segment`. */
  readonly areVariantsPlaced?: boolean;
}

/** A decision about rows that are stored together, by their statistics. */
export type SegmentTest = (rows: StoredRows) => boolean;

/** What the pruning functions of a predicate kind may use. */
export interface PruneContext {
  readonly caseVariants: CaseVariants;
  mayHold(item: Predicate): SegmentTest;
  mustHold(item: Predicate): SegmentTest;
}

/** What `countByStatistics` may use for the items of a combinator. */
export interface CountContext {
  countByStatistics(item: Predicate): (rows: StoredRows) => number | undefined;
}

/** The context for building an SQL condition: the statement that it becomes part of. */
export interface SqlContext {
  readonly statement: Statement;
  sql(item: Predicate): string;
  negatedSql(item: Predicate): string;
  /** Returns the context for conditions on an element of a list (`elementStatement`). */
  within(statement: Statement): SqlContext;
}

/** What a predicate kind may use to prepare a test for the memory executor. */
export interface MemoryContext {
  rowTest(item: Predicate): RowTest;
  costOf(item: Predicate): ConditionCost;
}

/** Functions that read the values of documents of type `D`. */
export interface DocumentContext<D> {
  matches(item: Predicate): (document: D) => boolean;
  /** Returns a function that is true for documents in which any value of the field passes the test. */
  anyValue(field: FieldRef, test: PlainTest): (document: D) => boolean;
  /** Returns a function that is true for documents in which the number of the field's values passes the test. */
  valueCount(field: FieldRef, test: (count: number) => boolean): (document: D) => boolean;
}

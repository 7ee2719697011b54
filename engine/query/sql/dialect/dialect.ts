import type { Snapshot } from '../../../store/store.js';
import type { Column, Columns, StoredType } from '../../../core/types.js';
import type { DateUnit } from '../../request/facet-bins.js';
import type { BoundParams, ParamType } from './params.js';

/** Creates the dialect of an SQL engine for a statement over these columns. */
export type DialectFactory = (columns: Columns) => Dialect;

/**
 * The SQL of one engine: functions that return the text of expressions. What becomes part of such a text is a placeholder, another SQL
 * expression, a number, or a name of the dataset's schema; never text from a request.
 */
export interface Dialect {
  /** The placeholder of a bound value; numbers start at 1. */
  bound(number: number, type: ParamType, isList: boolean): string;
  /** The name of the relation of records. */
  readonly relation: string;
  /** The records of a snapshot as a relation named `relation`, for a FROM clause. */
  source(snapshot: Snapshot, params: BoundParams): string;
  /** True if a statement that only filters, and evaluates no condition by a join, returns records in insertion order without ORDER BY. */
  readonly keepsOrder: boolean;
  /** SQL for the row id of a record; present if the snapshot's records are ordered by row id, not by `insertionOrder`. */
  readonly rowId?: string | undefined;
  /** The ORDER BY list for insertion order: by files and their rows, or by `_id`. */
  insertionOrder(): string;
  /** SQL that refers to a row: the index of its file in the snapshot and the row number; if there are no row numbers, 0 and the `_id`. */
  rowRef(): { readonly file: string; readonly row: string; readonly type: 'long' | 'string' };

  column(name: string): string;
  member(object: string, name: string): string;
  /** Returns a text of the schema as an SQL string literal. */
  literal(text: string): string;

  each(list: string, expression: (element: string) => string): string;
  flatten(list: string): string;
  some(list: string, test: (element: string) => string): string;
  /** SQL that is true if an element of the list passes the test, which, unlike that of `some`, may contain subqueries. */
  someRow(list: string, test: (element: string) => string): string;
  listHas(list: string, value: string): string;
  /** SQL that is true if the value is missing, and never null; the column's `isList` is ignored. */
  missing(value: string, column: Column): string;
  /** SQL that is true if the value is present, and never null; the column's `isList` is ignored. */
  present(value: string, column: Column): string;
  /** SQL that is true if all elements of the list are missing, and never null; the column's `isList` is ignored. */
  listMissing(list: string, column: Column): string;
  /** SQL for the number of elements of the list that are not missing, never null; the column's `isList` is ignored. */
  listCount(list: string, column: Column): string;
  smallest(list: string): string;
  largest(list: string): string;
  /** Unnests the distinct elements of a list. */
  spread(list: string): string;
  /** Unnests all elements of a list. */
  spreadAll(list: string): string;

  /** A condition that holds if the value equals one of the bound values, which are of type `type`. */
  isOneOf(value: string, placeholders: readonly string[], type: ParamType): string;
  /** A condition that holds if the bound list, whose values have this type, contains the value; `isFolded` ignores case. */
  isInList(value: string, list: string, type: ParamType, isFolded: boolean): string;
  /** A condition that holds if the bound list, whose values have this type, contains an element of `values`; `isFolded` ignores case. */
  someInList(values: string, list: string, type: ParamType, isFolded: boolean): string;
  /** A condition that is true if the text contains a character outside ASCII, or a letter of the other case than `letters`. */
  isNotAsciiInCase(text: string, letters: 'upper' | 'lower'): string;
  /** The text in lower case. Stored and bound values are folded by the same function. */
  fold(text: string): string;
  contains(text: string, part: string): string;
  startsWith(text: string, start: string): string;
  /** Returns the value to bind as the pattern of `matchesWhole`. */
  wholePattern(pattern: string): string;
  matchesWhole(text: string, pattern: string): string;
  /** Returns the problem with a pattern, taken from the error message of a statement; undefined for other errors. */
  patternProblem(message: string): string | undefined;
  matches(text: string, pattern: string): string;
  /** The build (1), chromosome (2, without `chr`), start (3) or stop (4) in the text of a region or variant; empty for other texts. */
  regionPart(text: string, part: number): string;
  /** The text as a 64-bit integer; null if it is not one. */
  wholeNumber(text: string): string;
  /** The text as a double; null if it is not a number. */
  number(text: string): string;
  /** The number of terms of a text. */
  textLength(text: string): string;
  /** The edit distance of two texts in bytes; null if their lengths differ by more than `most`. */
  editDistance(text: string, other: string, most: number): string;
  /** Number of matches of `pattern` in the terms of `text`, which are joined with a slash on each side of a term: `/breast//cancer/`. */
  phraseCount(text: string, pattern: string): string;
  /** SQL for 1 if the condition is true, else 0. */
  indicator(condition: string): string;

  /**
   * SQL for the JSON text of a scalar; doubles have enough digits to read back as the same number; null for null, NaN and the infinities.
   */
  json(value: string, type: StoredType): string;
  joinList(list: string): string;

  /**
   * The keyword between the name and the statement of a WITH relation, which decides whether its rows are materialised or it is evaluated
   * for every use.
   */
  with(isMaterialised: boolean): string;
  /** SQL for a JSON array of JSON texts, in which null elements become `null`. Never null. */
  jsonArray(texts: readonly string[]): string;
  /** Number of distinct values in a group; -0 equals 0. */
  countDistinct(value: string, type: StoredType): string;
  /**
   * The sum of a group's values of a numeric column, exact for integers; null without a value. It overflows only if the sum exceeds the
   * range of doubles.
   */
  sum(value: string, type: StoredType): string;
  /** The mean of a group's values as a double; null without a value. */
  mean(value: string, type: StoredType): string;
  /** The sum of the squares of a group's values as doubles; null without a value. */
  sumOfSquares(value: string): string;
  /**
   * A value near the mean of a group's values, as an expression over the rows of all groups; `keys` are the columns that identify the
   * groups.
   */
  pivot(value: string, type: StoredType, keys: readonly string[]): string;
  /**
   * The population variance of a group's values as a double, computed from their differences from the group's `pivot`; null without a
   * value.
   */
  variance(value: string, pivot: string, type: StoredType): string;
  /** The quantiles of a group's values at these fractions, by linear interpolation: a list of doubles, indexed from 1. */
  quantiles(value: string, fractions: string): string;

  /** The start of the unit that contains the date, in UTC. Weeks start on Monday. */
  truncate(date: string, unit: DateUnit): string;
  /** The integer floor of `value * factor / divisor`, exact. The value is an integer; factor and divisor are positive longs. */
  floorDivide(value: string, factor: string, divisor: string): string;
  /**
   * The largest edge of a bin at or below a number, as a double. Edge `i` is the double `i * numerator / denominator`, both of which are
   * positive doubles. A number whose absolute value is 2^50 bins or more is its own edge.
   */
  floorEdge(value: string, numerator: string, denominator: string): string;
  /**
   * The bin of a number on a logarithmic scale, with the sign of the number; 0 for zero. It is the index, counted from 1, of the last of
   * the ascending bound list `starts` that is at or below the absolute value. Start `i` is 10 to the power of `(first + i - 1) * step`,
   * rounded up if the number is an integer (`isWhole`), so that the comparison of integers is exact. The first start is at or below every
   * absolute value except zero.
   */
  powerBin(value: string, isWhole: boolean, starts: string, first: string, step: string): string;
}

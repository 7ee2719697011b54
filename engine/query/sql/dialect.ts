import type { Snapshot } from '../../store/store.js';
import type { Column, Columns, StoredType } from '../../core/types.js';
import type { DateUnit } from '../request/facet-bins.js';
import type { Params, ParamType } from './params.js';

/** Makes the dialect of an engine for one statement over these columns. */
export type Language = (columns: Columns) => Dialect;

/**
 * The SQL of one engine, as text of expressions. Every argument is SQL that this folder has made: a place of a bound value, an
 * expression, or a name of the dataset's own schema; never text from a request.
 */
export interface Dialect {
  /** How the statement refers to its bound value of this number, counted from 1. */
  bound(number: number, type: ParamType, isList: boolean): string;
  /** The name of the records' relation, inside of a page and outside. */
  readonly relation: string;
  /** The records of a snapshot, as the relation of that name. */
  source(snapshot: Snapshot, params: Params): string;
  /** True if records come in insertion order by themselves, where a statement does nothing but test conditions. */
  readonly keepsOrder: boolean;
  /** What puts records into insertion order: the list behind ORDER BY. */
  insertionOrder(): string;
  /** Where a record stands: which file of the snapshot, and which row of it; an id (file 0) where rows have no number. */
  place(): { readonly file: string; readonly row: string; readonly type: 'long' | 'string' };

  column(name: string): string;
  member(object: string, name: string): string;
  /** Text of the schema (a JSON key) as a literal. */
  literal(text: string): string;

  each(list: string, expression: (element: string) => string): string;
  flatten(list: string): string;
  some(list: string, test: (element: string) => string): string;
  listHas(list: string, value: string): string;
  /** True if there is no value of this column, whose own `isList` does not count; never null. */
  missing(value: string, column: Column): string;
  /** The opposite. */
  present(value: string, column: Column): string;
  /** True if the list holds no value of this column, whose own `isList` does not count; never null. */
  listMissing(list: string, column: Column): string;
  /** Number of values of this column in the list, whose own `isList` does not count; never null. */
  listCount(list: string, column: Column): string;
  smallest(list: string): string;
  largest(list: string): string;
  /** The distinct values of a list, one row each. */
  spread(list: string): string;
  /** Every element of a list, one row each. */
  spreadAll(list: string): string;

  /** True of a value that equals one of the bound ones, which are of this type. */
  isOneOf(value: string, places: readonly string[], type: ParamType): string;
  /** True of a value that the bound list of this type holds, or that it holds but for letter case. */
  isInList(value: string, list: string, type: ParamType, isFolded: boolean): string;
  /** The same of any element. */
  someInList(values: string, list: string, type: ParamType, isFolded: boolean): string;
  /** True of a text that is not all ASCII in this letter case. */
  isNotWritten(text: string, letters: 'upper' | 'lower'): string;
  /** Lower case; the same function folds stored values and bound ones. */
  fold(text: string): string;
  contains(text: string, part: string): string;
  startsWith(text: string, start: string): string;
  /** The value to bind for a pattern that `matchesWhole` takes. */
  wholePattern(pattern: string): string;
  matchesWhole(text: string, pattern: string): string;
  /** What is wrong with a pattern, from the message of a failed statement; undefined if that says something else. */
  patternProblem(message: string): string | undefined;
  matches(text: string, pattern: string): string;
  /** The build (1), chromosome (2, without `chr`), start (3) or stop (4) in the text of a region; empty if there is none. */
  regionPart(text: string, part: number): string;
  /** The whole number that a text is; null if it is none. */
  wholeNumber(text: string): string;
  /** The number that a text is; null if it is none. */
  number(text: string): string;
  /** How many words a text has. */
  textLength(text: string): string;
  /** How many bytes to change, insert or leave out to make one text of the other; null if their lengths differ by more than `most`. */
  editDistance(text: string, other: string, most: number): string;
  /** How often `pattern` matches in the words of `text` with a slash on either side of each: `/breast//cancer/`. */
  phraseCount(text: string, pattern: string): string;
  /** How often `pattern` matches in `text`. */
  patternCount(text: string, pattern: string): string;
  /** 1 where the condition holds, else 0. */
  indicator(condition: string): string;

  /** JSON text of a scalar, doubles with enough digits to read back the same number; null if there is none. */
  json(value: string, type: StoredType): string;
  joinList(list: string): string;

  /** What stands between the name of a relation in a WITH clause and its statement: whether to keep its rows, or run it wherever it is named. */
  with(isKept: boolean): string;
  /** JSON text of a list of JSON texts, with `null` for one that is null; never null itself. */
  jsonArray(texts: readonly string[]): string;
  /** How many different values a group has; -0 is no other than 0. */
  countDistinct(value: string, type: StoredType): string;
  /** The sum of a group's values of a numeric column, and their mean as a double; null without a value. Sums of whole numbers are exact. */
  sum(value: string, type: StoredType): string;
  mean(value: string, type: StoredType): string;
  /** The sum of the squares of a group's values as doubles; null without a value. */
  sumOfSquares(value: string): string;
  /** The population variance of a group's values as doubles; null without a value, and where a value is 1e145 or more in size. */
  variance(value: string): string;
  /** The quantiles of a group's values as doubles at these fractions, by linear interpolation: a list counted from 1. */
  quantiles(value: string, fractions: string): string;

  /** The first moment of the unit, of weeks Monday, in UTC. */
  truncate(date: string, unit: DateUnit): string;
  /** Of a whole number: the largest whole number at or below `value * factor / divisor`, exact; both are positive longs. */
  floorDivide(value: string, factor: string, divisor: string): string;
  /**
   * Of any number, as a double: the largest edge at or below it, where edge `i` is the double `i * numerator / denominator`. A value
   * of 2^50 intervals or more is its own edge. Both are positive doubles.
   */
  floorEdge(value: string, numerator: string, denominator: string): string;
  /**
   * Which of the ascending bound `starts` is the last at or below the size of the number, counted from 1, with the number's sign; 0 of
   * zero. Start number `i` is 10 to the power of `(first + i - 1) * step`, rounded up if the number is a whole one (`isWhole`), whose
   * comparison is exact. The first start is at or below every size.
   */
  powerBin(value: string, isWhole: boolean, starts: string, first: string, step: string): string;
}

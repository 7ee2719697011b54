import { compilePredicate } from '../sql/compile.js';
import { paramTypeOf } from '../sql/params.js';
import type { RunSelect } from '../sql/statement.js';
import { isNumeric } from '../../core/types.js';
import type { FieldRef, Predicate, Scalar } from '../predicate/predicate.js';
import { fieldExpression, type Statement } from '../sql/statement.js';

/** Begins an SQL statement over the records of the snapshot. */
export type BeginStatement = () => Statement;

/** The stored values nearest to those that a condition asks for. */
export interface NearestValues {
  readonly field: FieldRef;
  /** The largest stored value below the interval and the smallest above it; null if there is none. */
  readonly below: unknown;
  readonly above: unknown;
  readonly least: unknown;
  readonly most: unknown;
}

/**
 * Returns the values of a number or date field next to those that the condition asks for, among the records that satisfy `scope`; undefined
 * for other fields and conditions.
 */
export async function findValuesAround(
  begin: BeginStatement,
  predicate: Predicate,
  scope: Predicate,
  rows: RunSelect,
): Promise<NearestValues | undefined> {
  const askedInterval = intervalOf(predicate);
  if (!askedInterval) return undefined;
  const { field, low, high } = askedInterval;
  const statement = begin();
  const values = fieldExpression(statement, field);
  if (!values) return undefined;
  const { dialect, params, source } = statement;
  const type = paramTypeOf(field);
  const greatestBelow =
    low === null ? 'NULL' : `max(CASE WHEN v < ${params.add(type, low)} THEN v END)`;
  const leastAbove =
    high === null ? 'NULL' : `min(CASE WHEN v > ${params.add(type, high)} THEN v END)`;
  const shownBounds = [greatestBelow, leastAbove, 'min(v)', 'max(v)'].map((value) =>
    value === 'NULL' ? 'NULL' : dialect.json(value, values.type),
  );
  const eachValue = values.isMany ? dialect.spreadAll(values.sql) : values.sql;
  const relation = `(SELECT ${eachValue} AS v FROM ${source} WHERE ${compilePredicate(statement, scope)}) AS q`;
  const [row = []] = await rows({
    sql: `SELECT ${shownBounds.join(', ')} FROM ${relation}`,
    params: params.boundValues,
  });
  const [under, over, least, most] = shownBounds.map((_, i) => parseJsonValue(row[i]));
  return { field, below: under, above: over, least, most };
}

/** Returns the interval that a condition on a number or date asks for; if it lists values, that of the first. */
function intervalOf(
  predicate: Predicate,
):
  | { readonly field: FieldRef; readonly low: Scalar | null; readonly high: Scalar | null }
  | undefined {
  // prettier-ignore
  if (predicate.kind === 'or') return predicate.items[0] && intervalOf(predicate.items[0]);
  if (predicate.kind !== 'in' && predicate.kind !== 'range') return undefined;
  const { field } = predicate;
  if (!isNumeric(field.type) && field.type !== 'date') return undefined;
  if (predicate.kind === 'in') {
    const value = predicate.values[0];
    return value === undefined ? undefined : { field, low: value, high: value };
  }
  const { low, high } = predicate;
  return { field, low: low && low.value, high: high && high.value };
}

const maxSuggestedStrings = 5;

/** Returns stored strings within an edit distance of 1 to 3 (depending on the length of `text`), ignoring case, the nearest first. */
export async function findSimilarStrings(
  begin: BeginStatement,
  field: FieldRef,
  text: string,
  rows: RunSelect,
): Promise<readonly string[]> {
  const maxDistance = text.length <= 3 ? 1 : text.length <= 6 ? 2 : 3;
  const statement = begin();
  const values = fieldExpression(statement, field);
  if (!values || text.length > 64) return [];
  const { dialect, params, source } = statement;
  const foldedText = dialect.fold(params.add('string', text));
  const distance = dialect.editDistance(dialect.fold('v'), foldedText, maxDistance);
  const eachValue = values.isMany ? dialect.spread(values.sql) : values.sql;
  const nearValues = `(SELECT v, ${distance} AS d FROM (SELECT ${eachValue} AS v FROM ${source}) AS q) AS s`;
  const found = await rows({
    sql: `SELECT v FROM ${nearValues} WHERE d <= ${maxDistance} GROUP BY v ORDER BY min(d), count(*) DESC, v LIMIT ${maxSuggestedStrings}`,
    params: params.boundValues,
  });
  return found.map(([value]) => String(value));
}

/** Returns the most frequent values of a string field among the first 1,000 records that satisfy `scope`. */
export async function findFrequentStrings(
  begin: BeginStatement,
  field: FieldRef,
  scope: Predicate,
  rows: RunSelect,
): Promise<readonly string[]> {
  const statement = begin();
  const values = fieldExpression(statement, field);
  if (!values || values.isMany) return [];
  const { params, source } = statement;
  const first = `(SELECT ${values.sql} AS v FROM ${source} WHERE ${compilePredicate(statement, scope)} LIMIT 1000) AS q`;
  const found = await rows({
    sql: `SELECT v FROM ${first} WHERE v IS NOT NULL GROUP BY v ORDER BY count(*) DESC, v LIMIT ${maxSuggestedStrings}`,
    params: params.boundValues,
  });
  return found.map(([value]) => String(value));
}

/** Parses a JSON text. An integer beyond 2^53 stays a string, because JSON.parse would round it. */
function parseJsonValue(json: unknown): unknown {
  if (json === null || json === undefined) return null;
  const value: unknown = JSON.parse(String(json));
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? String(json)
    : value;
}

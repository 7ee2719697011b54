import type { Dialect } from './dialect.js';
import type { Bucketing } from './facet-sql.js';
import type { FieldExpression } from './statement.js';

/** An enclosing bucket facet. */
export interface Parent {
  readonly column: FacetColumn;
  readonly bucketing: Bucketing;
  /** The relation of the buckets in the answer; undefined if all buckets are in the answer. */
  readonly shown: string | undefined;
}

/** The SQL expression of a facet's field, and its name in the relation of matching records. */
export interface FacetColumn extends FieldExpression {
  readonly name: string;
}

/** A named expression over the matching records; a list yields a row per value. */
export interface SelectedExpression {
  readonly name: string;
  readonly sql: string;
  readonly isMany: boolean;
  /** True if equal values of a list count each; false if they count once. */
  readonly isEvery: boolean;
}

/** The buckets of a column's values as a named expression. */
export function selectedRelation(
  dialect: Dialect,
  name: string,
  { column, bucketing: { of } }: Omit<Parent, 'shown'>,
  isEvery: boolean,
): SelectedExpression {
  const sql = column.isMany ? dialect.each(column.name, of) : of(column.name);
  return { name, sql, isMany: column.isMany, isEvery };
}

/**
 * A relation with one row for each combination of a record's buckets `x0`, `x1`… in the enclosing facets and its values of `own`. A record
 * is in a bucket once, no matter how many elements of its list are.
 */
export function valuesRelation(
  dialect: Dialect,
  parents: readonly Parent[],
  own: readonly SelectedExpression[],
): string {
  const buckets = parents.map((parent, index) =>
    selectedRelation(dialect, `x${index}`, parent, false),
  );
  const all = [...buckets, ...own];
  const names = all.map(({ name }) => name);
  let from = 'matching';
  if (all.length > 0) {
    const columns = all.map(({ name, sql }) => (name === sql ? name : `${sql} AS ${name}`));
    from = `(SELECT ${columns.join(', ')} FROM matching) AS found`;
  }
  // Each list has its own SELECT: several unnested in one SELECT would be zipped instead of combined.
  for (const { name, isMany, isEvery } of all) {
    if (!isMany) continue;
    const spreadValues = isEvery ? dialect.spreadAll(name) : dialect.spread(name);
    const otherNames = names.filter((other) => other !== name);
    from = `(SELECT ${[...otherNames, `${spreadValues} AS ${name}`].join(', ')} FROM ${from}) AS found`;
  }
  const last = parents.findLastIndex(({ shown }) => shown !== undefined);
  if (last < 0) return from;
  const keys = parents.slice(0, last + 1).map((_, index) => `x${index}`);
  const theirKeys = [...keys.slice(0, -1), 'v'].join(', ');
  return `(SELECT ${names.join(', ')} FROM ${from} WHERE (${keys.join(', ')}) IN (SELECT ${theirKeys} FROM ${parents[last]!.shown!})) AS kept`;
}

import type { Dialect } from './dialect/dialect.js';
import type { BucketExpression } from './facet-sql.js';
import type { FieldExpression } from './dialect/statement.js';

/** A facet with buckets in which another facet is nested. */
export interface ParentFacet {
  readonly column: FacetColumn;
  readonly bucketing: BucketExpression;
  /** The relation of the buckets that the answer contains; undefined if it contains all buckets. */
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
  /** True if a value that a list repeats counts each time; false if it counts once. */
  readonly isEvery: boolean;
}

/** Returns the bucket of a column's values as a named expression. */
export function bucketExpression(
  dialect: Dialect,
  name: string,
  { column, bucketing: { of } }: Omit<ParentFacet, 'shown'>,
  isEvery: boolean,
): SelectedExpression {
  const sql = column.isMany ? dialect.each(column.name, of) : of(column.name);
  return { name, sql, isMany: column.isMany, isEvery };
}

/**
 * Returns a relation with one row for each combination of a record's buckets `x0`, `x1`… in the enclosing facets and its values of `own`. A
 * record is in an enclosing bucket only once, even if several elements of its list are. Rows of buckets that the answer leaves out
 * (`ParentFacet.shown`) are left out, too.
 */
export function facetValuesRelation(
  dialect: Dialect,
  parents: readonly ParentFacet[],
  own: readonly SelectedExpression[],
): string {
  const buckets = parents.map((parent, index) =>
    bucketExpression(dialect, `x${index}`, parent, false),
  );
  const all = [...buckets, ...own];
  const names = all.map(({ name }) => name);
  let from = 'matching';
  if (all.length > 0) {
    const columns = all.map(({ name, sql }) => (name === sql ? name : `${sql} AS ${name}`));
    from = `(SELECT ${columns.join(', ')} FROM matching) AS found`;
  }
  // Each list is unnested in a SELECT of its own: several lists in one SELECT would be unnested side by side instead of in all
  // combinations.
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

import type { Dialect } from './dialect.js';
import type { Bucketing } from './facet-sql.js';
import type { Access } from './statement.js';

/** A bucket facet above the one at hand. */
export interface Parent {
  readonly column: Column;
  readonly bucketing: Bucketing;
  /** The relation of the buckets that are shown, if they are not all of them. */
  readonly shown: string | undefined;
}

/** Where a facet's values are, under a name among the records that match. */
export interface Column extends Access {
  readonly name: string;
}

/** Something to select from the records under a name; one row for each of its values if it is a list. */
export interface Selected {
  readonly name: string;
  readonly sql: string;
  readonly isMany: boolean;
  readonly isEvery: boolean;
}

/** The buckets that a column's values fall into, under a name. */
export function selected(
  dialect: Dialect,
  name: string,
  { column, bucketing: { of } }: Omit<Parent, 'shown'>,
  isEvery: boolean,
): Selected {
  const sql = column.isMany ? dialect.each(column.name, of) : of(column.name);
  return { name, sql, isMany: column.isMany, isEvery };
}

/**
 * A relation of one row for each combination of a record's buckets `x0`, `x1`… among those shown of the parents, and its own values.
 * A record is in a bucket once, however many elements of its list are.
 */
export function valuesRelation(
  dialect: Dialect,
  parents: readonly Parent[],
  own: readonly Selected[],
): string {
  const buckets = parents.map((parent, index) => selected(dialect, `x${index}`, parent, false));
  const all = [...buckets, ...own];
  const names = all.map(({ name }) => name);
  let from = 'matching';
  if (all.length > 0) {
    const columns = all.map(({ name, sql }) => (name === sql ? name : `${sql} AS ${name}`));
    from = `(SELECT ${columns.join(', ')} FROM matching) AS found`;
  }
  // One at a time: several in one SELECT would be zipped instead of combined.
  for (const { name, isMany, isEvery } of all) {
    if (!isMany) continue;
    const spread = isEvery ? dialect.spreadAll(name) : dialect.spread(name);
    const others = names.filter((other) => other !== name);
    from = `(SELECT ${[...others, `${spread} AS ${name}`].join(', ')} FROM ${from}) AS found`;
  }
  const last = parents.findLastIndex(({ shown }) => shown !== undefined);
  if (last < 0) return from;
  const keys = parents.slice(0, last + 1).map((_, index) => `x${index}`);
  const theirs = [...keys.slice(0, -1), 'v'].join(', ');
  return `(SELECT ${names.join(', ')} FROM ${from} WHERE (${keys.join(', ')}) IN (SELECT ${theirs} FROM ${parents[last]!.shown!})) AS kept`;
}

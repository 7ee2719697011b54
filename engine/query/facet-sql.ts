import type { Facet } from './facets.js';
import type { Statement } from './statement.js';

type Single = Exclude<Facet, { kind: 'terms' | 'histogram' }>;

/** The aggregate over the values `v` that yields a facet's JSON text. */
export function single({ dialect, params }: Statement, facet: Single): string {
  if (facet.kind === 'count') return 'CAST(count(DISTINCT v) AS VARCHAR)';
  if (facet.kind === 'stats') return stats(facet.extended);
  const fractions = params.add(
    'double',
    facet.percents.map((percent) => percent / 100),
  );
  const quantiles = dialect.quantiles('v', fractions);
  const members = facet.percents.map((percent, index) =>
    member(percentKey(percent), `${quantiles}[${index + 1}]`),
  );
  return object(members);
}

/** A statement of one row for each bucket of a histogram, after the key columns: its JSON text. */
export function buckets(
  { dialect, params }: Statement,
  { field, interval }: Extract<Facet, { kind: 'histogram' }>,
  values: string,
  keys: readonly string[],
): string {
  const type = field.type === 'auto' ? 'long' : field.type;
  const edge =
    typeof interval === 'bigint'
      ? dialect.floorTo('v', type, params.add('long', interval))
      : dialect.truncate('v', interval);
  const shown = dialect.json('k', type === 'integer' ? 'long' : type === 'float' ? 'double' : type);
  const groups = keys.map((_, index) => `x${index}`);
  return `SELECT ${[...keys, `'[' || ${shown} || ',' || n || ']'`].join(', ')} FROM (
    SELECT ${[...groups, `${edge} AS k`, 'count(*) AS n'].join(', ')} FROM ${values}
    GROUP BY ${[...groups, 'k'].join(', ')} ORDER BY k)`;
}

/** The answer over no values at all. */
export function emptyAnswer(facet: Facet): string {
  if (facet.kind === 'count') return '0';
  if (facet.kind === 'histogram' || facet.kind === 'terms') return '[]';
  if (facet.kind === 'percentiles') {
    return `{${facet.percents.map((percent) => `"${percentKey(percent)}":null`).join(',')}}`;
  }
  const none = { count: 0, min: null, max: null, avg: null, sum: null };
  const extended = {
    sum_of_squares: null,
    variance: null,
    std_deviation: null,
    std_deviation_bounds: { upper: null, lower: null },
  };
  return JSON.stringify({ ...none, ...(facet.extended && extended) });
}

/** Sums of whole numbers are exact (HUGEINT in the engine); what `extended` adds are doubles. */
function stats(extended: boolean): string {
  const real = 'CAST(v AS DOUBLE)';
  const members = [
    member('count', 'count(v)'),
    member('min', 'min(v)'),
    member('max', 'max(v)'),
    member('avg', `avg(${real})`),
    // Choice: no values have no sum, rather than the sum 0.
    member('sum', 'sum(v)'),
  ];
  if (extended) {
    const deviation = `stddev_pop(${real})`;
    members.push(
      member('sum_of_squares', `sum(${real} * ${real})`),
      member('variance', `var_pop(${real})`),
      member('std_deviation', deviation),
      `'"std_deviation_bounds":' || ${object([
        member('upper', `avg(${real}) + 2 * ${deviation}`),
        member('lower', `avg(${real}) - 2 * ${deviation}`),
      ])}`,
    );
  }
  return object(members);
}

function member(key: string, value: string): string {
  return `'"${key}":' || coalesce(CAST(${value} AS VARCHAR), 'null')`;
}

function object(members: readonly string[]): string {
  return `('{' || ${members.join(` || ',' || `)} || '}')`;
}

/** `5.0`, `99.9`. */
function percentKey(percent: number): string {
  return Number.isInteger(percent) ? `${percent}.0` : String(percent);
}

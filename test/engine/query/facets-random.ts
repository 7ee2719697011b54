import {
  isNumeric,
  namedFields,
  valuesOf,
  type MadeDataset,
  type NaiveField,
} from './naive-fields.js';
import type { Random } from './random.js';

type Options = Record<string, unknown>;

/** A tree of facets: of any kind, with any options, under any that has buckets. */
export function randomFacets(random: Random, made: MadeDataset, depth = 1): Options {
  const fields = namedFields(made.columns).filter(({ column: { type } }) => !['text', 'blob', 'object', 'json'].includes(type)); // prettier-ignore
  const list = random.shuffled(fields).slice(0, 1 + random.below(depth === 1 ? 4 : 2));
  return Object.fromEntries(
    list.map((field) => {
      const options = optionsOf(random, made, field);
      const type = options['facet_type'] ?? (isNumeric(field.column.type) ? 'stats' : 'terms');
      const hasBuckets = type === 'terms' || type === 'histogram';
      const isNested = hasBuckets && depth < 5 && random.chance(0.5);
      const nested = isNested ? { facets: randomFacets(random, made, depth + 1) } : {};
      return [field.name, { ...options, ...nested }];
    }),
  );
}

function optionsOf(
  random: Random,
  made: MadeDataset,
  { path, column: { type } }: NaiveField,
): Options {
  const limit = random.pick([{}, { limit: 0 }, { limit: 1 }, { limit: 2 }, { limit: '3' }]);
  const terms = { facet_type: 'terms', ...limit };
  const count = { facet_type: 'count' };
  if (type === 'string' || type === 'boolean') return random.pick<Options>([limit, terms, count]);
  if (type === 'date') {
    const interval = random.pick(['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second']); // prettier-ignore
    return random.pick<Options>([
      limit, terms, count, { facet_type: 'histogram', interval }, { facet_type: 'histogram' },
    ]); // prettier-ignore
  }
  const linear = { facet_type: 'histogram', interval: random.pick(intervals) };
  const log = { facet_type: 'histogram', scale: 'log', interval: random.pick([1, '0.5', 0.1, 2, 0.3, '10', 0.01]) }; // prettier-ignore
  const plainOptions = [terms, count, linear, linear, log, { facet_type: 'histogram' }, { facet_type: 'histogram', scale: 'log' }]; // prettier-ignore
  // Sums of the largest doubles are no doubles.
  const values = made.segments.flatMap(({ rows }) => rows.flatMap((row) => valuesOf(row, path)));
  if (values.some((value) => typeof value === 'number' && Math.abs(value) > 1e30))
    return random.pick<Options>(plainOptions);
  const percents = random.pick([[50], [0, 25, 99.9, 100], [12.5, 50], '75']);
  return random.pick<Options>([
    ...plainOptions,
    {},
    { facet_type: 'stats', extended: true },
    { facet_type: 'stats', extended: 'false' },
    { facet_type: 'percentiles', percents },
    { facet_type: 'percentiles' },
  ]);
}

const intervals = [
  1, 2, 100, '1000000', 0.05, '0.05', 0.1, '0.3', 2.5, '1e-3', 1e-7, '7.25', 1.5e3, 0.000123, '1000000000.5', '1e3', 3, 9007199254740993n, '1e-15', '.5', '+4.', 4000000000000000000n,
]; // prettier-ignore

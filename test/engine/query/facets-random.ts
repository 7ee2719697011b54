import {
  isNumeric,
  unambiguousFields,
  valuesOf,
  type GeneratedDataset,
  type NaiveField,
} from './naive-fields.js';
import type { Random } from './random.js';

type FacetOptions = Record<string, unknown>;

/** Returns a random tree of facets: of any kind, with any options, nested under facets that have buckets. */
export function randomFacets(random: Random, dataset: GeneratedDataset, depth = 1): FacetOptions {
  const fields = unambiguousFields(dataset.columns).filter(({ column: { type } }) => !['text', 'blob', 'object', 'json'].includes(type)); // prettier-ignore
  const chosenFields = random
    .shuffled(fields)
    .slice(0, 1 + random.integerBelow(depth === 1 ? 4 : 2));
  return Object.fromEntries(
    chosenFields.map((field) => {
      const options = randomFacetOptions(random, dataset, field);
      const type = options['facet_type'] ?? (isNumeric(field.column.type) ? 'stats' : 'terms');
      const hasBuckets = type === 'terms' || type === 'histogram';
      const isNested = hasBuckets && depth < 5 && random.chance(0.5);
      const nestedFacets = isNested ? { facets: randomFacets(random, dataset, depth + 1) } : {};
      return [field.name, { ...options, ...nestedFacets }];
    }),
  );
}

function randomFacetOptions(
  random: Random,
  dataset: GeneratedDataset,
  { path, column: { type } }: NaiveField,
): FacetOptions {
  const limitOptions = random.pick([{}, { limit: 0 }, { limit: 1 }, { limit: 2 }, { limit: '3' }]);
  const termsOptions = { facet_type: 'terms', ...limitOptions };
  const countOptions = { facet_type: 'count' };
  if (type === 'string' || type === 'boolean')
    return random.pick<FacetOptions>([limitOptions, termsOptions, countOptions]);
  if (type === 'date') {
    const interval = random.pick(['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second']); // prettier-ignore
    return random.pick<FacetOptions>([
      limitOptions, termsOptions, countOptions, { facet_type: 'histogram', interval }, { facet_type: 'histogram' },
    ]); // prettier-ignore
  }
  const linearHistogram = { facet_type: 'histogram', interval: random.pick(histogramIntervals) };
  const logHistogram = { facet_type: 'histogram', scale: 'log', interval: random.pick([1, '0.5', 0.1, 2, 0.3, '10', 0.01]) }; // prettier-ignore
  const plainOptions = [
    termsOptions,
    countOptions,
    linearHistogram,
    linearHistogram,
    logHistogram,
    { facet_type: 'histogram' },
    { facet_type: 'histogram', scale: 'log' },
  ];
  // Neither statistics nor percentiles are requested of very large values, because sums may exceed the range of doubles.
  const values = dataset.segments.flatMap(({ rows }) => rows.flatMap((row) => valuesOf(row, path)));
  if (values.some((value) => typeof value === 'number' && Math.abs(value) > 1e30))
    return random.pick<FacetOptions>(plainOptions);
  const percents = random.pick([[50], [0, 25, 99.9, 100], [12.5, 50], '75']);
  return random.pick<FacetOptions>([
    ...plainOptions,
    {},
    { facet_type: 'stats', extended: true },
    { facet_type: 'stats', extended: 'false' },
    { facet_type: 'percentiles', percents },
    { facet_type: 'percentiles' },
  ]);
}

const histogramIntervals = [
  1, 2, 100, '1000000', 0.05, '0.05', 0.1, '0.3', 2.5, '1e-3', 1e-7, '7.25', 1.5e3, 0.000123, '1000000000.5', '1e3', 3, 9007199254740993n, '1e-15', '.5', '+4.', 4000000000000000000n,
]; // prettier-ignore

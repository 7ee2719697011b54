import {
  naiveFields,
  unambiguousFields,
  valuesOf,
  type GeneratedDataset,
  type NaiveField,
} from './naive-fields.js';
import type { QueryTree } from './naive-query-string.js';
import { randomFilters } from './random-filter.js';
import { randomQueryTree, queryTreeText } from './random-query-string.js';
import { Random } from './random.js';

/** A request as a client would send it. */
export interface RandomRequest {
  readonly body: Readonly<Record<string, unknown>>;
  /** The parsed form of `body.query`, if there is one. */
  readonly queryTree: QueryTree | null;
  /** The sizes of the pages, from the last to the first, in which the ids are also read with a cursor; null if no cursor is used. */
  readonly cursorPageSizes: readonly number[] | null;
}

/** Returns a request that may use filters, a query string, entities, coordinates, a choice of fields, orderings, pages and plain facets. */
export function randomRequest(random: Random, dataset: GeneratedDataset): RandomRequest {
  const queryTree = random.chance(0.4) ? randomQueryTree(random, dataset) : null;
  const body: Record<string, unknown> = {};
  if (queryTree === null || random.chance(0.4)) body['filters'] = randomFilters(random, dataset);
  if (queryTree !== null) body['query'] = randomQueryText(random, queryTree);
  if (random.chance(0.15)) body['entities'] = randomEntities(random, dataset);
  const hasCoordinates = dataset.columns.some(({ name }) => name === 'genomic_coordinates');
  if (random.chance(hasCoordinates ? 0.4 : 0.05)) body['genome_build'] = random.pick(['GRCh37', 'grch38', 'GRCH37', 'hg19', 'T2T-CHM13', '']); // prettier-ignore
  if (hasCoordinates && random.chance(0.3)) body['filters'] = randomCoordinateFilter(random);
  if (random.chance(0.4)) Object.assign(body, randomFieldSelection(random, dataset));
  if (random.chance(0.6)) body['ordering'] = randomOrdering(random, dataset);
  if (random.chance(0.15)) body['facets'] = randomFacets(random, dataset);
  const usesCursor = random.chance(0.04);
  if (!usesCursor && random.chance(0.5)) body['limit'] = random.pick([0, 1, 3, 10, '3', 10_000, random.chance(0.05) ? -1 : 2]); // prettier-ignore
  if (!usesCursor && random.chance(0.3))
    body['offset'] = random.pick([0, 1, 2, 5, 20, '4', 10_000]);
  if (queryTree !== null && !Object.hasOwn(body, 'query'))
    return { body, queryTree: null, cursorPageSizes: null };
  return {
    body,
    queryTree,
    cursorPageSizes: usesCursor ? random.list(60, () => 1 + random.integerBelow(9)) : null,
  };
}

/** Returns the request with another tree, and with the query string written from this tree. */
export function rewriteQuery(request: RandomRequest, queryTree: QueryTree): RandomRequest {
  return {
    ...request,
    queryTree,
    body: { ...request.body, query: randomQueryText(new Random(1), queryTree) },
  };
}

function randomQueryText(random: Random, queryTree: QueryTree): string {
  return `${random.pick(['', '', ' '])}${queryTreeText(random, queryTree)}`;
}

const entityValues: Readonly<Record<string, readonly unknown[]>> = {
  gene: ['BRCA1', 'brca2', ' ttn ', 'cancer', 12],
  variant: ['GRCh38-1-5-20-T', 't2t-chm13-chr1-5-20-t', 'grch38-chr1-5-20-t', 'GRCH37-1-5-20', 'BRCA1'],
  literature: [100, '100', 'PMID:100', 'pmid 12', '12'],
  sample: ['NA12878', 'na12878', '1', 'OR', 100],
  dataset: ['1', 'true', 'straße', 'STRASSE'],
  genomic_region: [
    'GRCH37-1-1-10', 'T2T-CHM13-1-1-10', 'grch38-chr1-20-20', 'GRCh37-X-50-2147483647', 'GRCh37-2-10-10', 'HG19-1-1-2', 'GRCH37-1-9-3',
    { chromosome: 'chr1', start: 1, stop: 100 }, { build: 'GRCh38', chromosome: 2, start: '1', stop: 5 }, { build: null, chromosome: 'x', start: 1, stop: 1000 },
  ],
}; // prettier-ignore

function randomEntities(random: Random, dataset: GeneratedDataset): unknown {
  const entitiesPresent = Object.values(dataset.entities);
  const pairs = random.list(1 + random.integerBelow(3), () => {
    const allTypes = Object.keys(entityValues);
    const type =
      entitiesPresent.length > 0 && random.chance(0.9)
        ? random.pick(entitiesPresent)
        : random.pick(allTypes);
    const randomEntityValue = (): unknown => {
      const fields = naiveFields(dataset.columns).filter(
        ({ name }) => dataset.entities[name] === type,
      );
      const rows = dataset.segments.flatMap((segment) => segment.rows);
      const knownValues = fields.flatMap(({ path }) => rows.flatMap((row) => valuesOf(row, path)));
      const isOwn = type !== 'genomic_region' && knownValues.length > 0 && random.chance(0.4);
      return random.pick(isOwn ? knownValues : entityValues[type]!);
    };
    return [
      type,
      random.chance(0.2)
        ? random.list(1 + random.integerBelow(3), randomEntityValue)
        : randomEntityValue(),
    ] as const;
  });
  return pairs.length === 1 && random.chance(0.3) ? pairs[0] : pairs;
}

/** Returns a filter on coordinates as clients write it (query language 6). */
function randomCoordinateFilter(random: Random): unknown {
  const [C, S, E] = ['chromosome', 'start', 'stop'].map((name) => `genomic_coordinates.${name}`) as [string, string, string]; // prettier-ignore
  const chromosome = [C, random.pick(['1', 1, 'chr2', 'CHRX', 'mt', 'GL000220.1'])];
  const [start, stop] = [1, 5, 10, 20, 100].filter((_, i) => i === 1 || random.chance(0.4)).slice(-2) as [number, number?]; // prettier-ignore
  const end = stop ?? start;
  return [
    random.pick([
      { and: [[`${S}__lte`, start], [`${E}__gte`, start], chromosome] },
      { and: [[S, start], [E, end], chromosome] },
      { and: [{ or: [{ and: [[`${S}__lte`, start], [`${E}__gte`, end]] }, [`${S}__range`, [start, end]], [`${E}__range`, [start, end]]] }, chromosome] },
      { and: [[S, null], [E, null], chromosome] },
    ]),
  ]; // prettier-ignore
}

/** Returns `fields` and `exclude_fields` with names of fields, paths into objects, single names instead of lists, and unknown names. */
function randomFieldSelection(random: Random, dataset: GeneratedDataset): Record<string, unknown> {
  const knownNames = [
    '_id',
    '_commit',
    ...unambiguousFields(dataset.columns).map(({ name }) => name),
  ];
  const randomNames = (unknownShare: number): unknown => {
    const list = random.list(random.integerBelow(4), () => random.pick(knownNames));
    if (random.chance(unknownShare)) list.push('bogus.x');
    return list.length === 1 && random.chance(0.3) ? list[0] : list;
  };
  return {
    ...(random.chance(0.6) && { fields: randomNames(0.02) }),
    ...(random.chance(0.6) && { exclude_fields: randomNames(0.3) }),
  };
}

function randomOrdering(random: Random, dataset: GeneratedDataset): unknown {
  const fields = unambiguousFields(dataset.columns);
  const sortableFields = fields.filter(({ column: { type } }) => !['text', 'blob', 'object', 'json'].includes(type)); // prettier-ignore
  const names = (sortableFields.length > 0 && random.chance(0.98) ? sortableFields : fields).map(
    ({ name }) => name,
  );
  const list = random.list(random.integerBelow(4), () => {
    const name = random.pick([...names, '_id']);
    return random.chance(0.5) ? `-${name}` : name;
  });
  return list.length === 1 && random.chance(0.3) ? list[0] : list;
}

/** Returns random facets of one level. */
function randomFacets(random: Random, dataset: GeneratedDataset): unknown {
  const fields = unambiguousFields(dataset.columns).filter(({ column: { type } }) => !['text', 'blob', 'object', 'json'].includes(type)); // prettier-ignore
  if (fields.length === 0) return [];
  const list = random.shuffled(fields).slice(0, 1 + random.integerBelow(2));
  if (random.chance(0.1)) return list.map(({ name }) => name);
  return Object.fromEntries(list.map((field) => [field.name, randomFacetOptions(random, field)]));
}

function randomFacetOptions(
  random: Random,
  { column: { type } }: NaiveField,
): Record<string, unknown> {
  const limit = random.pick([{}, { limit: 0 }, { limit: 2 }]);
  if (type === 'string' || type === 'boolean')
    return random.pick([{}, limit, { facet_type: 'terms', ...limit }, { facet_type: 'count' }]);
  if (type === 'date') {
    const interval = random.pick(['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second']); // prettier-ignore
    return random.pick([limit, { facet_type: 'count' }, { facet_type: 'histogram', interval }]);
  }
  return random.pick<Record<string, unknown>>([
    {},
    { facet_type: 'terms', ...limit },
    { facet_type: 'count' },
    { facet_type: 'histogram', interval: random.pick([1, 2, 100, '1000000']) },
    { facet_type: 'percentiles', percents: random.pick([[50], [0, 25, 99.9, 100]]) },
  ]);
}

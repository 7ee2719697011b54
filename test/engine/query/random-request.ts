import {
  naiveFields,
  namedFields,
  valuesOf,
  type MadeDataset,
  type NaiveField,
} from './naive-fields.js';
import type { AskedClause } from './naive-query-string.js';
import { randomFilters } from './random-filter.js';
import { randomAsked, queryText } from './random-query-string.js';
import { Random } from './random.js';

/** A request as a client would send it. */
export interface RandomRequest {
  readonly body: Readonly<Record<string, unknown>>;
  /** The parsed form of `body.query`, if there is one. */
  readonly asked: AskedClause | null;
  /** The sizes of the pages in which the whole answer is read with a cursor; null: the answer is one page. */
  readonly cursor: readonly number[] | null;
}

/** A request that may use every part of the language but nested facets. */
export function randomRequest(random: Random, made: MadeDataset): RandomRequest {
  const askedText = random.chance(0.4) ? randomAsked(random, made) : null;
  const body: Record<string, unknown> = {};
  if (askedText === null || random.chance(0.4)) body['filters'] = randomFilters(random, made);
  if (askedText !== null) body['query'] = queryOf(random, askedText);
  if (random.chance(0.15)) body['entities'] = entitiesOf(random, made);
  const hasPlaces = made.columns.some(({ name }) => name === 'genomic_coordinates');
  if (random.chance(hasPlaces ? 0.4 : 0.05)) body['genome_build'] = random.pick(['GRCh37', 'grch38', 'GRCH37', 'hg19', 'T2T-CHM13', '']); // prettier-ignore
  if (hasPlaces && random.chance(0.3)) body['filters'] = placeFilter(random);
  if (random.chance(0.4)) Object.assign(body, shapeOf(random, made));
  if (random.chance(0.6)) body['ordering'] = orderingOf(random, made);
  if (random.chance(0.15)) body['facets'] = facetsOf(random, made);
  const isCursor = random.chance(0.04);
  if (!isCursor && random.chance(0.5)) body['limit'] = random.pick([0, 1, 3, 10, '3', 10_000, random.chance(0.05) ? -1 : 2]); // prettier-ignore
  if (!isCursor && random.chance(0.3)) body['offset'] = random.pick([0, 1, 2, 5, 20, '4', 10_000]);
  if (askedText !== null && !Object.hasOwn(body, 'query'))
    return { body, asked: null, cursor: null };
  return {
    body,
    asked: askedText,
    cursor: isCursor ? random.list(60, () => 1 + random.below(9)) : null,
  };
}

/** The query string written again from its tree, in a different form. */
export function rewriteQuery(request: RandomRequest, asked: AskedClause): RandomRequest {
  return { ...request, asked, body: { ...request.body, query: queryOf(new Random(1), asked) } };
}

function queryOf(random: Random, asked: AskedClause): string {
  return `${random.pick(['', '', ' '])}${queryText(random, asked)}`;
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

function entitiesOf(random: Random, made: MadeDataset): unknown {
  const entitiesPresent = Object.values(made.entities);
  const pairs = random.list(1 + random.below(3), () => {
    const all = Object.keys(entityValues);
    const type =
      entitiesPresent.length > 0 && random.chance(0.9)
        ? random.pick(entitiesPresent)
        : random.pick(all);
    const value = (): unknown => {
      const fields = naiveFields(made.columns).filter(({ name }) => made.entities[name] === type);
      const rows = made.segments.flatMap((segment) => segment.rows);
      const knownValues = fields.flatMap(({ path }) => rows.flatMap((row) => valuesOf(row, path)));
      const isOwn = type !== 'genomic_region' && knownValues.length > 0 && random.chance(0.4);
      return random.pick(isOwn ? knownValues : entityValues[type]!);
    };
    return [type, random.chance(0.2) ? random.list(1 + random.below(3), value) : value()] as const;
  });
  return pairs.length === 1 && random.chance(0.3) ? pairs[0] : pairs;
}

/** The filters that clients build for coordinates (query language 6). */
function placeFilter(random: Random): unknown {
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

/** `fields` and `exclude_fields`: names at the top, paths into objects, one name alone, some unknown. */
function shapeOf(random: Random, made: MadeDataset): Record<string, unknown> {
  const knownNames = ['_id', '_commit', ...namedFields(made.columns).map(({ name }) => name)];
  const names = (unknown: number): unknown => {
    const list = random.list(random.below(4), () => random.pick(knownNames));
    if (random.chance(unknown)) list.push('bogus.x');
    return list.length === 1 && random.chance(0.3) ? list[0] : list;
  };
  return {
    ...(random.chance(0.6) && { fields: names(0.02) }),
    ...(random.chance(0.6) && { exclude_fields: names(0.3) }),
  };
}

function orderingOf(random: Random, made: MadeDataset): unknown {
  const fields = namedFields(made.columns);
  const sorted = fields.filter(({ column: { type } }) => !['text', 'blob', 'object', 'json'].includes(type)); // prettier-ignore
  const names = (sorted.length > 0 && random.chance(0.98) ? sorted : fields).map(
    ({ name }) => name,
  );
  const list = random.list(random.below(4), () => {
    const name = random.pick([...names, '_id']);
    return random.chance(0.5) ? `-${name}` : name;
  });
  return list.length === 1 && random.chance(0.3) ? list[0] : list;
}

/** The facets of one level. */
function facetsOf(random: Random, made: MadeDataset): unknown {
  const fields = namedFields(made.columns).filter(({ column: { type } }) => !['text', 'blob', 'object', 'json'].includes(type)); // prettier-ignore
  if (fields.length === 0) return [];
  const list = random.shuffled(fields).slice(0, 1 + random.below(2));
  if (random.chance(0.1)) return list.map(({ name }) => name);
  return Object.fromEntries(list.map((field) => [field.name, optionsOf(random, field)]));
}

function optionsOf(random: Random, { column: { type } }: NaiveField): Record<string, unknown> {
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

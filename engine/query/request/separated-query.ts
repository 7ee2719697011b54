import type { DatasetField } from '../../core/dataset-field.js';
import type { JsonObject } from '../../core/types.js';
import { isPair } from './filter.js';

/**
 * A query in two parts: the first finds records by stored fields; the second is applied to these records after fields have been computed.
 */
export interface SeparatedQuery {
  readonly stored: JsonObject;
  readonly computed: JsonObject;
  /** The positions of each part's filters in the query: `filters[2].and[0]`; empty if the filters have not been separated. */
  readonly positions: { readonly stored: readonly string[]; readonly computed: readonly string[] };
  /** The paths of the stored fields that the second part names; null: all fields. */
  readonly paths: readonly (readonly string[])[] | null;
}

/**
 * Returns the parts of a query that name computed fields, which are in `names`; none if the query finds, sorts and counts by stored fields
 * only.
 */
export function partsWithComputedFields(
  query: JsonObject,
  names: ReadonlySet<string>,
): readonly ('filters' | 'query' | 'ordering' | 'facets')[] {
  const { filters, ordering, facets, query: text } = query;
  const isQueried =
    typeof text === 'string' && [...names].some((name) => isNamedInQueryString(text, name));
  return [
    ...(mentionsAnyName(filters, names) ? (['filters'] as const) : []),
    ...(isQueried ? (['query'] as const) : []),
    ...(mentionsAnyName(ordering, names) ? (['ordering'] as const) : []),
    ...(mentionsAnyName(facets, names) ? (['facets'] as const) : []),
  ];
}

/** Returns the computed fields that a query names in its filters, query string, ordering and facets. */
export function computedNamesIn(
  query: JsonObject,
  names: ReadonlySet<string>,
): ReadonlySet<string> {
  return new Set(
    [...names].filter((name) => partsWithComputedFields(query, new Set([name])).length > 0),
  );
}

/**
 * Separates a query. The first part has the filters that are joined by AND and name stored fields only, the query string, the entities and
 * the build. A filter with a text that only looks like a computed field goes to the second part, where it has the same meaning.
 */
export function separateQuery(
  query: JsonObject,
  names: ReadonlySet<string>,
  fields: readonly DatasetField[],
): SeparatedQuery {
  const { filters, query: text, entities, genome_build, ordering, facets, explain } = query;
  const all = conjunctsOf(filters, 'filters');
  const lateConjuncts = all.filter(({ filter }) => mentionsAnyName(filter, names));
  const early = all.filter((one) => !lateConjuncts.includes(one));
  const filtersOf = (some: readonly Conjunct[]): readonly unknown[] =>
    some.map(({ filter }) => filter);
  const positions = {
    stored: early.map(({ at }) => at),
    computed: lateConjuncts.map(({ at }) => at),
  };
  const computedPart = { filters: filtersOf(lateConjuncts), ordering, facets, explain };
  const storedPart = { filters: filtersOf(early), query: text, entities, genome_build };
  const paths = fields.filter(({ name }) => mentionsAnyName([computedPart.filters, ordering, facets], new Set([name]))).map(({ path }) => path); // prettier-ignore
  return {
    stored: definedParts(storedPart),
    computed: definedParts(computedPart),
    positions,
    paths,
  };
}

/** Returns the query with everything in the second part, which is then applied to all records. */
export function unseparateQuery(query: JsonObject): SeparatedQuery {
  const { filters, query: text, entities, genome_build, ordering, facets, explain } = query;
  const computedPart = { filters, query: text, entities, genome_build, ordering, facets, explain };
  const positions = { stored: [], computed: [] };
  return { stored: {}, computed: definedParts(computedPart), positions, paths: null };
}

/** One of the filters that a query joins by AND, and its position. */
interface Conjunct {
  readonly filter: unknown;
  readonly at: string;
}

/** Returns the filters that a list joins by AND, including those of a nested `and`. */
function conjunctsOf(filters: unknown, path: string): readonly Conjunct[] {
  if (filters === undefined || filters === null) return [];
  const isOne = isPair(filters) || !Array.isArray(filters);
  const items: readonly Conjunct[] = isOne
    ? [{ filter: filters, at: path }]
    : filters.map((filter: unknown, i) => ({ filter, at: `${path}[${i}]` }));
  return items.flatMap((item) => {
    const [entry, ...more] = isObject(item.filter) ? Object.entries(item.filter) : [];
    if (entry === undefined || more.length > 0 || !Array.isArray(entry[1])) return [item];
    return entry[0].toLowerCase() === 'and' ? conjunctsOf(entry[1], `${item.at}.${entry[0]}`) : [item]; // prettier-ignore
  });
}

/** Replaces, where a text begins with a position in a part of a query, that position by the one in the whole query. */
export function positionInQuery(text: string, positions: readonly string[]): string {
  return text.replace(/^filters\[(\d+)\]/, (own, index) => positions[Number(index)] ?? own);
}

/**
 * Returns the query without the members that `separateQuery` uses: filters, query string, entities, build, ordering, facets and
 * explanation. What remains selects the page and its fields.
 */
export function withoutConditions(query: JsonObject): JsonObject {
  const { filters: _, query: __, entities: ___, genome_build: ____, ordering: _____, facets: ______, explain: _______, ...page } = query; // prettier-ignore
  return page;
}

function definedParts(parts: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(parts).filter(([, value]) => value !== undefined && value !== null),
  );
}

/**
 * Returns whether a text in a value may refer to one of the names: it is the name itself, possibly with an action or a member after it, or
 * a minus sign before it.
 */
function mentionsAnyName(value: unknown, names: ReadonlySet<string>): boolean {
  if (typeof value === 'string')
    return (
      refersToName(value, names) || (value.startsWith('-') && refersToName(value.slice(1), names))
    );
  if (Array.isArray(value)) return value.some((one) => mentionsAnyName(one, names));
  if (!isObject(value)) return false;
  return Object.entries(value).some(
    ([key, one]) => mentionsAnyName(key, names) || mentionsAnyName(one, names),
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refersToName(text: string, names: ReadonlySet<string>): boolean {
  if (names.has(text)) return true;
  for (const end of ['__', '.'])
    for (let at = text.indexOf(end); at !== -1; at = text.indexOf(end, at + 1))
      if (names.has(text.slice(0, at))) return true;
  return false;
}

/** Longer than `_missing_:"`, with some blanks. */
const maxPrefixLength = 16;

/**
 * Returns whether a query string has the name of a field, or of a field inside it, before a colon, as in `depth:3` or `depth.mean:3`, or
 * after `_exists_:` or `_missing_:`. Backslashes in the name are ignored.
 */
function isNamedInQueryString(text: string, name: string): boolean {
  const plainText = text.replaceAll(/\\(.)/gs, '$1');
  for (let at = plainText.indexOf(name); at !== -1; at = plainText.indexOf(name, at + 1)) {
    const before = plainText.slice(Math.max(0, at - maxPrefixLength), at);
    const after = plainText.slice(at + name.length).trimStart();
    if (/(?:^|[\s()+\-!:"])$/.test(before) && /^[:.]/.test(after)) return true;
    if (/_(?:exists|missing)_:\s*"?$/.test(before)) return true;
  }
  return false;
}

import type { DatasetField } from '../../core/dataset-field.js';
import type { JsonObject } from '../../core/types.js';
import { isPair } from './filter.js';

/** A query in two parts: the first finds records by stored fields, the second is asked of these once fields have been computed. */
export interface SeparatedQuery {
  readonly stored: JsonObject;
  readonly computed: JsonObject;
  /** The positions of each part's filters in the query: `filters[2].and[0]`. */
  readonly positions: { readonly stored: readonly string[]; readonly computed: readonly string[] };
  /** The paths of the stored fields that the second part names; null for all fields. */
  readonly paths: readonly (readonly string[])[] | null;
}

/** The parts of a query that name computed fields, in `names`; none if it finds, sorts and counts by stored fields only. */
export function partsNaming(
  query: JsonObject,
  names: ReadonlySet<string>,
): readonly ('filters' | 'query' | 'ordering' | 'facets')[] {
  const { filters, ordering, facets, query: text } = query;
  const isQueried = typeof text === 'string' && [...names].some((name) => namedIn(text, name));
  return [
    ...(mentionsAny(filters, names) ? (['filters'] as const) : []),
    ...(isQueried ? (['query'] as const) : []),
    ...(mentionsAny(ordering, names) ? (['ordering'] as const) : []),
    ...(mentionsAny(facets, names) ? (['facets'] as const) : []),
  ];
}

/** The computed fields that a query names where it finds, sorts and counts. */
export function namesIn(query: JsonObject, names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].filter((name) => partsNaming(query, new Set([name])).length > 0));
}

/**
 * Separates a query: the filters that are joined by AND and name stored fields only, the query string, entities and the build come first.
 * Text that only seems to name a field puts a filter into the second part, where it means the same.
 */
export function separateQuery(
  query: JsonObject,
  names: ReadonlySet<string>,
  fields: readonly DatasetField[],
): SeparatedQuery {
  const { filters, query: text, entities, genome_build, ordering, facets, explain } = query;
  const all = conjuncts(filters, 'filters');
  const lateConjuncts = all.filter(({ filter }) => mentionsAny(filter, names));
  const early = all.filter((one) => !lateConjuncts.includes(one));
  const filtersOf = (some: readonly Conjunct[]): readonly unknown[] =>
    some.map(({ filter }) => filter);
  const positions = {
    stored: early.map(({ at }) => at),
    computed: lateConjuncts.map(({ at }) => at),
  };
  const computedPart = { filters: filtersOf(lateConjuncts), ordering, facets, explain };
  const stored = { filters: filtersOf(early), query: text, entities, genome_build };
  const paths = fields.filter(({ name }) => mentionsAny([computedPart.filters, ordering, facets], new Set([name]))).map(({ path }) => path); // prettier-ignore
  return { stored: definedParts(stored), computed: definedParts(computedPart), positions, paths };
}

/** The query with everything in the second part, which is asked of all records. */
export function unseparateQuery(query: JsonObject): SeparatedQuery {
  const { filters, query: text, entities, genome_build, ordering, facets, explain } = query;
  const computedPart = { filters, query: text, entities, genome_build, ordering, facets, explain };
  const positions = { stored: [], computed: [] };
  return { stored: {}, computed: definedParts(computedPart), positions, paths: null };
}

/** A filter that a query joins to others by AND, and its position. */
interface Conjunct {
  readonly filter: unknown;
  readonly at: string;
}

/** The filters that a list joins by AND, including those of a nested `and`. */
function conjuncts(filters: unknown, path: string): readonly Conjunct[] {
  if (filters === undefined || filters === null) return [];
  const isOne = isPair(filters) || !Array.isArray(filters);
  const items: readonly Conjunct[] = isOne
    ? [{ filter: filters, at: path }]
    : filters.map((filter: unknown, i) => ({ filter, at: `${path}[${i}]` }));
  return items.flatMap((item) => {
    const [entry, ...more] = isObject(item.filter) ? Object.entries(item.filter) : [];
    if (entry === undefined || more.length > 0 || !Array.isArray(entry[1])) return [item];
    return entry[0].toLowerCase() === 'and' ? conjuncts(entry[1], `${item.at}.${entry[0]}`) : [item]; // prettier-ignore
  });
}

/** A position in a part of a query as one in the query, wherever a text begins with one. */
export function positionIn(text: string, positions: readonly string[]): string {
  return text.replace(/^filters\[(\d+)\]/, (own, index) => positions[Number(index)] ?? own);
}

/**
 * The query without the parts that `separateQuery` evaluates: filters, query string, entities, ordering, facets and explanation. The
 * selection of the page and of its fields remains.
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
 * Whether a text in a value may refer to one of the names: the name itself, with an action or a member after it, or a minus sign before it.
 */
function mentionsAny(value: unknown, names: ReadonlySet<string>): boolean {
  if (typeof value === 'string')
    return isName(value, names) || (value.startsWith('-') && isName(value.slice(1), names));
  if (Array.isArray(value)) return value.some((one) => mentionsAny(one, names));
  if (!isObject(value)) return false;
  return Object.entries(value).some(
    ([key, one]) => mentionsAny(key, names) || mentionsAny(one, names),
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isName(text: string, names: ReadonlySet<string>): boolean {
  if (names.has(text)) return true;
  for (const end of ['__', '.'])
    for (let at = text.indexOf(end); at !== -1; at = text.indexOf(end, at + 1))
      if (names.has(text.slice(0, at))) return true;
  return false;
}

/** Whether a query string names a field: `depth:[1 TO 9]`, `info.depth:3`. */
function namedIn(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const before = text[at - 1] ?? ' ';
    const after = text.slice(at + name.length).trimStart();
    if (/[\s()+\-!:"]/.test(before) && /^[:.]/.test(after)) return true;
  }
  return false;
}

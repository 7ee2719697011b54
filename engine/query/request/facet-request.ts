import { budgets } from '../../core/budgets.js';
import { invalidError } from '../../core/errors.js';
import { didYouMean, suggestionFor, type Synonyms } from '../../core/suggestion.js';
import { isNumeric, type DataType } from '../../core/types.js';
import { parseBins, type Bins } from './facet-bins.js';
import { fieldRef, unknownFieldMessage, type FieldIndex } from './field-index.js';
import type { FieldRef } from '../predicate/predicate.js';
import { Problem, errorOfProblem, valueForMessage } from './problem.js';
import { readNumber } from './request-values.js';

/** A parsed facet: an aggregation of one field over the matching records. */
export type Facet =
  | {
      readonly kind: 'terms';
      readonly field: FieldRef;
      /** Maximum number of buckets; Infinity for all. */
      readonly limit: number;
      readonly nested: readonly Facet[];
    }
  | { readonly kind: 'count'; readonly field: FieldRef }
  | { readonly kind: 'stats'; readonly field: FieldRef; readonly extended: boolean }
  | {
      readonly kind: 'histogram';
      readonly field: FieldRef;
      readonly bins: Bins;
      readonly nested: readonly Facet[];
    }
  | {
      readonly kind: 'percentiles';
      readonly field: FieldRef;
      readonly percents: readonly number[];
    };

/** A facet with buckets, in which other facets may be nested. */
export type BucketFacet = Extract<Facet, { kind: 'terms' | 'histogram' }>;

/** Returns true for a facet that may have nested facets. */
export function hasBuckets(facet: Facet): facet is BucketFacet {
  return facet.kind === 'terms' || facet.kind === 'histogram';
}

/** Returns the fields of a facet and of its nested facets. */
export function facetFields(facet: Facet): readonly FieldRef[] {
  return [facet.field, ...('nested' in facet ? facet.nested.flatMap(facetFields) : [])];
}

/**
 * Parses `facets` (query language 3.1): an object from field name to options, a list of names or one name. Returns null if the request has
 * none. Throws an `invalid` or `budget` error under the key `facets`.
 */
export function parseFacets(input: unknown, fields: FieldIndex): readonly Facet[] | null {
  return parseFacet(input, fields, 'facets', 1, { total: 0 });
}

function parseFacet(
  input: unknown,
  fields: FieldIndex,
  path: string,
  depth: number,
  seen: { total: number },
): readonly Facet[] | null {
  if (input === null || input === undefined || input === '') return null;
  const entries = facetEntries(input, path);
  if (entries.length === 0) return null;
  return entries.map(([name, options]) => {
    const facetPath = `${path}.${name.slice(0, 80)}`;
    try {
      seen.total += 1;
      if (seen.total > budgets.facets)
        throw new Problem(
          `A request takes at most ${budgets.facets} facets, nested ones included: ask for the others in a second request`,
          true,
        );
      if (depth > budgets.facetDepth) {
        throw new Problem(
          `Facets nest at most ${budgets.facetDepth} levels deep: ask for the inner ones in a second request, with a filter on the outer field`,
          true,
        );
      }
      const row = fields.find(name);
      if (!row) throw new Problem(unknownFieldMessage(name, fields));
      const givenOptions = readFacetOptions(options);
      const kind = readFacetKind(givenOptions.get('facet_type'), row.name, row.dataType);
      const field = fieldRef(row);
      const nested =
        parseFacet(givenOptions.get('facets'), fields, `${facetPath}.facets`, depth + 1, seen) ??
        [];
      if (nested.length > 0 && kind !== 'terms' && kind !== 'histogram')
        throw new Problem('Facets nest only under terms and histogram');
      if (kind === 'terms')
        return { kind, field, limit: readTermLimit(givenOptions.get('limit')), nested };
      if (kind === 'stats')
        return { kind, field, extended: readFlag(givenOptions.get('extended')) };
      if (kind === 'histogram') {
        const bins = parseBins(givenOptions.get('interval'), givenOptions.get('scale'), field.type);
        return { kind, field, bins, nested };
      }
      if (kind === 'percentiles')
        return { kind, field, percents: readPercents(givenOptions.get('percents')) };
      return { kind, field };
    } catch (error) {
      if (error instanceof Problem) throw errorOfProblem('facets', facetPath, error);
      throw error;
    }
  });
}

function facetEntries(input: unknown, path: string): (readonly [string, unknown])[] {
  if (typeof input === 'string') return [[input, null]];
  if (Array.isArray(input)) {
    const list: readonly unknown[] = input;
    return [...new Set(list)].map((name) => {
      if (typeof name !== 'string')
        throw invalidError(
          'facets',
          `Expected field names in ${path}, not ${valueForMessage(name)}`,
        );
      return [name, null];
    });
  }
  if (typeof input === 'object' && input !== null) return Object.entries(input);
  throw invalidError(
    'facets',
    `Expected an object of facets in ${path}, not ${valueForMessage(input)}`,
  );
}

function readFacetOptions(input: unknown): ReadonlyMap<string, unknown> {
  if (input === null || input === undefined) return new Map();
  if (typeof input !== 'object' || Array.isArray(input))
    throw new Problem(`Expected options, not ${valueForMessage(input)}`);
  const givenOptions = Object.entries(input).filter(([, value]) => value !== null);
  const unknown = givenOptions.find(([key]) => !facetOptions.has(key));
  if (unknown) {
    const [key] = unknown;
    const meant = suggestionFor(key, facetOptions, facetOptionSynonyms);
    const fix = didYouMean(meant) || ` Known options: ${[...facetOptions].join(', ')}.`;
    throw new Problem(`Unknown facet option: ${key.slice(0, 80)}.${fix}`);
  }
  return new Map(givenOptions);
}

const facetOptions: ReadonlySet<string> = new Set([
  'facet_type',
  'limit',
  'interval',
  'scale',
  'extended',
  'percents',
  'facets',
]);

const facetOptionSynonyms: Synonyms = {
  type: ['facet_type'],
  kind: ['facet_type'],
  size: ['limit'],
  top: ['limit'],
  bins: ['interval'],
  width: ['interval'],
  percentiles: ['percents'],
  quantiles: ['percents'],
  aggs: ['facets'],
  nested: ['facets'],
};

type FacetKind = Facet['kind'];

const facetKinds: readonly FacetKind[] = ['terms', 'count', 'stats', 'histogram', 'percentiles'];

const facetKindSynonyms: Synonyms = {
  values: ['terms'],
  top: ['terms'],
  cardinality: ['count'],
  distinct: ['count'],
  unique: ['count'],
  nunique: ['count'],
  avg: ['stats'],
  mean: ['stats'],
  sum: ['stats'],
  min: ['stats'],
  max: ['stats'],
  std: ['stats'],
  summary: ['stats'],
  hist: ['histogram'],
  bins: ['histogram'],
  datehistogram: ['histogram'],
  median: ['percentiles'],
  quantiles: ['percentiles'],
};

/** Returns the kinds of facets that a field can have (query language 3.1), the default first; `_id` has no default. */
function facetKindsOfType(name: string, type: DataType): readonly FacetKind[] {
  if (name === '_id') return ['count'];
  if (isNumeric(type)) return ['stats', 'histogram', 'percentiles', 'count', 'terms'];
  if (type === 'date') return ['terms', 'count', 'histogram'];
  if (type === 'string' || type === 'boolean' || type === 'auto') return ['terms', 'count'];
  return [];
}

function readFacetKind(asked: unknown, name: string, type: DataType): FacetKind {
  const possibleKinds = facetKindsOfType(name, type);
  if (possibleKinds.length === 0) throw new Problem(`Field ${name} of type ${type} has no facets`);
  if (asked === undefined || asked === '') {
    if (name === '_id') throw new Problem('Field _id has no terms facet; ask for facet_type count');
    return possibleKinds[0]!;
  }
  const kind = possibleKinds.find((candidate) => candidate === asked);
  if (kind) return kind;
  if (!facetKinds.includes(asked as FacetKind)) {
    const meant = suggestionFor(String(asked), facetKinds, facetKindSynonyms);
    const fix = didYouMean(meant) || ` Known types: ${facetKinds.join(', ')}.`;
    throw new Problem(`Unknown facet_type: ${valueForMessage(asked)}.${fix}`);
  }
  throw new Problem(
    `Field ${name} of type ${type} has no ${asked as string} facet; it has ${possibleKinds.join(', ')}`,
  );
}

function readTermLimit(input: unknown): number {
  if (input === undefined) return 10;
  const limit = readNumber(input);
  if (typeof limit !== 'bigint' || limit < 0n || limit > BigInt(budgets.facetTerms)) {
    throw new Problem(
      `The limit of a facet is a whole number from 1 to ${budgets.facetTerms}, or 0 for all terms, not ${valueForMessage(input)}`,
    );
  }
  return limit === 0n ? Infinity : Number(limit);
}

function readFlag(input: unknown): boolean {
  if (input === undefined) return false;
  if (typeof input === 'boolean') return input;
  const word = typeof input === 'string' ? input.toLowerCase() : '';
  if (word === 'true' || word === 'false') return word === 'true';
  throw new Problem(`extended is true or false, not ${valueForMessage(input)}`);
}

function readPercents(input: unknown): readonly number[] {
  if (input === undefined) return [1, 5, 25, 50, 75, 95, 99];
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (list.length === 0 || list.length > 1000)
    throw new Problem('percents takes 1 to 1000 numbers');
  return list.map((member) => {
    const percent = Number(readNumber(member));
    if (percent < 0 || percent > 100)
      throw new Problem(`percents lie from 0 to 100, not ${valueForMessage(member)}`);
    return percent;
  });
}

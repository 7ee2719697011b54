import type { Snapshot } from '../../store/store.js';
import type { Facet } from '../request/facets.js';
import type { Predicate } from '../predicate/predicate.js';
import type { QueryRequest } from '../request/request.js';

/** Below this many rows everything is quick. */
const smallTable = 500_000;
/** What a sort or a facet keeps at most to stay light. */
const fewRows = 10_000;
const fewValues = 1_000;

/**
 * True for a query that may keep the processor for seconds: one that sorts deep, counts a great many terms, looks into every text,
 * compares with a long list, or counts what each condition leaves. Such queries take turns (lanes.ts), so that the others stay quick.
 */
export function mayTakeLong({ rows }: Snapshot, request: QueryRequest): boolean {
  if (rows < smallTable) return false;
  const sortsDeep = request.ordering.length > 0 && request.offset + request.limit > fewRows;
  return (
    request.explain !== undefined ||
    sortsDeep ||
    request.ordering.length > 3 ||
    request.facets?.some(isHeavyFacet) === true ||
    (request.facets?.length ?? 0) > 5 ||
    looksFar(request.predicate)
  );
}

/** What no statistics of the files can answer. */
const far: ReadonlySet<Predicate['kind']> = new Set([
  'regexp',
  'words',
  'contains',
  'phrase',
  'wildcard',
]);

function isHeavyFacet(facet: Facet): boolean {
  if (facet.kind === 'count' || facet.kind === 'percentiles') return true;
  if (facet.kind === 'stats') return false;
  return facet.nested.length > 0 || (facet.kind === 'terms' && facet.limit > fewRows);
}

function looksFar(predicate: Predicate): boolean {
  if (predicate.kind === 'and' || predicate.kind === 'or') return predicate.items.some(looksFar);
  if (predicate.kind === 'not') return looksFar(predicate.item);
  if (predicate.kind === 'in') return predicate.values.length > fewValues;
  return far.has(predicate.kind);
}

import type { Snapshot } from '../../store/store.js';
import type { Place } from '../plan/column-engine.js';
import type { QueryRequest } from '../request/request.js';

/** The request for the records at these places, in their order, over a snapshot of their files alone. */
export function atPlaces(
  snapshot: Snapshot,
  { walk: _walk, ...request }: QueryRequest,
  places: readonly Place[],
): { readonly snapshot: Snapshot; readonly request: QueryRequest } {
  const segments = [...new Set(places.map(([segment]) => segment))].sort((a, b) => a - b);
  const files = [snapshot.files[0]!, ...segments.map((segment) => snapshot.files[segment + 1]!)];
  const fileOf = new Map(segments.map((segment, i) => [segment, BigInt(i + 1)]));
  const list = places.map(([segment, row]) => (fileOf.get(segment)! << 32n) + BigInt(row));
  const narrowed = {
    ...snapshot,
    files,
    segments: segments.map((segment) => snapshot.segments[segment]!),
    rows: places.length === 0 ? 0 : snapshot.rows,
  };
  return {
    snapshot: narrowed,
    request: { ...request, places: list, ordering: [], offset: 0, scores: [], facets: null },
  };
}

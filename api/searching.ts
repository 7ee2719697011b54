import { accessOf } from '../engine/catalog/access.js';
import { documentFields, type SearchDocument } from '../engine/search/document.js';
import { shownValue } from '../engine/search/facets.js';
import { parseSearch, type SearchRequest } from '../engine/search/request.js';
import { search } from '../engine/search/search.js';
import type { Parts } from './parts.js';
import type { Caller } from './request.js';

/** What the caller finds of all that they may read (contract 8.7). */
export async function searchAnswer(
  parts: Parts,
  caller: Caller,
  body: unknown,
  signal: AbortSignal,
): Promise<object> {
  const request = parseSearch(body);
  const answer = await search(parts.catalog.search, accessOf(caller), request, { signal });
  return {
    took: answer.took,
    total: answer.total,
    offset: answer.offset,
    results: answer.documents.map((document) => view(document, request)),
    ...(answer.facets && { facets: answer.facets }),
    ...(answer.vaults && {
      vaults: answer.vaults.map(({ vault, count }) => ({
        id: vault.id,
        name: vault.name,
        full_path: vault.fullPath,
        count,
      })),
    }),
    subjects_count: 0,
  };
}

/** A document with the fields asked for. */
function view(document: SearchDocument, { fields, excludeFields }: SearchRequest): object {
  const names = fields ? fields.map(([name]) => name!) : [...documentFields.keys()];
  const excluded = new Set(excludeFields.map(([name]) => name!));
  const shown = names.filter((name) => !excluded.has(name));
  return Object.fromEntries(
    shown.map((name) => {
      const field = documentFields.get(name)!;
      const value = field.read(document);
      const isSingle = value !== null && typeof value !== 'object';
      return [name, isSingle ? shownValue(field, value) : value];
    }),
  );
}

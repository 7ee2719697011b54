import type { DatasetField } from '../core/dataset-field.js';
import { invalid } from '../core/errors.js';
import { readEntities, type AskedEntity } from '../query/request/entities.js';
import { looseField, type FieldIndex } from '../query/request/fields.js';
import { and, node } from '../query/predicate/predicate.js';
import { parseDocumentQuery, type QueryRequest } from '../query/request/request.js';
import { show } from '../query/request/problem.js';
import { documentFields } from './document.js';

/** A checked search. */
export interface SearchRequest extends QueryRequest {
  /** Choice: `access` leaves out the vaults that the user may read only because everybody may; the others are one. */
  readonly vaultScope: 'all' | 'any' | 'access';
  readonly includeVaults: boolean;
  /** What datasets have to hold to be found; empty if nothing of the kind is asked for. */
  readonly entities: readonly AskedEntity[];
  /** Choice: any of them is enough where the request does not say. */
  readonly entitiesMatch: 'any' | 'all';
  readonly includeSubjects: 'none' | 'some' | 'all';
}

/** What a term without a field looks into. */
const searched = ['name', 'full_path', 'description', 'tags'];

const rows: ReadonlyMap<string, DatasetField> = new Map(
  [...documentFields.values()].map(({ name, type, isList }) => [
    name,
    looseField([name], type, { isList }),
  ]),
);
const index: FieldIndex = {
  find: (name) => rows.get(name),
  rows: searched.map((name) => rows.get(name)!),
};

/**
 * Parses the body of a search (contract 8.7): the parts of a query over the fields of documents. A 400 names everything that
 * is wrong.
 */
export function parseSearch(body: unknown): SearchRequest {
  const request = parseDocumentQuery(body, index);
  const given = (body ?? {}) as Readonly<Record<string, unknown>>;
  const isAll = flag('include_all_subjects', given);
  return {
    ...request,
    vaultScope: choice('vault_scope', given, ['all', 'any', 'access']),
    includeVaults: flag('include_vaults', given),
    entities: readEntities(given['entities']),
    entitiesMatch: choice('entities_match', given, ['any', 'all']),
    includeSubjects: isAll ? 'all' : flag('include_subjects', given) ? 'some' : 'none',
  };
}

/** The same search among these datasets alone. */
export function amongDatasets(request: SearchRequest, ids: readonly number[]): SearchRequest {
  const field = { name: 'id', path: ['id'], type: 'long' } as const;
  const type = { name: 'type', path: ['type'], type: 'string' } as const;
  const isOne = node({ kind: 'in', field, values: ids.map(BigInt), ignoreCase: false });
  const isDataset = node({ kind: 'in', field: type, values: ['dataset'], ignoreCase: false });
  return { ...request, predicate: and([isDataset, isOne, request.predicate]) };
}

/** One of these words; the first if not given. */
function choice<W extends string>(
  key: string,
  body: Readonly<Record<string, unknown>>,
  words: readonly [W, ...W[]],
): W {
  const value = body[key];
  if (value === undefined || value === null || value === '') return words[0];
  const found = words.find((word) => word === value);
  if (found === undefined) {
    const expected = `${words.slice(0, -1).join(', ')} or ${words.at(-1)!}`;
    throw invalid(key, `Expected ${expected}, not ${show(value)}`);
  }
  return found;
}

/** True, false, or those words; false if not given. */
function flag(key: string, body: Readonly<Record<string, unknown>>): boolean {
  const value = body[key] ?? false;
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (word === true || word === 'true' || word === 1 || word === '1') return true;
  if (word === false || word === 'false' || word === '' || word === 0 || word === '0') return false;
  throw invalid(key, `Expected true or false, not ${show(value)}`);
}

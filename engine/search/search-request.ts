import type { DatasetField } from '../core/dataset-field.js';
import { invalidError } from '../core/errors.js';
import { readEntities, type EntityCondition, type GeneNames } from '../query/request/entities.js';
import { uncataloguedField, type FieldIndex } from '../query/request/field-index.js';
import { and, freezePredicate } from '../query/predicate/predicate.js';
import { parseDocumentQuery, type QueryRequest } from '../query/request/query-request.js';
import { valueForMessage } from '../query/request/problem.js';
import { documentFieldByName } from './document.js';

/** A parsed and validated search. */
export interface SearchRequest extends QueryRequest {
  /** Choice: `access` excludes vaults that are readable only because they are public; `all` and `any` are synonyms. */
  readonly vaultScope: 'all' | 'any' | 'access';
  readonly includeVaults: boolean;
  /** Entities that a dataset must contain to match; empty for no restriction. */
  readonly entities: readonly EntityCondition[];
  /** Choice: without `entities_match`, a dataset matches if it contains any of the entities. */
  readonly entitiesMatch: 'any' | 'all';
  readonly includeSubjects: 'none' | 'some' | 'all';
}

/** The fields in which a term without a field is searched. */
const searchedFields = ['name', 'full_path', 'description', 'tags'];

const fieldsByName: ReadonlyMap<string, DatasetField> = new Map(
  [...documentFieldByName.values()].map(({ name, type, isList }) => [
    name,
    uncataloguedField([name], type, { isList }),
  ]),
);
const documentFieldIndex: FieldIndex = {
  find: (name) => fieldsByName.get(name),
  fields: searchedFields.map((name) => fieldsByName.get(name)!),
  names: () => [...fieldsByName.keys()],
};

/**
 * Parses the body of a search (contract 8.7): a query over the fields of documents. Throws `invalid`, or `budget` if the query is too
 * large.
 */
export function parseSearch(body: unknown, genes?: GeneNames): SearchRequest {
  const request = parseDocumentQuery(body, documentFieldIndex);
  const givenBody = (body ?? {}) as Readonly<Record<string, unknown>>;
  const isAll = readFlag('include_all_subjects', givenBody);
  return {
    ...request,
    vaultScope: readChoice('vault_scope', givenBody, ['all', 'any', 'access']),
    includeVaults: readFlag('include_vaults', givenBody),
    entities: readEntities(givenBody['entities'], genes),
    entitiesMatch: readChoice('entities_match', givenBody, ['any', 'all']),
    includeSubjects: isAll ? 'all' : readFlag('include_subjects', givenBody) ? 'some' : 'none',
  };
}

/**
 * Returns whether a text is meant as a query string, because it has an operator such as AND, a field of documents with a value, or the
 * wildcard `*`.
 * Choice: the filter `query` of lists searches any other text, with or without `?`, as a part of names and paths.
 */
export function isQueryString(text: string): boolean {
  const combines = /(?:^|[\s)])(?:AND|OR|NOT)(?:[\s(]|$)/.test(text);
  const fieldNames = text.matchAll(/(?:^|[\s(+-])(\w+):\S/g);
  return (
    combines || text.includes('*') || [...fieldNames].some(([, name]) => fieldsByName.has(name!))
  );
}

/** Returns the same search, restricted to these datasets. */
export function restrictToDatasets(request: SearchRequest, ids: readonly number[]): SearchRequest {
  const field = { name: 'id', path: ['id'], type: 'long' } as const;
  const type = { name: 'type', path: ['type'], type: 'string' } as const;
  const isOne = freezePredicate({ kind: 'in', field, values: ids.map(BigInt), ignoreCase: false });
  const isDataset = freezePredicate({
    kind: 'in',
    field: type,
    values: ['dataset'],
    ignoreCase: false,
  });
  return { ...request, predicate: and([isDataset, isOne, request.predicate]) };
}

/** Returns the value of a key that must be one of these strings; the first string if the key is absent, null or empty. */
function readChoice<W extends string>(
  key: string,
  body: Readonly<Record<string, unknown>>,
  options: readonly [W, ...W[]],
): W {
  const value = body[key];
  if (value === undefined || value === null || value === '') return options[0];
  const option = options.find((each) => each === value);
  if (option === undefined) {
    const expected = `${options.slice(0, -1).join(', ')} or ${options.at(-1)!}`;
    throw invalidError(key, `Expected ${expected}, not ${valueForMessage(value)}`);
  }
  return option;
}

/** Returns the value of a boolean key, which may also be a string or 0 or 1; false if absent, null or empty. */
function readFlag(key: string, body: Readonly<Record<string, unknown>>): boolean {
  const value = body[key] ?? false;
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (word === true || word === 'true' || word === 1 || word === '1') return true;
  if (word === false || word === 'false' || word === '' || word === 0 || word === '0') return false;
  throw invalidError(key, `Expected true or false, not ${valueForMessage(value)}`);
}

import type { FieldRow } from '../catalog/rows.js';
import { invalid } from '../errors.js';
import type { FieldIndex } from '../query/fields.js';
import { parseDocumentQuery, type QueryRequest } from '../query/request.js';
import { show } from '../query/problem.js';
import { documentFields, type DocumentField } from './document.js';

const scopes = ['all', 'any', 'access'] as const;

/** A checked search. */
export interface SearchRequest extends QueryRequest {
  /** Choice: `access` leaves out the vaults that the user may read only because everybody may; the others are one. */
  readonly vaultScope: (typeof scopes)[number];
  readonly includeVaults: boolean;
}

/** What a term without a field looks into. */
const searched = ['name', 'full_path', 'description', 'tags'];

const rows: ReadonlyMap<string, FieldRow> = new Map(
  [...documentFields.values()].map((field) => [field.name, rowOf(field)]),
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
  const { entities } = given;
  const isAsked = Array.isArray(entities) ? entities.length > 0 : (entities ?? '') !== '';
  if (isAsked) throw invalid('entities', 'entities is not supported yet');
  const asked = given['vault_scope'] ?? 'all';
  const vaultScope = scopes.find((scope) => scope === asked || asked === '');
  if (vaultScope === undefined)
    throw invalid('vault_scope', `Expected all, any or access, not ${show(asked)}`);
  return { ...request, vaultScope, includeVaults: flag('include_vaults', given) };
}

/** True, false, or those words; false if not given. */
export function flag(key: string, body: Readonly<Record<string, unknown>>): boolean {
  const value = body[key] ?? false;
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (word === true || word === 'true' || word === 1 || word === '1') return true;
  if (word === false || word === 'false' || word === '' || word === 0 || word === '0') return false;
  throw invalid(key, `Expected true or false, not ${show(value)}`);
}

function rowOf({ name, type, isList }: DocumentField): FieldRow {
  return {
    id: 0,
    datasetId: 0,
    name,
    path: [name],
    title: name,
    description: '',
    dataType: type,
    isList,
    entityType: null,
    expression: null,
    isHidden: false,
    isReadOnly: true,
    isValid: true,
    ordering: null,
    dependsOn: [],
    urlTemplate: null,
    createdAt: 0,
    updatedAt: 0,
  };
}

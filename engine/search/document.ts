import type { SearchColumn, SearchObject, SearchVault } from './table.js';

/** The kinds of documents: vaults, and each type of object. */
export type DocumentType = 'vault' | SearchObject['objectType'];

/** A vault, or an object with its vault: the unit that searches find. */
export interface SearchDocument {
  readonly vault: SearchVault;
  /** The object; null for the vault itself. */
  readonly object: SearchObject | null;
}

/** The value of a field of a document. Times are microseconds since 1970 UTC, as in predicates. */
export type DocumentValue = string | number | null | readonly string[];

/** A field that searches can use in conditions, orderings and facets. */
export interface DocumentField {
  readonly name: string;
  readonly type: 'string' | 'text' | 'long' | 'date';
  readonly isList: boolean;
  /** The columns of an object that `read` needs. */
  readonly columns: readonly SearchColumn[];
  /** True if many documents have the same value, so that the results of tests are cached. */
  readonly isShared: boolean;
  readonly read: (document: SearchDocument) => DocumentValue;
}

/** The last component of a path. */
function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The last component of the parent's path; null at the root. */
function parentName(path: string): string | null {
  const end = path.lastIndexOf('/');
  return end <= 0 ? null : path.slice(path.lastIndexOf('/', end - 1) + 1, end);
}

function fieldOfDocument(
  name: string,
  type: DocumentField['type'],
  columns: readonly SearchColumn[],
  read: DocumentField['read'],
  more: { readonly isList?: true; readonly isShared?: true } = {},
): DocumentField {
  const { isList = false, isShared = false } = more;
  return { name, type, columns, read, isList, isShared };
}

const fullPath: DocumentField['read'] = ({ vault, object }) =>
  object ? `${vault.fullPath}:${object.path!}` : vault.fullPath;
const updatedTime: DocumentField['read'] = ({ vault, object }) =>
  (object ?? vault).updatedAt! * 1_000;

/** The fields of documents by name (contract 8.7). */
export const documentFields: ReadonlyMap<string, DocumentField> = new Map(
  [
    fieldOfDocument('_id', 'string', [], (document) => `${typeOf(document)}-${idOf(document)}`),
    fieldOfDocument('id', 'long', [], idOf),
    fieldOfDocument('type', 'string', [], typeOf, { isShared: true }),
    fieldOfDocument('name', 'string', ['path'], ({ vault, object }) =>
      object ? lastName(object.path!) : vault.name,
    ),
    fieldOfDocument('full_path', 'string', ['path'], fullPath),
    fieldOfDocument('path', 'string', ['path'], fullPath),
    fieldOfDocument(
      'parent',
      'string',
      ['path'],
      ({ object }) => object && parentName(object.path!),
      {
        isShared: true,
      },
    ),
    fieldOfDocument('parent_id', 'long', ['parentId'], ({ object }) => object && object.parentId!),
    fieldOfDocument('vault', 'string', [], ({ vault }) => vault.name, { isShared: true }),
    fieldOfDocument('vault_id', 'long', [], ({ vault }) => vault.id, { isShared: true }),
    fieldOfDocument('user', 'string', ['user'], ({ vault, object }) => (object ?? vault).user!, {
      isShared: true,
    }),
    fieldOfDocument('tags', 'string', ['tags'], tagsOf, { isList: true }),
    fieldOfDocument(
      'storage_class',
      'string',
      ['storageClass'],
      ({ vault, object }) => (object ?? vault).storageClass!,
      { isShared: true },
    ),
    fieldOfDocument(
      'description',
      'text',
      ['description'],
      ({ vault, object }) => (object ?? vault).description!,
    ),
    fieldOfDocument(
      'created_at',
      'date',
      ['createdAt'],
      ({ vault, object }) => (object ?? vault).createdAt! * 1_000,
    ),
    fieldOfDocument('updated_at', 'date', ['updatedAt'], updatedTime),
    // Choice: searches read the catalogue itself, so the time of indexing (`indexed_at`) is the time of the last change.
    fieldOfDocument('indexed_at', 'date', ['updatedAt'], updatedTime),
  ].map((one) => [one.name, one]),
);

/** The field with this name; throws if there is none. */
export function documentField(name: string): DocumentField {
  const found = documentFields.get(name);
  if (!found) throw new Error(`documents have no field ${name}`);
  return found;
}

/** `vault`, or the type of the object. */
export function typeOf({ object }: SearchDocument): DocumentType {
  return object ? object.objectType : 'vault';
}

function idOf({ vault, object }: SearchDocument): number {
  return (object ?? vault).id;
}

function tagsOf({ vault, object }: SearchDocument): readonly string[] {
  if (!object) return vault.tags;
  return object.tags === '[]' ? [] : (JSON.parse(object.tags!) as string[]);
}

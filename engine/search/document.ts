import type { SearchColumn, SearchObject, SearchVault } from './search-tables.js';

/** The kinds of documents: vaults, and each type of object. */
type DocumentType = 'vault' | SearchObject['objectType'];

/** A vault, or an object with its vault: the unit that searches find. */
export interface SearchDocument {
  readonly vault: SearchVault;
  /** The object; null if the document is the vault itself. */
  readonly object: SearchObject | null;
}

/** The value of a field of a document. Times are microseconds since 1970 UTC, as in predicates. */
export type DocumentFieldValue = string | number | null | readonly string[];

/** A field that searches can use in conditions, orderings and facets. */
export interface DocumentField {
  readonly name: string;
  readonly type: 'string' | 'text' | 'long' | 'date';
  readonly isList: boolean;
  /** The columns of an object that `read` uses. */
  readonly columns: readonly SearchColumn[];
  /** True if many documents have the same value, so that the results of tests are cached. */
  readonly isShared: boolean;
  readonly read: (document: SearchDocument) => DocumentFieldValue;
}

/** Returns the last component of a path. */
function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Returns the last component of the parent's path; null at the root. */
function parentName(path: string): string | null {
  const end = path.lastIndexOf('/');
  return end <= 0 ? null : path.slice(path.lastIndexOf('/', end - 1) + 1, end);
}

function declareDocumentField(
  name: string,
  type: DocumentField['type'],
  columns: readonly SearchColumn[],
  read: DocumentField['read'],
  more: { readonly isList?: true; readonly isShared?: true } = {},
): DocumentField {
  const { isList = false, isShared = false } = more;
  return { name, type, columns, read, isList, isShared };
}

const readFullPath: DocumentField['read'] = ({ vault, object }) =>
  object ? `${vault.fullPath}:${object.path!}` : vault.fullPath;
const readUpdatedMicros: DocumentField['read'] = ({ vault, object }) =>
  (object ?? vault).updatedAt! * 1_000;

/** The fields of documents by name (contract 8.7). */
export const documentFieldByName: ReadonlyMap<string, DocumentField> = new Map(
  [
    declareDocumentField(
      '_id',
      'string',
      [],
      (document) => `${documentTypeOf(document)}-${documentIdOf(document)}`,
    ),
    declareDocumentField('id', 'long', [], documentIdOf),
    declareDocumentField('type', 'string', [], documentTypeOf, { isShared: true }),
    declareDocumentField('name', 'string', ['path'], ({ vault, object }) =>
      object ? lastName(object.path!) : vault.name,
    ),
    declareDocumentField('full_path', 'string', ['path'], readFullPath),
    declareDocumentField('path', 'string', ['path'], readFullPath),
    declareDocumentField(
      'parent',
      'string',
      ['path'],
      ({ object }) => object && parentName(object.path!),
      {
        isShared: true,
      },
    ),
    declareDocumentField(
      'parent_id',
      'long',
      ['parentId'],
      ({ object }) => object && object.parentId!,
    ),
    declareDocumentField('vault', 'string', [], ({ vault }) => vault.name, { isShared: true }),
    declareDocumentField('vault_id', 'long', [], ({ vault }) => vault.id, { isShared: true }),
    declareDocumentField(
      'user',
      'string',
      ['user'],
      ({ vault, object }) => (object ?? vault).user!,
      {
        isShared: true,
      },
    ),
    declareDocumentField('tags', 'string', ['tags'], documentTagsOf, { isList: true }),
    declareDocumentField(
      'storage_class',
      'string',
      ['storageClass'],
      ({ vault, object }) => (object ?? vault).storageClass!,
      { isShared: true },
    ),
    declareDocumentField(
      'description',
      'text',
      ['description'],
      ({ vault, object }) => (object ?? vault).description!,
    ),
    declareDocumentField(
      'created_at',
      'date',
      ['createdAt'],
      ({ vault, object }) => (object ?? vault).createdAt! * 1_000,
    ),
    declareDocumentField('updated_at', 'date', ['updatedAt'], readUpdatedMicros),
    // Choice: searches read the catalogue itself, so `indexed_at`, the time of indexing, is the time of the last change.
    declareDocumentField('indexed_at', 'date', ['updatedAt'], readUpdatedMicros),
  ].map((one) => [one.name, one]),
);

/** Returns the field with this name; throws if there is none. */
export function documentField(name: string): DocumentField {
  const field = documentFieldByName.get(name);
  if (!field) throw new Error(`documents have no field ${name}`);
  return field;
}

/** Returns `vault`, or the type of the object. */
function documentTypeOf({ object }: SearchDocument): DocumentType {
  return object ? object.objectType : 'vault';
}

function documentIdOf({ vault, object }: SearchDocument): number {
  return (object ?? vault).id;
}

function documentTagsOf({ vault, object }: SearchDocument): readonly string[] {
  if (!object) return vault.tags;
  return object.tags === '[]' ? [] : (JSON.parse(object.tags!) as string[]);
}

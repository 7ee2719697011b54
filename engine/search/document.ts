import type { SearchColumn, SearchObject, SearchVault } from './table.js';

/** What a document is about. */
export type DocumentType = 'vault' | SearchObject['objectType'];

/** A vault, or an object in one: what searches look for. Nothing of it exists without a vault that its reader may read. */
export interface SearchDocument {
  readonly vault: SearchVault;
  /** Null for the vault itself. */
  readonly object: SearchObject | null;
}

/** A value of a document: times in microseconds since 1970, as predicates have them. */
export type DocumentValue = string | number | null | readonly string[];

/** A field of documents. */
export interface DocumentField {
  readonly name: string;
  readonly type: 'string' | 'text' | 'long' | 'date';
  readonly isList: boolean;
  /** What has to be read of an object to know it. */
  readonly columns: readonly SearchColumn[];
  /** Few documents have a value of their own: what was found out about one is worth remembering. */
  readonly isShared: boolean;
  readonly read: (document: SearchDocument) => DocumentValue;
}

/** The names in a path, and where its parts begin. */
function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function parentName(path: string): string | null {
  const end = path.lastIndexOf('/');
  return end <= 0 ? null : path.slice(path.lastIndexOf('/', end - 1) + 1, end);
}

function field(
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
const updated: DocumentField['read'] = ({ vault, object }) => (object ?? vault).updatedAt! * 1_000;

/** The fields of documents by name (contract 8.7). */
export const documentFields: ReadonlyMap<string, DocumentField> = new Map(
  [
    field('_id', 'string', [], (document) => `${typeOf(document)}-${idOf(document)}`),
    field('id', 'long', [], idOf),
    field('type', 'string', [], typeOf, { isShared: true }),
    field('name', 'string', ['path'], ({ vault, object }) =>
      object ? lastName(object.path!) : vault.name,
    ),
    field('full_path', 'string', ['path'], fullPath),
    field('path', 'string', ['path'], fullPath),
    field('parent', 'string', ['path'], ({ object }) => object && parentName(object.path!), {
      isShared: true,
    }),
    field('parent_id', 'long', ['parentId'], ({ object }) => object && object.parentId!),
    field('vault', 'string', [], ({ vault }) => vault.name, { isShared: true }),
    field('vault_id', 'long', [], ({ vault }) => vault.id, { isShared: true }),
    field('user', 'string', ['user'], ({ vault, object }) => (object ?? vault).user!, {
      isShared: true,
    }),
    field('tags', 'string', ['tags'], tagsOf, { isList: true }),
    field(
      'storage_class',
      'string',
      ['storageClass'],
      ({ vault, object }) => (object ?? vault).storageClass!,
      { isShared: true },
    ),
    field(
      'description',
      'text',
      ['description'],
      ({ vault, object }) => (object ?? vault).description!,
    ),
    field(
      'created_at',
      'date',
      ['createdAt'],
      ({ vault, object }) => (object ?? vault).createdAt! * 1_000,
    ),
    field('updated_at', 'date', ['updatedAt'], updated),
    // Choice: searches look at the catalogue itself, so whatever is there is indexed.
    field('indexed_at', 'date', ['updatedAt'], updated),
  ].map((one) => [one.name, one]),
);

/** A field that is known to exist. */
export function documentField(name: string): DocumentField {
  const found = documentFields.get(name);
  if (!found) throw new Error(`documents have no field ${name}`);
  return found;
}

/** `vault`, or what kind of object it is. */
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

/** The columns of a vault that a search can use. */
export interface SearchVault {
  readonly id: number;
  readonly name: string;
  /** The full path of the vault: `acme:Lab`. */
  readonly fullPath: string;
  readonly description: string | null;
  readonly tags: readonly string[];
  /** The full name of the owner. */
  readonly user: string;
  readonly storageClass: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The columns of an object that a search can use; those that were not requested are undefined. */
export interface SearchObject {
  readonly id: number;
  readonly vaultId: number;
  readonly objectType: 'file' | 'folder' | 'dataset' | 'shortcut';
  readonly parentId?: number | null;
  readonly path?: string;
  readonly description?: string | null;
  /** The tags as JSON text. */
  readonly tags?: string;
  readonly user?: string;
  readonly storageClass?: string | null;
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

/** A column that is read only on request; id, vault and type always are. */
export type SearchColumn = Exclude<keyof SearchObject, 'id' | 'vaultId' | 'objectType'>;

/** A necessary condition of a search that SQL can check; the search checks its whole predicate on the rows that remain. */
export type SearchCondition =
  | { readonly kind: 'all' }
  | { readonly kind: 'and' | 'or'; readonly items: readonly SearchCondition[] }
  | { readonly kind: 'types'; readonly types: readonly SearchObject['objectType'][] }
  | {
      readonly kind: 'ids';
      readonly column: 'id' | 'vaultId' | 'parentId';
      readonly ids: readonly number[];
    }
  | {
      readonly kind: 'time';
      readonly column: 'createdAt' | 'updatedAt';
      readonly from: number;
      readonly to: number;
    }
  /** The column contains this ASCII text, ignoring case. */
  | {
      readonly kind: 'text';
      readonly column: 'path' | 'description' | 'tags';
      readonly text: string;
    };

/** A range of objects: ids greater than `after` and up to `upTo`, of which those that meet the condition are read. */
export interface SearchSlice {
  readonly after: number;
  readonly upTo: number;
  readonly condition: SearchCondition;
  readonly columns: ReadonlySet<SearchColumn>;
}

/**
 * The vaults and objects that a search reads; the catalogue implements it. Objects are read in slices, so that a search of a
 * large catalogue does not block other requests; a change between two slices is seen by the later one alone.
 * `Access` describes the user; a search only passes it on.
 */
export interface SearchTable<Access> {
  /** The vaults that the user may read, oldest first; `own` leaves out those that are only public. */
  vaults(access: Access, scope: 'readable' | 'own'): Promise<readonly SearchVault[]>;
  /** The id of the last of the `count` objects that follow `after`; undefined if none follows. */
  boundary(after: number, count: number): Promise<number | undefined>;
  /** The objects of a slice, oldest first, whether or not the user may read them: the caller keeps those in readable vaults. */
  objects(slice: SearchSlice): Promise<readonly SearchObject[]>;
  /** Objects with all columns, in any order. */
  byIds(ids: readonly number[]): Promise<readonly SearchObject[]>;
}

/** The columns of a vault that a search can use. */
export interface SearchVault {
  readonly id: number;
  readonly name: string;
  /** The full path of the vault: `acme:Lab`. */
  readonly fullPath: string;
  readonly description: string | null;
  readonly tags: readonly string[];
  /** The full name of the vault's owner, or the email address if they have no name. */
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

/** A column of objects that is read only on request; id, vault and type are always read. */
export type SearchColumn = Exclude<keyof SearchObject, 'id' | 'vaultId' | 'objectType'>;

/** A necessary condition of a search that SQL can check. The search then applies its whole predicate to the remaining rows. */
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

/** A range of objects: ids greater than `after` and up to `upTo`. Of these, only the objects that meet the condition are read. */
interface SearchSlice {
  readonly after: number;
  readonly upTo: number;
  readonly condition: SearchCondition;
  readonly columns: ReadonlySet<SearchColumn>;
}

/**
 * The vaults and objects that a search reads; implemented by the catalogue. Objects are read in slices, so that a search of a large
 * catalogue does not block other requests; only slices read after a change see the change.
 * `Access` describes the user; a search only passes it on.
 */
export interface SearchTable<Access> {
  /** Returns the vaults that the user may read, oldest first; `own` leaves out vaults that are readable only because they are public. */
  vaults(access: Access, scope: 'readable' | 'own'): Promise<readonly SearchVault[]>;
  /** Returns the id of the last of the `count` objects after the id `after`; undefined if none follows. */
  boundary(after: number, count: number): Promise<number | undefined>;
  /**
   * Returns the objects of a slice, oldest first, including objects that the user may not read: the caller must select those in readable
   * vaults.
   */
  objects(slice: SearchSlice): Promise<readonly SearchObject[]>;
  /** Returns the objects with these ids, with all columns and in no particular order. */
  byIds(ids: readonly number[]): Promise<readonly SearchObject[]>;
}

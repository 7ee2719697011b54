import type { Column } from '../core/types.js';
import { rowIdColumn } from '../store/row-ids.js';

/** The columns that the server adds to every segment. Fields of a record with these names are discarded, but for `givenIdColumn`. */
export const reservedNames: readonly string[] = ['_id', '_commit'];

/** DuckDB's virtual columns with the place of a row. A stored column of the same name would hide them from queries by SQL. */
const virtualColumnNames: readonly string[] = ['file_index', 'file_row_number'];

/** The column in which an import or a migration stores the ids of given records, until it knows which stored records they concern. */
export const givenIdColumn: Column = {
  name: '_id',
  physical: '_strandlake_given_id',
  type: 'string',
  isList: false,
  isDeclared: true,
};

/**
 * The column in which the records of an upsert say which fields of the dataset their expressions have computed: a text with one character
 * for each field that is not computed for all records, `1` if it was computed.
 */
export const computedMarksColumn: Column = {
  name: '_strandlake_computed',
  physical: '_strandlake_computed',
  type: 'string',
  isList: false,
  isDeclared: true,
};

/** Whether a column is only needed to find and replace stored records, so that no dataset stores it. */
export function isOfGivenRecords({ physical }: Column): boolean {
  return physical === givenIdColumn.physical || physical === computedMarksColumn.physical;
}

/**
 * The names in Parquet of the columns of one level. Query engines compare column names case-insensitively, refuse empty names, and lose
 * control characters and byte order marks. Therefore, each column gets a name without these that differs from the others not only in letter
 * case.
 */
export class PhysicalNames {
  readonly #usedNames = new Set<string>();

  /** `physical` has the names already in use; at the top level, the names of reserved, internal and virtual columns are in use as well. */
  constructor(physical: Iterable<string>, isTop: boolean) {
    for (const name of physical) this.#usedNames.add(name.toLowerCase());
    if (isTop)
      for (const name of [
        ...reservedNames,
        ...virtualColumnNames,
        rowIdColumn.physical,
        givenIdColumn.physical,
        computedMarksColumn.physical,
      ])
        this.#usedNames.add(name);
  }

  /**
   * Returns the physical name of a new column: its name, with `_` for control characters and byte order marks, if that is free and not
   * empty, else `<name>~2` and so on.
   */
  add(name: string): string {
    // oxlint-disable-next-line no-control-regex -- control characters are to be replaced
    const plain = name.replace(/[\u0000-\u001f\u007f\ufeff]/g, '_');
    let physical = plain;
    for (let n = 2; physical === '' || this.#usedNames.has(physical.toLowerCase()); n++)
      physical = `${plain}~${n}`;
    this.#usedNames.add(physical.toLowerCase());
    return physical;
  }
}

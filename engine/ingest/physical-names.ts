/** The columns that every segment has of its own; a record's own values of these names are dropped. */
export const reservedNames: readonly string[] = ['_id', '_commit'];

/**
 * Gives columns of one level their names in Parquet: engines compare those case-insensitively, and none takes an empty
 * name; control characters and byte order marks get lost on the way.
 */
export class PhysicalNames {
  readonly #taken = new Set<string>();

  /** `physical` are names given before; at the top level the reserved names are taken too. */
  constructor(physical: Iterable<string>, isTop: boolean) {
    for (const name of physical) this.#taken.add(name.toLowerCase());
    if (isTop) for (const name of reservedNames) this.#taken.add(name);
  }

  /** A name that no sibling has: the column's own where possible, else `<name>~2`, `~3`… */
  give(name: string): string {
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    const plain = name.replace(/[\u0000-\u001f\u007f\ufeff]/g, '_');
    let physical = plain;
    for (let n = 2; physical === '' || this.#taken.has(physical.toLowerCase()); n++)
      physical = `${plain}~${n}`;
    this.#taken.add(physical.toLowerCase());
    return physical;
  }
}

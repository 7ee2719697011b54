/**
 * Makes the names unique and different from `others`; null remains null. Choice: a CSV column without a name is named `column_<number>`,
 * counted from 0 as in `skipcols`; `_2`, `_3` and so on are appended to repeated names.
 */
export function uniqueNames(
  names: readonly (string | null)[],
  others: ReadonlySet<string | null | undefined> = new Set(),
): (string | null)[] {
  const allNames = new Set(names);
  const takenNames = new Set<string | null | undefined>(others);
  return names.map((name, i) => {
    if (name === null) return null;
    const wantedName = name === '' ? `column_${i}` : name;
    let freeName = wantedName;
    for (let n = 2; takenNames.has(freeName) || (freeName !== name && allNames.has(freeName)); n++)
      freeName = `${wantedName}_${n}`;
    takenNames.add(freeName);
    return freeName;
  });
}

/**
 * Choice: a CSV column is text, even if all its cells are numbers, if its name denotes chromosomes and the first rows contain only names of
 * chromosomes.
 */
export function holdsChromosomes(name: string | null, cells: readonly string[]): boolean {
  return (
    name !== null &&
    /(?:^|[^a-z])(?:chr|chrom|chromosome|seqid|seqname|contig)(?:[^a-z]|$)/i.test(name) &&
    cells.every((cell) => cell === '' || /^(?:chr)?(?:[1-9]|1\d|2[0-6]|X|Y|XY|MT?)$/i.test(cell))
  );
}

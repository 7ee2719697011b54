/** The words of a field's name in lower case: `GeneSymbol`, `gene_symbol` and `@Gene.symbol1` begin with the same two. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])|([A-Za-z])(?=[0-9])/g, '$1$3 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** Whether one of these is among the words. */
export function hasWord(words: readonly string[], ...wanted: readonly string[]): boolean {
  return words.some((word) => wanted.includes(word));
}

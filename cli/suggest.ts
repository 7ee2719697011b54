/** The known word closest to a mistyped one, if any is close. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, steps: distance(word, name) }))
    .sort((a, b) => a.steps - b.steps);
  return best && best.steps <= Math.max(2, Math.floor(best.name.length / 3))
    ? best.name
    : undefined;
}

/** How many letters to insert, drop, change or swap with the next to get from one word to the other. */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let j = 0; j <= b.length; j++) (rows[0] ?? [])[j] = j;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let steps = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        steps = Math.min(steps, at(i - 2, j - 2) + 1);
      }
      (rows[i] ?? [])[j] = steps;
    }
  }
  return at(a.length, b.length);
}

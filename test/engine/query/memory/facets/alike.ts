/** What depends on the order in which the SQL engine's threads add: the last digits of these members of statistics. */
const inexact = new Set([
  'avg',
  'sum',
  'sum_of_squares',
  'variance',
  'std_deviation',
  'upper',
  'lower',
]);

/** True if two answers are the same text but for the last digits of sums of doubles. */
export function alikeTexts(found: string, wanted: string): boolean {
  if (found === wanted) return true;
  // Which zero is the smallest depends on the order, too.
  const [some, others] = [found, wanted].map((text) => pieces(text.replaceAll(/-0\.0(?!\d)/g, '0.0'))) as [readonly string[], readonly string[]]; // prettier-ignore
  if (some.length !== others.length) return false;
  // A deviation of nothing may come out as the root of a rounding.
  return some.every((piece, index) => {
    const other = others[index]!;
    if (piece === other) return true;
    const [name, value] = piece.split(':') as [string, string | undefined];
    const [otherName, otherValue] = other.split(':') as [string, string | undefined];
    if (name !== otherName || !inexact.has(name.slice(1, -1))) return false;
    const [a, b] = [Number(value), Number(otherValue)];
    return Math.abs(a - b) <= 1e-9 * (Math.abs(a) + Math.abs(b)) + 1e-6;
  });
}

/** Numbers with the name before them, and what stands in between. */
function pieces(text: string): readonly string[] {
  return text.split(/("[a-z_]+":-?[0-9][0-9.e+-]*)/);
}

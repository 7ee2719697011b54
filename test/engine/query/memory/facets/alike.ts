/** Statistics whose last digits depend on the order in which the threads of the SQL engine add values. */
const inexactStatistics = new Set([
  'avg',
  'sum',
  'sum_of_squares',
  'variance',
  'std_deviation',
  'upper',
  'lower',
]);

/** Returns an answer with its numbers as ECMAScript writes them; the SQL engine writes `1.0` and `-0.0`. */
function withPlainNumbers(answer: string): string {
  return answer.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*/g, (token) =>
    token.startsWith('"') || /^-?\d+$/.test(token) ? token : String(Number(token)),
  );
}

/** Returns whether two answers are equal, except for the notation of numbers and for the last digits of `inexactStatistics`. */
export function areAlikeAnswers(answer: string, sqlText: string): boolean {
  const sqlAnswer = withPlainNumbers(sqlText);
  if (answer === sqlAnswer) return true;
  const [pieces, sqlPieces] = [splitAtNumbers(withPlainNumbers(answer)), splitAtNumbers(sqlAnswer)];
  if (pieces.length !== sqlPieces.length) return false;
  // An absolute tolerance is needed, too: a standard deviation of zero may be the square root of a rounding error.
  return pieces.every((piece, index) => {
    const sqlPiece = sqlPieces[index]!;
    if (piece === sqlPiece) return true;
    const [name, value] = piece.split(':') as [string, string | undefined];
    const [sqlName, sqlValue] = sqlPiece.split(':') as [string, string | undefined];
    if (name !== sqlName || !inexactStatistics.has(name.slice(1, -1))) return false;
    const [a, b] = [Number(value), Number(sqlValue)];
    return Math.abs(a - b) <= 1e-9 * (Math.abs(a) + Math.abs(b)) + 1e-6;
  });
}

/** Splits the JSON text of an answer into the numbers that are members of objects, each with its name, and the text between them. */
function splitAtNumbers(text: string): readonly string[] {
  return text.split(/("[a-z_]+":-?[0-9][0-9.e+-]*)/);
}

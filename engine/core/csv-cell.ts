/**
 * A cell of a CSV line (RFC 4180), or of one with another `delimiter`: quoted if it holds the delimiter, a quote or a line
 * break, or nothing at all, because no value is an empty cell. Formula-safe text that a spreadsheet would run gets a `'` in
 * front (threats D3).
 */
export function csvCell(text: string | null, isFormulaSafe: boolean, delimiter = ','): string {
  if (text === null) return '';
  const isFormula = isFormulaSafe && /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text));
  const safe = isFormula ? `'${text}` : text;
  const isQuoted = safe === '' || /["\r\n]/.test(safe) || safe.includes(delimiter);
  return isQuoted ? `"${safe.replaceAll('"', '""')}"` : safe;
}

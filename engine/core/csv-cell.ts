/**
 * Formats a cell of a CSV line (RFC 4180; `delimiter` may differ). A text is quoted if it contains the delimiter, a quote or a line break;
 * an empty text also, because an empty cell stands for null. If `isFormulaSafe`, a text that a spreadsheet would evaluate is prefixed with
 * `'` (threats D3).
 */
export function csvCell(text: string | null, isFormulaSafe: boolean, delimiter = ','): string {
  if (text === null) return '';
  const isFormula = isFormulaSafe && /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text));
  const safe = isFormula ? `'${text}` : text;
  const isQuoted = safe === '' || /["\r\n]/.test(safe) || safe.includes(delimiter);
  return isQuoted ? `"${safe.replaceAll('"', '""')}"` : safe;
}

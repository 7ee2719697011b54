import type { Columns } from '../core/types.js';
import type { Finding, Findings } from './findings.js';
import { unifyChunkColumns } from './unify-columns.js';
import { codes } from './validation-codes.js';

/**
 * Corrects the warnings that depend on the type of a field in all chunks of a file, which the reader of one chunk does not know. In a field
 * of strings, NaN and infinity are not stored as null. A field of whole numbers becomes a `long` only if all chunks contain whole numbers,
 * which is reported once. A long string does not change a field to `text` if other values make it JSON. `chunks` are the columns found in
 * the chunks.
 */
export function resolveTypeDependentWarnings(
  findings: Findings,
  chunks: readonly Columns[],
): Findings {
  const counts = { ...findings.counts };
  let { warnings } = findings;
  const examples: Finding[] = [];
  const unified = chunks.reduce(unifyChunkColumns, []);
  for (const example of findings.examples) {
    const count = resolvedWarningCount(example, chunks, unified);
    const { code } = example;
    const removedCount = example.count - count;
    counts[code] = counts[code]! - removedCount;
    if (counts[code] === 0) delete counts[code];
    warnings -= removedCount;
    if (count > 0) examples.push({ ...example, count });
  }
  return { ...findings, counts, warnings, examples };
}

function resolvedWarningCount(
  { code, level, line, field, count }: Finding,
  chunks: readonly Columns[],
  unified: Columns,
): number {
  if (level === 'warning' && code === codes.stringLength && field !== null)
    return isWithinJsonField(unified, field) ? 0 : count;
  const isOfType = line === 0 && code === codes.invalidValue;
  if (level !== 'warning' || !(isOfType || code === codes.nan || code === codes.infinity))
    return count;
  const chunkColumns = chunks.flatMap((columns) => columns.filter(({ name }) => name === field));
  if (chunkColumns.length === 0) return count;
  const filled = chunkColumns.filter(
    (column) => column.seen !== 'null' && column.seen !== 'missing',
  );
  if (filled.some(({ type }) => type === 'string' || type === 'text')) return 0;
  if (isOfType) return filled.every(({ type, isWhole }) => type === 'long' || isWhole) ? 1 : 0;
  return chunkColumns.every(({ type }) => type === 'string') ? 0 : count;
}

/** Whether a field, given by its dotted name, is stored as JSON text or inside of such a field. */
function isWithinJsonField(columns: Columns, field: string): boolean {
  return columns.some(({ name, type, children }) => {
    if (field !== name && !field.startsWith(`${name}.`)) return false;
    return type === 'json' || isWithinJsonField(children ?? [], field.slice(name.length + 1));
  });
}

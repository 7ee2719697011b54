import type { ListBuilder } from '../../engine/ingest/nested-builders.js';
import { appendAnnotations } from './annotation-values.js';
import { KeyKind, type KeyBuilder, type ValueFault, type ValueReport } from './key-builder.js';
import { appendLongText, appendSingleValue } from './single-values.js';

/**
 * Appends the value `bytes[from..to)` to the column of a key, which the caller has filled up to the current record; returns null, or the
 * fault of a value that was not appended. `decode`: percent-encoded characters are decoded (VCF 4.3, section 1.2).
 * Choice: NaN and infinity in a VCF file are stored as null with a warning, because gnomAD and GATK write them; in a field whose type
 * somebody declared, they are errors.
 */
export function appendValue(
  entry: KeyBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
  report: ValueReport,
): ValueFault | null {
  if (entry.kind === KeyKind.Annotation)
    return appendAnnotations(entry, bytes, from, to, decode, report);
  if (!entry.isList) return appendListItem(entry, bytes, from, to, decode, report);
  if (from === to || (to - from === 1 && bytes[from] === 46)) {
    entry.column.appendNull();
    return null;
  }
  const { separator, otherSeparator } = entry;
  for (let at = from; ;) {
    let end = at;
    while (end < to && bytes[end] !== separator && bytes[end] !== otherSeparator) end++;
    const fault = appendListItem(entry, bytes, at, end, decode, report);
    if (fault !== null) return fault;
    if (end === to) break;
    at = end + 1;
  }
  (entry.column as ListBuilder).endList();
  return null;
}

function appendListItem(
  entry: KeyBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
  report: ValueReport,
): ValueFault | null {
  const fault = appendSingleValue(entry.items, entry.kind, bytes, from, to, decode);
  if (fault?.isLongText) return appendLongText(entry, entry.items, bytes, from, to, decode, report);
  if (fault === null || fault.isNonFinite !== true || entry.isDeclared) return fault;
  if (!report.warnOrRefuse(entry, fault.code, `${fault.message}: null is stored`))
    return { ...fault, isReported: true };
  entry.items.appendNull();
  return null;
}

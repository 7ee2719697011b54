import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import { ListBuilder, StructBuilder } from '../../engine/ingest/nested-builders.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import { keyKindOf, type KeyBuilder, type ValueFault, type ValueReport } from './key-builder.js';
import { appendLongText, appendSingleValue } from './single-values.js';

/**
 * Appends `A|b|c,A2|b2|c2` as a list of objects, or only the first annotation as an object if the column is no list; empty subfields are
 * null. Choice: if an annotation has more parts than the header names and one of the further parts is not empty, they are stored as a list
 * in an additional last key `extra`, with a warning.
 */
export function appendAnnotations(
  entry: KeyBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
  report: ValueReport,
): ValueFault | null {
  const struct = entry.items as StructBuilder;
  const { parts } = entry;
  const hasCallForm = struct.children.has('Effect');
  if (to - from === 1 && bytes[from] === 46) {
    entry.column.appendNull();
    return null;
  }
  for (let at = from; at <= to;) {
    let annotationEnd = at;
    while (annotationEnd < to && bytes[annotationEnd] !== 44) annotationEnd++;
    const partsEnd =
      hasCallForm && annotationEnd > at && bytes[annotationEnd - 1] === 41
        ? annotationEnd - 1
        : annotationEnd;
    let extraList: ListBuilder | null = null;
    for (let i = 0, start = at; start <= partsEnd; i++) {
      // In SnpEff's old form `EFFECT(a|b)`, the opening bracket ends the first subfield.
      const bracket = hasCallForm && i === 0 ? 40 : 124;
      let partEnd = start;
      while (partEnd < partsEnd && bytes[partEnd] !== 124 && bytes[partEnd] !== bracket) partEnd++;
      const part = parts[i];
      if (part === undefined) {
        if (partEnd > start && extraList === null) {
          const message = `an annotation has more than the ${parts.length} parts that the header names: the others are stored as "extra"`;
          if (!report.warnOrRefuse(entry, codes.invalidValue, message))
            return { code: codes.invalidValue, message, isReported: true };
          extraList = prepareExtraList(entry);
          // Null stands for each empty surplus part before part `i`, so that each part keeps its index in the list.
          for (let k = parts.length; k < i; k++) extraList.items.appendNull();
        }
        const fault =
          extraList &&
          appendSingleValue(
            extraList.items,
            keyKindOf(extraList.items),
            bytes,
            start,
            partEnd,
            decode,
          );
        if (fault) return fault;
      } else {
        part.padTo(struct.length);
        const fault = appendSubfield(entry, part, bytes, start, partEnd, decode, report);
        if (fault !== null) return fault;
      }
      start = partEnd + 1;
    }
    extraList?.endList();
    struct.endObject();
    at = annotationEnd + 1;
    if (!entry.isList) return null;
  }
  (entry.column as ListBuilder).endList();
  return null;
}

/** Returns the list for the surplus parts of an annotation, padded to the current annotation; creates it on first use. */
function prepareExtraList({ items, extra }: KeyBuilder): ListBuilder {
  const struct = items as StructBuilder;
  const extraList = struct.child(extra!) as ListBuilder;
  extraList.padTo(struct.length);
  return extraList;
}

function appendSubfield(
  entry: KeyBuilder,
  part: ColumnBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
  report: ValueReport,
): ValueFault | null {
  const append = (column: ColumnBuilder, first: number, end: number): ValueFault | null => {
    const fault = appendSingleValue(column, keyKindOf(column), bytes, first, end, decode);
    return fault?.isLongText
      ? appendLongText(entry, column, bytes, first, end, decode, report)
      : fault;
  };
  let start = from;
  let stop = to;
  while (start < stop && bytes[start] === 32) start++;
  while (stop > start && bytes[stop - 1] === 32) stop--;
  if (start === stop) {
    part.appendNull();
    return null;
  }
  if (!(part instanceof ListBuilder)) return append(part, start, stop);
  for (let at = start; at <= stop;) {
    let end = at;
    while (end < stop && bytes[end] !== 38) end++;
    const fault = append(part.items, at, end);
    if (fault !== null) return fault;
    at = end + 1;
  }
  part.endList();
  return null;
}

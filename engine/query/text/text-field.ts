import { indexedName } from '../../text/index-writer.js';
import { openTextField, type TextField } from '../../text/ranked-search.js';
import type { Column, Columns } from '../../core/types.js';
import type { Snapshot } from '../../store/store.js';
import type { FieldRef } from '../predicate/predicate.js';

/** True for a field whose segments have a text index: a text field that is not in a list. */
export function isIndexable(columns: Columns, field: FieldRef): boolean {
  return field.type === 'text' && columnPath(columns, field.path)?.at(-1)?.type === 'text';
}

/** The index of a text field in all segments of a snapshot; undefined if the field, or a segment, has none. */
export async function openTextIndex(
  snapshot: Snapshot,
  field: FieldRef,
): Promise<TextField | undefined> {
  if (!isIndexable(snapshot.columns, field)) return undefined;
  return openTextField(
    snapshot.segments.map(({ checksum, blockChecksums, columns }, i) => {
      const found = columnPath(columns, field.path);
      return {
        path: snapshot.files[i + 1]!, // the first file holds the schema
        checksum,
        blockChecksums,
        column: found && indexedName(found.map(({ physical }) => physical)),
      };
    }),
  );
}

/** The columns on the path to a field, from the top; undefined if one of them is a list or missing. */
function columnPath(columns: Columns, path: readonly string[]): readonly Column[] | undefined {
  const found: Column[] = [];
  for (const name of path) {
    const among: Columns = found.length === 0 ? columns : (found.at(-1)!.children ?? []);
    const column = among.find((other) => other.name === name);
    if (column === undefined || column.isList) return undefined;
    found.push(column);
  }
  return found;
}

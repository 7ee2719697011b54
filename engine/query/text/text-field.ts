import { indexedName } from '../../text/index-writer.js';
import { openTextField, type TextField } from '../../text/ranked-search.js';
import type { Column, Columns } from '../../core/types.js';
import type { Snapshot } from '../../store/store.js';
import type { FieldRef } from '../predicate/predicate.js';

/** The index of a text field in all segments of a snapshot; undefined if the field, or a segment, has none. */
export async function textField(
  snapshot: Snapshot,
  field: FieldRef,
): Promise<TextField | undefined> {
  if (field.type !== 'text') return undefined;
  if (way(snapshot.columns, field.path)?.at(-1)?.type !== 'text') return undefined;
  return openTextField(
    snapshot.segments.map(({ checksum, columns }, i) => {
      const found = way(columns, field.path);
      return {
        path: snapshot.files[i + 1]!, // the first holds the schema
        checksum,
        column: found && indexedName(found.map(({ physical }) => physical)),
      };
    }),
  );
}

/** The columns on the way to a field that is in no list. */
function way(columns: Columns, path: readonly string[]): readonly Column[] | undefined {
  const found: Column[] = [];
  for (const name of path) {
    const among: Columns = found.length === 0 ? columns : (found.at(-1)!.children ?? []);
    const column = among.find((other) => other.name === name);
    if (column === undefined || column.isList) return undefined;
    found.push(column);
  }
  return found;
}

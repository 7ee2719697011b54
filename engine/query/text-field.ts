import { openField, type TextField } from '../text/search.js';
import type { Snapshot } from '../store/store.js';
import type { FieldRef } from './predicate.js';

/** The index of a text field in all segments of a snapshot; undefined if the field, or a segment, has none. */
export async function textField(
  snapshot: Snapshot,
  field: FieldRef,
): Promise<TextField | undefined> {
  if (field.type !== 'text' || field.path.length !== 1) return undefined;
  const [name] = field.path;
  const isField = ({ name: other }: { readonly name: string }): boolean => other === name;
  const column = snapshot.columns.find(isField);
  if (column?.type !== 'text' || column.isList) return undefined;
  return openField(
    snapshot.segments.map(({ checksum, columns }, i) => ({
      path: snapshot.files[i + 1]!, // the first holds the schema
      checksum,
      column: columns.find(isField)?.physical,
    })),
  );
}

import { physicalOfStored } from '../../store/arrow-columns.js';
import { physicalType } from '../../parquet/parquet-schema.js';
import { storesType, type ScalarType } from '../results/convert-leaf-values.js';
import { singleRowPage, type LeafPage } from '../results/leaf-page.js';
import { LeafValues } from '../results/leaf-values.js';
import type { ColumnValues, MemoryColumn } from './match/column.js';
import type { RowGroup } from '../../store/segment-file.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';

/**
 * Returns the value of a leaf in one row as a `LeafPage` of that row alone. The value comes from the leaf's column in memory; `row` is the
 * number in the row group. Undefined if the leaf stores another type, or if the column does not determine the levels of the row: if it has
 * offsets, or if the row has no value and the leaf is in a list or in an object that may be missing.
 */
export function rowOfColumn(
  { offsets, present, values }: MemoryColumn,
  leaves: readonly SegmentLeaf[],
  leaf: SegmentLeaf,
  type: ScalarType,
  group: RowGroup,
  row: number,
): LeafPage | undefined {
  if (offsets !== undefined || !storesType(leaf, type)) return undefined;
  const segmentRow = group.first + row;
  if (present === undefined || present[segmentRow] === 1)
    return singleRowPage(leaf.maxDefinition, valueAt(values, segmentRow, type));
  return isParentPresent(leaves, leaf, group)
    ? singleRowPage(leaf.maxDefinition - 1, emptyLeafValues)
    : undefined;
}

const emptyLeafValues = new LeafValues({ kind: 'int32s', int32s: new Int32Array(0) });

/**
 * Returns true if the statistics of a row group prove that the object that contains a leaf is present in every row: the leaf is in no
 * object, or another leaf of the object has no nulls. Returns false for a leaf in a list.
 */
function isParentPresent(
  leaves: readonly SegmentLeaf[],
  { columns, maxRepetition }: SegmentLeaf,
  { chunks }: RowGroup,
): boolean {
  if (maxRepetition > 0) return false;
  const objectPath = columns.slice(0, -1);
  if (objectPath.length === 0) return true;
  return leaves.some(
    (other) =>
      other.maxRepetition === 0 &&
      objectPath.every((name, i) => other.columns[i] === name) &&
      chunks[other.index]!.nulls === 0,
  );
}

/**
 * Returns value `i` of a column as the values of a leaf that holds this value alone, in the physical type in which Parquet stores `type`.
 */
function valueAt(values: ColumnValues, i: number, type: ScalarType): LeafValues {
  switch (values.kind) {
    case 'numbers':
      return numberLeafValues(values.numbers[i]!, type);
    case 'number-dictionary':
      return numberLeafValues(values.entries.numbers[values.indices[i]!]!, type);
    case 'longs':
      return longLeafValues(values.longs[i]!);
    case 'flags':
      return new LeafValues({ kind: 'booleans', booleans: values.flags.slice(i, i + 1) });
    case 'dictionary':
      return stringLeafValues(values.dictionary.utf8, values.indices[i]!);
    case 'strings':
      return stringLeafValues(values, i);
  }
}

function stringLeafValues(
  { bytes, offsets }: { readonly bytes: Uint8Array; readonly offsets: Uint32Array },
  i: number,
): LeafValues {
  const string = Uint8Array.prototype.slice.call(bytes, offsets[i]!, offsets[i + 1]!);
  return new LeafValues({ kind: 'strings', bytes: string, offsets: Int32Array.of(0, string.length) }); // prettier-ignore
}

function numberLeafValues(number: number, type: ScalarType): LeafValues {
  switch (physicalOfStored(type)) {
    case physicalType.int32:
      return new LeafValues({ kind: 'int32s', int32s: Int32Array.of(number) });
    case physicalType.float:
      return new LeafValues({ kind: 'int32s', int32s: new Int32Array(Float32Array.of(number).buffer) }); // prettier-ignore
    case physicalType.double:
      return new LeafValues({ kind: 'int64s', int32s: new Int32Array(Float64Array.of(number).buffer) }); // prettier-ignore
    default:
      return longLeafValues(BigInt(number));
  }
}

function longLeafValues(long: bigint): LeafValues {
  return new LeafValues({ kind: 'int64s', int32s: new Int32Array(BigInt64Array.of(long).buffer) });
}

import type { MemoryColumn } from '../../../../engine/query/memory/match/column.js';
import type { Column, Columns, Value } from '../../../../engine/core/types.js';

/** A leaf of a dataset: the physical names on the path to it, and the columns along the path. */
export interface LeafPath {
  readonly path: readonly string[];
  readonly columns: Columns;
}

/** Returns all leaves of some columns. */
export function leafPaths(columns: Columns, columnsAbove: Columns = []): readonly LeafPath[] {
  return columns.flatMap((column) => {
    const columnsOnPath = [...columnsAbove, column];
    if (column.children !== undefined) return leafPaths(column.children, columnsOnPath);
    return [{ path: columnsOnPath.map(({ physical }) => physical), columns: columnsOnPath }];
  });
}

/** Returns all values of a leaf in a value of the first of `columns`, which are the columns on the path to the leaf; without nulls. */
export function leafValuesAt(value: Value, columns: Columns): readonly Value[] {
  if (value === null) return [];
  const [column, ...columnsBelow] = columns as [Column, ...Column[]];
  const items = column.isList ? (value as readonly Value[]) : [value];
  return items.flatMap((item) => {
    if (item === null || columnsBelow.length === 0) return item === null ? [] : [item];
    const object = item as Readonly<Record<string, Value>>;
    return leafValuesAt(object[columnsBelow[0]!.physical] ?? null, columnsBelow);
  });
}

/** Returns all values of a loaded column, row by row, in the form that test/engine/store/random.ts generates. */
export function loadedValues(
  column: MemoryColumn,
  type: Column['type'],
): readonly (readonly Value[])[] {
  const valueAt = (i: number): Value => {
    const { values } = column;
    switch (values.kind) {
      case 'numbers': {
        const number = values.numbers[i]!;
        return type === 'long' || type === 'date' ? BigInt(number) : number;
      }
      case 'number-dictionary':
        return values.entries.numbers[values.indices[i]!]!;
      case 'longs':
        return values.longs[i]!;
      case 'flags':
        return values.flags[i] === 1;
      case 'dictionary':
        return values.dictionary.strings[values.indices[i]!]!;
      case 'strings':
        return values.bytes.toString('utf8', values.offsets[i], values.offsets[i + 1]);
    }
  };
  return Array.from({ length: column.rows }, (_, row) => {
    const { offsets, present } = column;
    if (offsets === undefined) return present?.[row] === 0 ? [] : [valueAt(row)];
    return Array.from({ length: offsets[row + 1]! - offsets[row]! }, (__, i) =>
      valueAt(offsets[row]! + i),
    );
  });
}

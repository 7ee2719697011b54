import type { SchemaElement } from 'hyparquet';
import { physicalType } from '../../parquet/schema.js';
import { leafKey } from '../../store/stats.js';

/** A leaf of a segment's schema: a column of values in Parquet, and its levels. */
export interface SegmentLeaf {
  /** Where it is among the leaves of the segment, those of the reserved columns included. */
  readonly index: number;
  /** Physical names of the columns from the top down: no levels of lists. */
  readonly columns: readonly string[];
  /** The same as one text, as `Segment.stats` has it (dotted, dots in names escaped). */
  readonly key: string;
  /** As Parquet has it: `list` and `element` behind the name of each list. */
  readonly path: readonly string[];
  /** Of each of `columns`: whether it is a list. */
  readonly lists: readonly boolean[];
  /** One of `physicalType`. */
  readonly physical: number;
  readonly isDate: boolean;
  /** The definition level of a slot that has a value. */
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

/** The leaves of a footer's schema, from its first element down, depth first. */
export function segmentLeaves(schema: readonly SchemaElement[]): readonly SegmentLeaf[] {
  const leaves: SegmentLeaf[] = [];
  let at = 0;
  const walk = (above: Above, hidden: boolean): void => {
    const element = schema[at++];
    if (element === undefined) throw new RangeError('the schema ends early');
    const isTop = at === 1;
    const { name, repetition_type: kind, num_children: children, type } = element;
    const here: Above = {
      path: isTop ? [] : [...above.path, name],
      columns: isTop || hidden ? above.columns : [...above.columns, name],
      lists: isTop || hidden ? above.lists : [...above.lists, element.converted_type === 'LIST'],
      definition: above.definition + (isTop || kind === 'REQUIRED' ? 0 : 1),
      repetition: above.repetition + (kind === 'REPEATED' ? 1 : 0),
    };
    if (children === undefined) {
      leaves.push({
        index: leaves.length,
        columns: here.columns,
        key: leafKey(here.columns),
        path: here.path,
        lists: here.lists,
        physical: physicalOf(type),
        isDate: element.converted_type === 'TIMESTAMP_MICROS',
        maxDefinition: here.definition,
        maxRepetition: here.repetition,
      });
      return;
    }
    // Below a list are two names that are no columns: `list`, and in it `element`.
    const isList = element.converted_type === 'LIST' || kind === 'REPEATED';
    for (let i = 0; i < children; i++) walk(here, isList);
  };
  walk({ path: [], columns: [], lists: [], definition: 0, repetition: 0 }, false);
  return leaves;
}

interface Above {
  readonly path: readonly string[];
  readonly columns: readonly string[];
  readonly lists: readonly boolean[];
  readonly definition: number;
  readonly repetition: number;
}

const physicalTypes: Readonly<Record<string, number>> = {
  BOOLEAN: physicalType.boolean,
  INT32: physicalType.int32,
  INT64: physicalType.int64,
  FLOAT: physicalType.float,
  DOUBLE: physicalType.double,
  BYTE_ARRAY: physicalType.byteArray,
};

function physicalOf(type: string | undefined): number {
  const physical = physicalTypes[type ?? ''];
  if (physical === undefined) throw new RangeError(`type ${type} is not one of ours`);
  return physical;
}

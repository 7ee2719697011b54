import type { Column, Columns } from '../core/types.js';
import type { FooterElement } from '../parquet/read-footer.js';
import { physicalType } from '../parquet/parquet-schema.js';
import { reservedColumns } from './arrow-columns.js';
import { leafKey } from './segment-stats.js';

/** A leaf of a segment's Parquet schema. */
export interface SegmentLeaf {
  /** The position among the leaves of the segment, including those of the reserved columns. */
  readonly index: number;
  /** Physical names of the columns from the root down, without the levels that Parquet adds for lists. */
  readonly columns: readonly string[];
  /** `columns` joined to one string as in `Segment.stats` (`leafKey`). */
  readonly key: string;
  /** The path in Parquet's schema, with `list` and `element` after the name of each list. */
  readonly path: readonly string[];
  /** For each of `columns`, whether it is a list. */
  readonly lists: readonly boolean[];
  /** For each of `columns`, the definition level of a value (in a list, of an element) that is not null. */
  readonly definitions: readonly number[];
  /** The physical type, one of `physicalType`. */
  readonly physical: number;
  readonly isDate: boolean;
  /** The definition level of a value that is not null. */
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

/**
 * Returns the leaves of a footer's schema in depth-first order. Throws `RangeError` if the schema is incomplete or has a type that
 * Strandlake does not write.
 */
export function segmentLeaves(schema: readonly FooterElement[]): readonly SegmentLeaf[] {
  const leaves: SegmentLeaf[] = [];
  let at = 0;
  const walk = (above: ParentPath, hidden: boolean): void => {
    const element = schema[at++];
    if (element === undefined) throw new RangeError('the schema ends early');
    const isTop = at === 1;
    const { name, repetition, childCount, isList } = element;
    const definition = above.definition + (isTop || repetition === 'required' ? 0 : 1);
    const ownPath: ParentPath = {
      path: isTop ? [] : [...above.path, name],
      columns: isTop || hidden ? above.columns : [...above.columns, name],
      lists: isTop || hidden ? above.lists : [...above.lists, isList],
      definitions: isTop
        ? []
        : [...(hidden ? above.definitions.slice(0, -1) : above.definitions), definition],
      definition,
      repetition: above.repetition + (repetition === 'repeated' ? 1 : 0),
    };
    if (childCount === undefined) {
      leaves.push({
        index: leaves.length,
        columns: ownPath.columns,
        key: leafKey(ownPath.columns),
        path: ownPath.path,
        lists: ownPath.lists,
        definitions: ownPath.definitions,
        physical: requiredPhysicalType(element),
        isDate: element.isTimestamp,
        maxDefinition: ownPath.definition,
        maxRepetition: ownPath.repetition,
      });
      return;
    }
    // Parquet's two levels inside a list, `list` and `element`, are not columns.
    const isHidden = isList || repetition === 'repeated';
    for (let i = 0; i < childCount; i++) walk(ownPath, isHidden);
  };
  walk({ path: [], columns: [], lists: [], definitions: [], definition: 0, repetition: 0 }, false);
  return leaves;
}

interface ParentPath {
  readonly path: readonly string[];
  readonly columns: readonly string[];
  readonly lists: readonly boolean[];
  readonly definitions: readonly number[];
  readonly definition: number;
  readonly repetition: number;
}

const physicalTypes: ReadonlySet<number> = new Set(Object.values(physicalType));

function requiredPhysicalType({ name, physical }: FooterElement): number {
  if (physical === undefined || !physicalTypes.has(physical))
    throw new RangeError(`${name} has the physical type ${physical}, which is not one of ours`);
  return physical;
}

/** Returns the physical names of the columns from the root to a field; undefined if the dataset has no such column. */
export function physicalPath(
  columns: Columns,
  path: readonly string[],
): readonly string[] | undefined {
  const physical: string[] = [];
  let siblings: Columns | undefined = [...reservedColumns, ...columns];
  let column: Column | undefined;
  for (const name of path) {
    column = siblings?.find((candidate) => candidate.name === name);
    if (column === undefined) return undefined;
    physical.push(column.physical);
    siblings = column.children;
  }
  return column === undefined ? undefined : physical;
}

/** Returns the names of the columns from the root to a leaf, separated by line breaks; undefined if the dataset has no such column. */
export function logicalPathOf(
  columns: Columns,
  { key, columns: physical }: SegmentLeaf,
): string | undefined {
  const pathsByKey = logicalPathsByKey.get(columns) ?? new Map<string, string | undefined>();
  logicalPathsByKey.set(columns, pathsByKey);
  if (pathsByKey.has(key)) return pathsByKey.get(key);
  const path: string[] = [];
  let siblings: Columns = [...reservedColumns, ...columns];
  for (const physicalName of physical) {
    const column = siblings.find((candidate) => candidate.physical === physicalName);
    if (column !== undefined) path.push(column.name);
    siblings = column?.children ?? [];
  }
  const logicalPath = path.length === physical.length ? path.join('\n') : undefined;
  pathsByKey.set(key, logicalPath);
  return logicalPath;
}

const logicalPathsByKey = new WeakMap<Columns, Map<string, string | undefined>>();

import type { Data, Struct, Utf8 } from 'apache-arrow';
import { parseJson, stringifyJson } from '../core/json.js';
import type { Column, Value } from '../core/types.js';
import {
  interleaveColumns,
  isValid,
  makeArrowData,
  takeRows,
  validityBitmap,
  validityOf,
} from './interleave.js';

/** The two source rows of each new row i: `given[i]` of the given column and `old[i]` of the old column. */
interface RowPairs {
  readonly given: Int32Array;
  readonly old: Int32Array;
}

/** A field of which a record that is updated loses the former value, also if the new record lacks the field. */
export interface ClearedField {
  readonly path: readonly string[];
  /** The position of the field in `computedMarksColumn`, if only records lose the value that are marked there; null if all do. */
  readonly mark: number | null;
}

/** A cleared field, with a bitmap of the given records in which it is cleared; null if it is cleared in all of them. */
interface ClearedRows {
  readonly path: readonly string[];
  readonly bits: Uint8Array | null;
}

/** Returns the new records in which each field is cleared. `marks` has the values of their `computedMarksColumn`, if they have one. */
export function clearedRowsOf(
  cleared: readonly ClearedField[],
  marks: Data | undefined,
): readonly ClearedRows[] {
  return cleared.map(({ path, mark }) => ({
    path,
    bits: mark === null ? null : computedRowsBitmap(marks, mark),
  }));
}

const markedByte = '1'.charCodeAt(0);

function computedRowsBitmap(marks: Data | undefined, mark: number): Uint8Array {
  if (marks === undefined) return new Uint8Array(0);
  const bits = new Uint8Array((marks.length + 7) >> 3);
  const [bytes, offsets] = [marks.values as Uint8Array, marks.valueOffsets as Int32Array];
  for (let row = 0; row < marks.length; row++) {
    const at = offsets[row]! + mark;
    if (at < offsets[row + 1]! && bytes[at] === markedByte) bits[row >> 3]! |= 1 << (row & 7);
  }
  return bits;
}

/**
 * Returns the values of `given`, or those of `old` where `given` has none. The members of objects are chosen one by one, also if the column
 * stores objects as JSON; a list is always replaced as a whole. In the rows in which a field is cleared, it has the value of `given` alone.
 * An object that contains one of the fields `cleared` is null if it has no member left.
 */
export function updateValues(
  column: Column,
  given: Data,
  old: Data,
  rows: RowPairs,
  cleared: readonly ClearedRows[] = [],
): Data {
  const clearedInside = cleared.flatMap(({ path: [name, ...rest], bits }) =>
    name === column.name ? [{ path: rest, bits }] : [],
  );
  const ownEntry = clearedInside.find(({ path }) => path.length === 0);
  if (ownEntry?.bits === null) return takeRows(given, rows.given);
  const ownBits = ownEntry?.bits;
  const isCleared = clearedInside.length > 0;
  if (!isCleared && given.nullCount === given.length) return takeRows(old, rows.old);
  if (column.type === 'json' && !column.isList)
    return mergeJsonColumn(given, old, rows, clearedInside);
  const length = rows.given.length;
  const from = new Uint8Array(length);
  const pickedRows = new Int32Array(length);
  const givenBits = validityBitmap(given);
  for (let i = 0; i < length; i++) {
    const row = rows.given[i]!;
    const isGiven = isValid(givenBits, row) || (ownBits !== undefined && isValid(ownBits, row));
    from[i] = isGiven ? 0 : 1;
    pickedRows[i] = isGiven ? row : rows.old[i]!;
  }
  const picks = { from, rows: pickedRows };
  if (column.children === undefined || column.isList) return interleaveColumns([given, old], picks);
  const members = column.children;
  const clearedMembers = ownEntry
    ? [...clearedInside, ...members.map(({ name }) => ({ path: [name], bits: ownEntry.bits }))]
    : clearedInside;
  const children = members.map((child, i) =>
    updateValues(child, given.children[i]!, old.children[i]!, rows, clearedMembers),
  );
  const validity = isCleared ? validityOfAny(children, length) : validityOf([given, old], picks);
  return makeArrowData<Struct>({ type: given.type, length, ...validity, children });
}

/** Returns the validity of rows that are null where all of these columns are, such as objects whose members these are. */
function validityOfAny(columns: readonly Data[], length: number) {
  const bits = columns.map(validityBitmap);
  const nullBitmap = new Uint8Array((length + 7) >> 3);
  let nullCount = 0;
  for (let row = 0; row < length; row++) {
    if (bits.some((one) => isValid(one, row))) nullBitmap[row >> 3]! |= 1 << (row & 7);
    else nullCount++;
  }
  return { nullCount, nullBitmap };
}

/** Whether the given values certainly replace the old values completely. */
export function isCompleteReplacement(column: Column, given: Data): boolean {
  if (column.type === 'json' && !column.isList) return false;
  if (given.nullCount > 0) return false;
  if (column.children === undefined || column.isList) return true;
  return column.children.every((child, i) => isCompleteReplacement(child, given.children[i]!));
}

function mergeJsonColumn(
  given: Data,
  old: Data,
  rows: RowPairs,
  cleared: readonly ClearedRows[],
): Data {
  const texts = Array.from(rows.given, (row, i) => {
    const paths = cleared.flatMap(({ path, bits }) => bits === null || isValid(bits, row) ? [path] : []); // prettier-ignore
    return mergeTexts(textAt(given, row), textAt(old, rows.old[i]!), paths);
  });
  const textBytes = texts.map((text) => Buffer.from(text ?? ''));
  const valueOffsets = new Int32Array(textBytes.length + 1);
  const nullBitmap = new Uint8Array((textBytes.length + 7) >> 3);
  let nullCount = 0;
  for (const [i, part] of textBytes.entries()) {
    const end = valueOffsets[i]! + part.length;
    if (end > 0x7fff_ffff) throw new RangeError('more than 2 GB of strings in one column');
    valueOffsets[i + 1] = end;
    if (texts[i] === undefined) nullCount++;
    else nullBitmap[i >> 3]! |= 1 << (i & 7);
  }
  const data = Buffer.concat(textBytes);
  return makeArrowData<Utf8>({
    type: given.type,
    length: textBytes.length,
    nullCount,
    nullBitmap,
    valueOffsets,
    data,
  });
}

/**
 * Returns the JSON text of the updated value, or undefined for null. The members at the paths `cleared` have the values of `given` alone;
 * the empty path stands for the whole value.
 */
function mergeTexts(
  given: string | undefined,
  old: string | undefined,
  cleared: readonly (readonly string[])[],
): string | undefined {
  const isCleared = cleared.length > 0;
  if (cleared.some((path) => path.length === 0)) return given;
  if (!isCleared && (given === undefined || old === undefined)) return given ?? old;
  const [a, b] = [parseObject(given ?? '{}'), parseObject(old ?? '{}')];
  if (a === undefined || b === undefined) return given ?? old;
  const mergedObject = mergeObjects(a, withoutFields(b, cleared));
  const isNull = isCleared && Object.values(mergedObject).every((value) => value === null);
  return isNull ? undefined : stringifyJson(mergedObject);
}

function textAt(column: Data, row: number): string | undefined {
  if (!isValid(validityBitmap(column), row)) return undefined;
  const { values, valueOffsets } = column;
  const bytes = (values as Uint8Array).subarray(valueOffsets[row], valueOffsets[row + 1]);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

type JsonMembers = Readonly<Record<string, Value>>;

function parseObject(text: string): JsonMembers | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return parseJson(text) as JsonMembers;
  } catch {
    return undefined; // the text is not a valid JSON object, although imports store only valid JSON
  }
}

function isObject(value: Value | undefined): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mergeObjects(given: JsonMembers, old: JsonMembers): JsonMembers {
  const mergedMembers = new Map(Object.entries(old));
  for (const [name, value] of Object.entries(given)) {
    const oldValue = mergedMembers.get(name);
    if (isObject(value) && isObject(oldValue))
      mergedMembers.set(name, mergeObjects(value, oldValue));
    else if (value !== null || oldValue === undefined) mergedMembers.set(name, value);
  }
  return Object.fromEntries(mergedMembers) as JsonMembers;
}

function withoutFields(members: JsonMembers, paths: readonly (readonly string[])[]): JsonMembers {
  if (paths.length === 0) return members;
  const entries = Object.entries(members).flatMap(([name, value]) => {
    const pathsInside = paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []));
    if (pathsInside.some((rest) => rest.length === 0)) return [];
    return [[name, isObject(value) ? withoutFields(value, pathsInside) : value] as const];
  });
  return Object.fromEntries(entries);
}

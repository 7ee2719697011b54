import { Field, makeData, Struct, type Data } from 'apache-arrow';
import { columnPath } from '../../engine/core/dataset-field.js';
import { parseJson } from '../../engine/core/json.js';
import type { Column, Columns, Value } from '../../engine/core/types.js';
import { appendJson } from '../../engine/ingest/append-json.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { coordinatesColumn } from '../coordinates.js';
import { variantColumn } from '../variant-builder.js';
import type { MafHeader } from './maf.js';

/* Members of objects and lists in cells, as CSV exports write them. */

/**
 * The objects of a batch whose members are cells.
 *
 * Choice: a CSV column with the dotted name of a member, such as `info.AF`, fills the member if the dataset has it and no top-level
 * field of that whole name. The column is a field of its own if the member is in a list, or in an object that is itself a column of the
 * file.
 */
export class CellObjects {
  readonly #existingNames: ReadonlySet<string>;
  readonly #topColumns: Columns;
  readonly #fileColumnNames: ReadonlySet<string | undefined>;
  readonly #out: BatchBuilder;
  readonly #objectsByColumn = new Map<Column, CellObject>();

  /** `existingColumns` are the columns of the dataset, `fileColumnNames` the names of the columns of the file. */
  constructor(
    existingColumns: Columns,
    fileColumnNames: ReadonlySet<string | undefined>,
    out: BatchBuilder,
  ) {
    this.#existingNames = new Set(existingColumns.map(({ name }) => name));
    this.#topColumns = existingColumns.filter(({ type, isList }) => type === 'object' && !isList);
    this.#fileColumnNames = fileColumnNames;
    this.#out = out;
  }

  /** Returns the member that a column of the file fills, after the objects around it; empty if the column fills none. */
  memberPath(name: string): Columns {
    const path = name.includes('.') ? (columnPath(name, this.#topColumns) ?? []) : [];
    const fillsMember = path.slice(0, -1).every(({ isList }, i) => {
      const objectNames = path.slice(0, i + 1).map((column) => column.name);
      return !isList && !this.#fileColumnNames.has(objectNames.join('.'));
    });
    return fillsMember ? path : [];
  }

  /**
   * Returns the header of a MAF file, changed so that nothing is derived that the file has itself, as the CSV of an export may: no
   * coordinates if cells of the file fill members of them; no variants if the file has a column `variant` and the dataset has that field,
   * but not the field of derived variants (`header.variant`).
   */
  mafHeader(header: MafHeader): MafHeader {
    const hasCoordinateCells = this.#topColumns.some(
      (column) => column.name === coordinatesColumn.name && this.#objectsByColumn.has(column),
    );
    const hasOwnVariantField =
      header.variantFieldName !== variantColumn.name && this.#existingNames.has(variantColumn.name);
    return {
      ...header,
      hasCoordinates: header.hasCoordinates && !hasCoordinateCells,
      hasVariants: !hasOwnVariantField || this.#existingNames.has(header.variantFieldName),
    };
  }

  /** Adds a member of the innermost of `objects`. */
  addMember(objects: Columns, member: ColumnBuilder): void {
    const objectColumn = objects.at(-1)!;
    let object = this.#objectsByColumn.get(objectColumn);
    if (object === undefined) {
      object = new CellObject(objectColumn);
      this.#objectsByColumn.set(objectColumn, object);
      if (objects.length === 1) this.#out.addBuilder(objectColumn.name, object);
      else this.addMember(objects.slice(0, -1), object);
    }
    object.members.push(member);
  }
}

/** A column of objects, each of which exists if it has a value of a member. */
class CellObject extends ColumnBuilder {
  readonly members: ColumnBuilder[] = [];
  readonly #column: Column;

  constructor(column: Column) {
    super();
    this.#column = column;
  }

  column(): Column {
    const children = this.members.map((member) => member.column());
    const isStored = children.some(({ seen }) => seen === undefined);
    return { ...this.#column, children, ...(!isStored && { seen: 'mixed' }) };
  }

  /** Does nothing: a row without a value of a member has no object. */
  appendNull(): void {}

  override truncate(length: number): void {
    for (const member of this.members) member.truncate(length);
  }

  override release(): void {
    for (const member of this.members) member.release();
  }

  finish(length: number): Data {
    const storedMembers = this.members.filter((member) => member.column().seen === undefined);
    const children = storedMembers.map((member) => member.finish(length));
    const fields = children.map(
      ({ type }, i) => new Field(storedMembers[i]!.column().physical, type, true),
    );
    const isAlwaysPresent = children.some(({ nullCount }) => nullCount === 0);
    const nullBitmap = isAlwaysPresent ? null : new Uint8Array((length + 7) >> 3);
    if (nullBitmap !== null)
      for (const child of children)
        for (let i = 0; i < nullBitmap.length; i++) nullBitmap[i]! |= child.nullBitmap![i]!;
    return makeData({ type: new Struct(fields), length, nullBitmap, children });
  }
}

/**
 * Appends the cell `bytes[from..to)` if the column stores JSON, or if it stores lists and the cell has one as JSON. Returns whether it was
 * appended. Choice: a CSV cell of a field that is stored as JSON is JSON if it can be parsed as such and its numbers are finite, and
 * otherwise a string; a cell of a list is the list if it has the JSON of one, and otherwise its only element.
 */
export function appendJsonCell(
  column: ValueColumn,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  const { storesJson, storesLists } = column;
  if (!storesJson && !(storesLists && bytes[from] === openBracket)) return false;
  const text = decoder.decode(bytes.subarray(from, to));
  const parsedValue = valueOfJson(text);
  const value = parsedValue === undefined && storesJson ? text : parsedValue;
  if (value !== undefined) appendJson(column, value);
  return value !== undefined;
}

// A byte order mark within a cell is data, so the decoder must keep it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const openBracket = 91;

/** Returns the value of a text that is JSON and has only finite numbers; undefined for other texts. */
function valueOfJson(text: string): Value | undefined {
  try {
    JSON.parse(text, requireFinite);
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function requireFinite(_name: string, value: unknown): unknown {
  if (value === Infinity || value === -Infinity) throw new RangeError('a number is too large');
  return value;
}

import type { RecordContext } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import type { NameTable } from './name-table.js';
import type { TextRange, ElementTree } from './element-tree.js';

/** A field of an XML object, and what has been written of the field in the current record and object. */
interface FieldSlot {
  /** The column of the field; undefined until it is looked up. */
  column: ValueColumn | undefined;
  /** The number of the last record that had this field. */
  lastRecordNumber: number;
  /** The number of the last object that had this field; `count` tells how often the field occurs in it. */
  lastObject: number;
  count: number;
  /** The number of the last object in which the list of this field was begun; `items` is the column of the elements of the list. */
  lastListObject: number;
  items: ValueColumn | null;
  /** The JSON texts of the values so far, for a field that is stored as JSON text. */
  jsonItems: string;
  /** The next slot in the chain of slots with open lists. */
  nextOpen: FieldSlot | null;
  /** The slots of the members, for a field whose values are objects or lists of them. */
  members: FieldSlots | null;
}

/**
 * The slots of the fields of an object, by the numbers of their names; without `fields`, only the keys are counted, because the object is
 * stored as JSON text or not at all.
 */
class FieldSlots {
  fields: ObjectFields | null;
  readonly #slots: (FieldSlot | undefined)[] = [];
  constructor(fields: ObjectFields | null) {
    this.fields = fields;
  }

  slotOf(number: number): FieldSlot {
    return (this.#slots[number] ??= {
      column: undefined,
      lastRecordNumber: -1,
      lastObject: -1,
      count: 0,
      lastListObject: -1,
      items: null,
      jsonItems: '',
      nextOpen: null,
      members: null,
    });
  }

  /** Returns the column of a field; null if the import has too many columns for it, which rejects each record with the field. */
  lookUpColumn(slot: FieldSlot, name: string): ValueColumn | null {
    const column = this.fields?.field(name) ?? null;
    if (column !== null) slot.column = column;
    return column;
  }

  /** Sets the fields in which the objects are stored. */
  bindFields(fields: ObjectFields): void {
    if (this.fields === fields) return;
    this.fields = fields;
    for (const slot of this.#slots) if (slot !== undefined) slot.column = undefined;
  }
}

/**
 * Appends trees to columns. A key that occurs once in an object is a value, unless its column stores lists; one that occurs more often is a
 * list, which stays open while other keys come between its elements, because each column is filled independently.
 */
export class RecordWriter {
  readonly #tree: ElementTree;
  readonly #names: NameTable;
  readonly #context: RecordContext;
  readonly #fields: ObjectFields;
  readonly #rootSlots: FieldSlots;
  readonly #textRange: TextRange = { bytes: new Uint8Array(0), from: 0, to: 0 };
  #objectCount = 0;

  constructor(tree: ElementTree, names: NameTable, fields: ObjectFields, context: RecordContext) {
    this.#tree = tree;
    this.#names = names;
    this.#context = context;
    this.#fields = fields;
    this.#rootSlots = new FieldSlots(fields);
  }

  /** Appends the record in the tree as row `row`. */
  write(row: number): void {
    this.#fields.row = row;
    this.#writeObject(0, this.#rootSlots, row);
    this.#context.checkFieldCount();
  }

  #writeObject(node: number, slots: FieldSlots, row: number): void {
    const tree = this.#tree;
    const objectNumber = ++this.#objectCount;
    for (let child = tree.firstChild(node); child >= 0; child = tree.nextSibling(child)) {
      const slot = slots.slotOf(tree.nameNumberOf(child));
      slot.count = slot.lastObject === objectNumber ? slot.count + 1 : 1;
      slot.lastObject = objectNumber;
    }
    let openSlot: FieldSlot | null = null;
    for (let child = tree.firstChild(node); child >= 0; child = tree.nextSibling(child)) {
      const nameNumber = tree.nameNumberOf(child);
      const slot = slots.slotOf(nameNumber);
      if (slot.lastListObject === objectNumber) {
        this.#writeItem(slot, child);
        continue;
      }
      const column = slot.column ?? slots.lookUpColumn(slot, this.#names.nameOfNumber(nameNumber));
      if (column === null) continue;
      column.padTo(row);
      this.#countKey(slot, child);
      // A null that occurs once is stored as null, even if other values of the field are lists.
      if (slot.count === 1 && (!column.storesLists || this.#isNull(child))) {
        this.#writeValue(column, slot, child);
        continue;
      }
      slot.lastListObject = objectNumber;
      slot.nextOpen = openSlot;
      openSlot = slot;
      slot.jsonItems = '';
      slot.items = column.storesJson ? null : column.beginList();
      this.#writeItem(slot, child);
    }
    for (; openSlot !== null; openSlot = openSlot.nextOpen) {
      const column = openSlot.column!;
      if (column.storesJson) addUtf8(column, `[${openSlot.jsonItems}]`);
      else if (openSlot.items !== null) column.endList();
    }
  }

  /** Counts a field as a key of the record, once per record. */
  #countKey(slot: FieldSlot, child: number): void {
    if (slot.lastRecordNumber === this.#context.recordNumber) return;
    slot.lastRecordNumber = this.#context.recordNumber;
    // For an object, its members count as keys; the object itself does not.
    if (this.#tree.firstChild(child) < 0) this.#context.keyCount++;
  }

  /** Counts the members of an object that has no columns: the number of keys of a record does not depend on types. */
  #countMemberKeys(node: number, slot: FieldSlot): void {
    const tree = this.#tree;
    const members = (slot.members ??= new FieldSlots(null));
    for (let child = tree.firstChild(node); child >= 0; child = tree.nextSibling(child)) {
      const member = members.slotOf(tree.nameNumberOf(child));
      this.#countKey(member, child);
      if (tree.firstChild(child) >= 0) this.#countMemberKeys(child, member);
    }
  }

  #isNull(node: number): boolean {
    return this.#tree.firstChild(node) < 0 && !this.#tree.hasText(node);
  }

  #writeItem(slot: FieldSlot, child: number): void {
    if (slot.items !== null) {
      this.#writeValue(slot.items, slot, child);
      return;
    }
    this.#countMemberKeys(child, slot);
    if (slot.column!.storesJson)
      slot.jsonItems += (slot.jsonItems === '' ? '' : ',') + this.#jsonOf(child);
  }

  #writeValue(column: ValueColumn, slot: FieldSlot, node: number): void {
    const tree = this.#tree;
    const isObject = tree.firstChild(node) >= 0;
    if (this.#isNull(node)) column.appendNull();
    else if (column.storesJson) {
      this.#countMemberKeys(node, slot);
      addUtf8(column, this.#jsonOf(node));
    } else if (isObject) {
      const fields = column.beginObject();
      if (fields === null) {
        this.#countMemberKeys(node, slot);
        return;
      }
      const members = (slot.members ??= new FieldSlots(fields));
      members.bindFields(fields);
      this.#writeObject(node, members, fields.row);
      column.endObject();
    } else {
      const { bytes, from, to } = tree.readText(node, this.#textRange);
      column.addString(bytes, from, to);
    }
  }

  /** Returns a node as JSON text, in which repeated children are lists, too. */
  #jsonOf(node: number): string {
    const tree = this.#tree;
    let child = tree.firstChild(node);
    if (child < 0) {
      if (!tree.hasText(node)) return 'null';
      const { bytes, from, to } = tree.readText(node, this.#textRange);
      return JSON.stringify(decoder.decode(bytes.subarray(from, to)));
    }
    const values = new Map<number, string[]>();
    for (; child >= 0; child = tree.nextSibling(child)) {
      const otherValues = values.get(tree.nameNumberOf(child));
      const value = this.#jsonOf(child);
      if (otherValues) otherValues.push(value);
      else values.set(tree.nameNumberOf(child), [value]);
    }
    const members = [...values].map(([name, valuesOfName]) => {
      const value = valuesOfName.length === 1 ? valuesOfName[0]! : `[${valuesOfName.join(',')}]`;
      return `${JSON.stringify(this.#names.nameOfNumber(name))}:${value}`;
    });
    return `{${members.join(',')}}`;
  }
}

function addUtf8(column: ValueColumn, text: string): void {
  const bytes = encoder.encode(text);
  column.addString(bytes, 0, bytes.length);
}

const encoder = new TextEncoder();
// A byte order mark inside a text is data.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

import type { Column } from '../../../engine/core/types.js';
import type { RecordFields } from '../../../engine/expression/compile/scope.js';
import { pathKey, type MemberPath } from '../../../engine/expression/compile/record-fields.js';
import { memberAt } from '../../../engine/expression/expression.js';
import { setItem } from '../../../engine/expression/values/dict.js';
import { PyDict, type PyValue } from '../../../engine/expression/values/python-values.js';
import type { Batch } from '../../../engine/ingest/batch.js';
import { codesOfCombinations, type DictionaryCodes } from './column-codes.js';
import { memberReader, type FieldReader } from './column-values.js';

/** The location of a value that an expression reads: a slot, and the path of a member in the slot's object. */
export interface SlotMember {
  readonly slot: number;
  /** The path of the member within the value of the slot; empty for the value itself. */
  readonly rest: MemberPath;
}

/**
 * Where the value of a slot comes from until an expression replaces it: a reader of the chunk, null for None in all records, or undefined
 * if records lack it.
 */
type SlotSource = FieldReader | null | undefined;

/** The values of the current record that expressions read. Each value is decoded when it is first read. */
export class RecordSlots implements RecordFields {
  readonly #batch: Batch;
  readonly #whole: ReadonlyMap<string, Column>;
  readonly #declared: ReadonlySet<string>;
  readonly #slots = new Map<string, number>();
  readonly #paths: MemberPath[] = [];
  readonly #sources: SlotSource[] = [];
  readonly #values: (PyValue | undefined)[] = [];
  /** For each slot, the record that its current value belongs to. */
  readonly #rows: number[] = [];
  readonly #codes = new Map<number, DictionaryCodes | null>();
  /** The sources of fields that have no slot. */
  readonly #others = new Map<string, SlotSource>();
  #row = -1;

  /** `whole` holds the columns of all chunks by name, `declared` the names of fields that are None where the chunk lacks them. */
  constructor(batch: Batch, whole: ReadonlyMap<string, Column>, declared: ReadonlySet<string>) {
    this.#batch = batch;
    this.#whole = whole;
    this.#declared = declared;
  }

  /** Returns the slot of a top-level field. */
  slotOfField(name: string): number {
    return this.#slot([name], () => this.#source([name]));
  }

  /** Gives every field of the input a slot, in the order of the record. */
  addAllFields(): void {
    for (const { name } of this.#batch.columns) this.slotOfField(name);
    for (const name of this.#declared) this.slotOfField(name);
  }

  /**
   * Returns the location of the value at a path. A member gets its own slot, unless its top-level field already has one or its column
   * cannot be read alone; therefore call `slotOfField` for all top-level fields first.
   */
  slotMemberOf(path: MemberPath): SlotMember {
    const [name = '', ...rest] = path;
    const source = this.#slots.has(name) ? null : this.#source(path);
    if (source === null) return { slot: this.slotOfField(name), rest };
    return { slot: this.#slot(path, () => source), rest: [] };
  }

  /** Makes `row` the current record. */
  goToRecord(row: number): void {
    this.#row = row;
  }

  /** Discards the values of the current record, so that they are read again. */
  discardValues(): void {
    this.#rows.fill(-1);
  }

  valueOfSlot(slot: number): PyValue | undefined {
    if (this.#rows[slot] === this.#row) return this.#values[slot];
    const source = this.#sources[slot];
    const value = source ? source.read(this.#row) : source;
    this.#values[slot] = value;
    this.#rows[slot] = this.#row;
    return value;
  }

  memberValue({ slot, rest }: SlotMember): PyValue | undefined {
    const value = this.valueOfSlot(slot);
    return rest.length === 0 ? value : memberAt(value, rest);
  }

  /** Replaces the value of a slot in the current record. */
  setSlot(slot: number, value: PyValue | undefined): void {
    this.#values[slot] = value;
    this.#rows[slot] = this.#row;
  }

  /**
   * Returns the codes of a slot's values, by record, before expressions replace them, as `textColumnCodes` does; null if they have no
   * codes.
   */
  codesOfSlot(slot: number): DictionaryCodes | null {
    const cachedCodes = this.#codes.get(slot);
    if (cachedCodes !== undefined) return cachedCodes;
    const source = this.#sources[slot];
    const codes =
      source === null ? codesOfCombinations([], this.#batch.rows) : (source?.codes() ?? null);
    this.#codes.set(slot, codes);
    return codes;
  }

  /** Returns the column of a slot's values before expressions replace them; undefined if no column holds them. */
  readerOfSlot(slot: number): FieldReader | undefined {
    return this.#sources[slot] ?? undefined;
  }

  /** Returns the whole current record, from the slots of top-level fields. */
  createRecord(): PyDict {
    const record = new PyDict();
    record.isRecord = true;
    for (const [slot, path] of this.#paths.entries()) {
      const value = path.length === 1 ? this.valueOfSlot(slot) : undefined;
      if (value !== undefined) setItem(record, path[0]!, value);
    }
    return record;
  }

  /** Returns the value of a top-level field of the current record; undefined if the record lacks it. */
  lookUp(name: string): PyValue | undefined {
    const slot = this.#slots.get(name);
    if (slot !== undefined) return this.valueOfSlot(slot);
    if (!this.#others.has(name)) this.#others.set(name, this.#source([name]));
    const source = this.#others.get(name);
    return source ? source.read(this.#row) : source;
  }

  /** Returns the names of the fields that records may have. */
  names(): Iterable<string> {
    return new Set([...this.#batch.columns.map(({ name }) => name), ...this.#declared]);
  }

  #slot(path: MemberPath, source: () => SlotSource): number {
    const key = pathKey(path);
    const cachedSlot = this.#slots.get(key);
    if (cachedSlot !== undefined) return cachedSlot;
    const slot = this.#paths.push(path) - 1;
    this.#slots.set(key, slot);
    this.#sources.push(source());
    this.#rows.push(-1);
    return slot;
  }

  /**
   * Returns the source of the values at a path. Null stands for None in all records; for a member, null means that the top-level field must
   * be read as a whole.
   */
  #source([name = '', ...members]: MemberPath): SlotSource {
    const { columns, data } = this.#batch;
    const at = columns.findIndex((column) => column.name === name);
    if (at < 0) return members.length === 0 && this.#declared.has(name) ? null : undefined;
    return memberReader(columns[at]!, data.data.children[at]!, this.#whole.get(name), members);
  }
}

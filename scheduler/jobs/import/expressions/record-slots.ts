import type { Column } from '../../../../engine/core/types.js';
import type { RecordFields } from '../../../../engine/expression/compile/scope.js';
import { pathKey, type MemberPath } from '../../../../engine/expression/compile/record-fields.js';
import { memberAt } from '../../../../engine/expression/expression.js';
import { setItem } from '../../../../engine/expression/values/dict.js';
import { PyDict, type PyValue } from '../../../../engine/expression/values/values.js';
import type { Batch } from '../../../../engine/ingest/batch.js';
import { combinedCodes, type DictionaryCodes } from './column-codes.js';
import { memberReader, type FieldReader } from './column-values.js';

/** The location of a value that an expression reads: the value of a slot, or a member of the object in it. */
export interface SlotMember {
  readonly slot: number;
  /** The names of the members below the slot. */
  readonly rest: MemberPath;
}

/** The values of a slot before an expression replaces them: read from the chunk, or the same in all records. */
type SlotSource = FieldReader | null | undefined;

/** The values of the current record that expressions read. Each value is created when it is first read. */
export class RecordSlots implements RecordFields {
  readonly #batch: Batch;
  readonly #whole: ReadonlyMap<string, Column>;
  readonly #declared: ReadonlySet<string>;
  readonly #slots = new Map<string, number>();
  readonly #paths: MemberPath[] = [];
  readonly #sources: SlotSource[] = [];
  readonly #values: (PyValue | undefined)[] = [];
  /** The record that the value of each slot belongs to. */
  readonly #rows: number[] = [];
  readonly #codes = new Map<number, DictionaryCodes | null>();
  /** The sources of fields without a slot. */
  readonly #others = new Map<string, SlotSource>();
  #row = -1;

  /** `whole` has the columns of all chunks by name, `declared` the fields that are None where the chunk lacks them. */
  constructor(batch: Batch, whole: ReadonlyMap<string, Column>, declared: ReadonlySet<string>) {
    this.#batch = batch;
    this.#whole = whole;
    this.#declared = declared;
  }

  /** The slot of a whole field. */
  field(name: string): number {
    return this.#slot([name], () => this.#source([name]));
  }

  /** Gives every field of the input a slot, in the order of the record. */
  all(): void {
    for (const { name } of this.#batch.columns) this.field(name);
    for (const name of this.#declared) this.field(name);
  }

  /**
   * The location of the value at a path. A member gets its own slot unless its whole field has one, so ask for whole fields first, or its column
   * cannot be read alone.
   */
  member(path: MemberPath): SlotMember {
    const [name = '', ...rest] = path;
    const source = this.#slots.has(name) ? null : this.#source(path);
    if (source === null) return { slot: this.field(name), rest };
    return { slot: this.#slot(path, () => source), rest: [] };
  }

  /** Moves to another record. */
  go(row: number): void {
    this.#row = row;
  }

  /** Discards the values of the current record, so that they are created again. */
  leave(): void {
    this.#rows.fill(-1);
  }

  value(slot: number): PyValue | undefined {
    if (this.#rows[slot] === this.#row) return this.#values[slot];
    const source = this.#sources[slot];
    const value = source ? source.read(this.#row) : source;
    this.#values[slot] = value;
    this.#rows[slot] = this.#row;
    return value;
  }

  memberValue({ slot, rest }: SlotMember): PyValue | undefined {
    const value = this.value(slot);
    return rest.length === 0 ? value : memberAt(value, rest);
  }

  /** Replaces the value of a slot in the current record. */
  set(slot: number, value: PyValue | undefined): void {
    this.#values[slot] = value;
    this.#rows[slot] = this.#row;
  }

  /** The codes of a slot's values, by record, before expressions replace them: as from `columnCodes`; null if no column has the values. */
  codes(slot: number): DictionaryCodes | null {
    const cachedCodes = this.#codes.get(slot);
    if (cachedCodes !== undefined) return cachedCodes;
    const source = this.#sources[slot];
    const codes = source === null ? combinedCodes([], this.#batch.rows) : (source?.codes() ?? null);
    this.#codes.set(slot, codes);
    return codes;
  }

  /** The column of a slot's values before expressions replace them; undefined if no column has them. */
  column(slot: number): FieldReader | undefined {
    return this.#sources[slot] ?? undefined;
  }

  /** The whole record, of the slots of whole fields. */
  record(): PyDict {
    const record = new PyDict();
    record.isRecord = true;
    for (const [slot, path] of this.#paths.entries()) {
      const value = path.length === 1 ? this.value(slot) : undefined;
      if (value !== undefined) setItem(record, path[0]!, value);
    }
    return record;
  }

  /** The value of a whole field of the current record; undefined if the record lacks it. */
  lookUp(name: string): PyValue | undefined {
    const slot = this.#slots.get(name);
    if (slot !== undefined) return this.value(slot);
    if (!this.#others.has(name)) this.#others.set(name, this.#source([name]));
    const source = this.#others.get(name);
    return source ? source.read(this.#row) : source;
  }

  /** The names of the fields that records may have. */
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

  /** The source of the values at a path. Null stands for None in all records; for a member, it means that the whole field is needed. */
  #source([name = '', ...members]: MemberPath): SlotSource {
    const { columns, data } = this.#batch;
    const at = columns.findIndex((column) => column.name === name);
    if (at < 0) return members.length === 0 && this.#declared.has(name) ? null : undefined;
    return memberReader(columns[at]!, data.data.children[at]!, this.#whole.get(name), members);
  }
}

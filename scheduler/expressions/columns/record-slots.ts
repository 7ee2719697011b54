import type { Column } from '../../../engine/core/types.js';
import type { RecordFields } from '../../../engine/expression/compile/scope.js';
import { pathKey, type MemberPath } from '../../../engine/expression/compile/record-fields.js';
import { memberAt } from '../../../engine/expression/expression.js';
import { setItem } from '../../../engine/expression/values/dict.js';
import { PyDict, type PyValue } from '../../../engine/expression/values/python-values.js';
import type { Batch } from '../../../engine/ingest/batch.js';
import { indicesOfCombinations, type DictionaryIndices } from './dictionary-indices.js';
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
  readonly #wholeColumns: ReadonlyMap<string, Column>;
  readonly #declaredNames: ReadonlySet<string>;
  /** The slot of each value, by the `pathKey` of its path, which for a top-level field is its name. */
  readonly #slotByKey = new Map<string, number>();
  readonly #paths: MemberPath[] = [];
  readonly #sources: SlotSource[] = [];
  readonly #values: (PyValue | undefined)[] = [];
  /** For each slot, the record that its current value belongs to. */
  readonly #valueRows: number[] = [];
  readonly #dictionaryIndices = new Map<number, DictionaryIndices | null>();
  /** The sources of fields that have no slot. */
  readonly #otherSources = new Map<string, SlotSource>();
  #currentRow = -1;

  /** `wholeColumns` are the columns of all chunks by name, `declaredNames` the names of fields that are None where the chunk lacks them. */
  constructor(
    batch: Batch,
    wholeColumns: ReadonlyMap<string, Column>,
    declaredNames: ReadonlySet<string>,
  ) {
    this.#batch = batch;
    this.#wholeColumns = wholeColumns;
    this.#declaredNames = declaredNames;
  }

  /** Returns the slot of a top-level field. */
  slotOfField(name: string): number {
    return this.#addSlot([name], () => this.#findSource([name]));
  }

  /** Gives every field of the input a slot, in the order of the record, and then every other declared field. */
  addAllFields(): void {
    for (const { name } of this.#batch.columns) this.slotOfField(name);
    for (const name of this.#declaredNames) this.slotOfField(name);
  }

  /**
   * Returns the location of the value at a path. A member gets its own slot, unless its top-level field already has one or its column
   * cannot be read alone; therefore call `slotOfField` for all top-level fields first.
   */
  slotMemberOf(path: MemberPath): SlotMember {
    const [name = '', ...rest] = path;
    const source = this.#slotByKey.has(name) ? null : this.#findSource(path);
    if (source === null) return { slot: this.slotOfField(name), rest };
    return { slot: this.#addSlot(path, () => source), rest: [] };
  }

  /** Makes `row` the current record. */
  goToRecord(row: number): void {
    this.#currentRow = row;
  }

  /** Discards the values of the current record, so that they are read again. */
  discardValues(): void {
    this.#valueRows.fill(-1);
  }

  valueOfSlot(slot: number): PyValue | undefined {
    if (this.#valueRows[slot] === this.#currentRow) return this.#values[slot];
    const source = this.#sources[slot];
    const value = source ? source.read(this.#currentRow) : source;
    this.#values[slot] = value;
    this.#valueRows[slot] = this.#currentRow;
    return value;
  }

  memberValue({ slot, rest }: SlotMember): PyValue | undefined {
    const value = this.valueOfSlot(slot);
    return rest.length === 0 ? value : memberAt(value, rest);
  }

  /** Replaces the value of a slot in the current record. */
  setSlot(slot: number, value: PyValue | undefined): void {
    this.#values[slot] = value;
    this.#valueRows[slot] = this.#currentRow;
  }

  /**
   * Returns the dictionary indices of the values that a slot has before expressions replace them, as `textDictionaryIndices` does; null if
   * the values have none.
   */
  dictionaryIndicesOfSlot(slot: number): DictionaryIndices | null {
    const cachedIndices = this.#dictionaryIndices.get(slot);
    if (cachedIndices !== undefined) return cachedIndices;
    const source = this.#sources[slot];
    const indices =
      source === null
        ? indicesOfCombinations([], this.#batch.rows)
        : (source?.dictionaryIndices() ?? null);
    this.#dictionaryIndices.set(slot, indices);
    return indices;
  }

  /** Returns the reader of the values that a slot has before expressions replace them; undefined if no column holds them. */
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
    const slot = this.#slotByKey.get(name);
    if (slot !== undefined) return this.valueOfSlot(slot);
    if (!this.#otherSources.has(name)) this.#otherSources.set(name, this.#findSource([name]));
    const source = this.#otherSources.get(name);
    return source ? source.read(this.#currentRow) : source;
  }

  /** Returns the names of the fields that records may have. */
  names(): Iterable<string> {
    return new Set([...this.#batch.columns.map(({ name }) => name), ...this.#declaredNames]);
  }

  #addSlot(path: MemberPath, source: () => SlotSource): number {
    const key = pathKey(path);
    const cachedSlot = this.#slotByKey.get(key);
    if (cachedSlot !== undefined) return cachedSlot;
    const slot = this.#paths.push(path) - 1;
    this.#slotByKey.set(key, slot);
    this.#sources.push(source());
    this.#valueRows.push(-1);
    return slot;
  }

  /**
   * Returns the source of the values at a path. Null stands for None in all records; for a member, null means that the top-level field must
   * be read as a whole.
   */
  #findSource([name = '', ...members]: MemberPath): SlotSource {
    const { columns, data } = this.#batch;
    const at = columns.findIndex((column) => column.name === name);
    if (at < 0) return members.length === 0 && this.#declaredNames.has(name) ? null : undefined;
    return memberReader(
      columns[at]!,
      data.data.children[at]!,
      this.#wholeColumns.get(name),
      members,
    );
  }
}

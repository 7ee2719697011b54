import type { PyValue } from '../../../engine/expression/values/python-values.js';
import { indicesOfCombinations, type DictionaryIndices } from './dictionary-indices.js';
import type { RecordSlots } from './record-slots.js';

/**
 * Returns the memo of an expression whose result depends only on the values of some slots; null for more than three slots, and for slots
 * with too many distinct values or without dictionary indices.
 */
export function createResultMemo(
  slots: RecordSlots,
  inputSlots: readonly number[],
  rows: number,
): ResultMemo | null {
  if (inputSlots.length > 3) return null;
  const indicesBySlot: DictionaryIndices[] = [];
  for (const slot of inputSlots) {
    const slotIndices = slots.dictionaryIndicesOfSlot(slot);
    if (slotIndices === null) return null;
    indicesBySlot.push(slotIndices);
  }
  const combinedIndices = indicesOfCombinations(indicesBySlot, rows);
  return combinedIndices && new ResultMemo(combinedIndices);
}

/**
 * The results of an expression within a chunk, by the values that it reads. Columns with few distinct values, such as significances and
 * consequences, need few evaluations.
 */
export class ResultMemo {
  /** For each record, the dictionary index of the values that decide the result; -1 if the result must be computed for this record. */
  readonly indices: Int32Array;
  /** A number greater than all indices. */
  readonly size: number;
  readonly #results: (PyValue | undefined)[] = [];

  constructor({ indices, size }: DictionaryIndices) {
    this.indices = indices;
    this.size = size;
  }

  /** Returns the result for a record; undefined if it must be computed. */
  findForRow(row: number): PyValue | undefined {
    const index = this.indices[row]!;
    return index < 0 ? undefined : this.#results[index];
  }

  /** Keeps the result that was computed for a record. */
  keepForRow(row: number, result: PyValue): void {
    const index = this.indices[row]!;
    if (index >= 0) this.#results[index] = result;
  }
}

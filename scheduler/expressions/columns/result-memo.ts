import type { PyValue } from '../../../engine/expression/values/python-values.js';
import { codesOfCombinations, type DictionaryCodes } from './column-codes.js';
import type { RecordSlots } from './record-slots.js';

/**
 * Returns the memo of an expression whose result depends only on the values of some slots; null for more than three slots, and for slots
 * with too many distinct values or without codes.
 */
export function createResultMemo(
  slots: RecordSlots,
  inputs: readonly number[],
  rows: number,
): ResultMemo | null {
  if (inputs.length > 3) return null;
  const codes: DictionaryCodes[] = [];
  for (const slot of inputs) {
    const slotCodes = slots.codesOfSlot(slot);
    if (slotCodes === null) return null;
    codes.push(slotCodes);
  }
  const all = codesOfCombinations(codes, rows);
  return all && new ResultMemo(all);
}

/**
 * The results of an expression within a chunk, by the values that it reads. Columns with few distinct values, such as significances and
 * consequences, need few evaluations.
 */
export class ResultMemo {
  /** For each record, the code of the values that decide the result; -1 if the result must be computed for this record. */
  readonly codes: Int32Array;
  /** A number greater than all codes. */
  readonly size: number;
  readonly #results: (PyValue | undefined)[] = [];

  constructor({ codes, size }: DictionaryCodes) {
    this.codes = codes;
    this.size = size;
  }

  /** Returns the result for a record; undefined if it must be computed. */
  findForRow(row: number): PyValue | undefined {
    const code = this.codes[row]!;
    return code < 0 ? undefined : this.#results[code];
  }

  /** Keeps the result that was computed for a record. */
  keepForRow(row: number, result: PyValue): void {
    const code = this.codes[row]!;
    if (code >= 0) this.#results[code] = result;
  }
}

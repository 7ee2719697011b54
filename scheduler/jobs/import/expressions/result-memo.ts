import type { PyValue } from '../../../../engine/expression/values/values.js';
import { combinedCodes, type DictionaryCodes } from './column-codes.js';
import type { RecordSlots } from './record-slots.js';

/** The memo of an expression whose results the values of some slots decide; null if there are too many different ones. */
export function resultMemo(
  slots: RecordSlots,
  inputs: readonly number[],
  rows: number,
): ResultMemo | null {
  if (inputs.length > 3) return null;
  const codes: DictionaryCodes[] = [];
  for (const slot of inputs) {
    const slotCodes = slots.codes(slot);
    if (slotCodes === null) return null;
    codes.push(slotCodes);
  }
  const all = combinedCodes(codes, rows);
  return all && new ResultMemo(all);
}

/**
 * The results of an expression by the values that it reads, within a chunk: columns of few different values, such as significances and
 * consequences, need few evaluations.
 */
export class ResultMemo {
  /** For each record, the number of the values that decide the result; -1 where the result must be computed. */
  readonly codes: Int32Array;
  /** A number greater than all codes. */
  readonly size: number;
  readonly #results: (PyValue | undefined)[] = [];

  constructor({ codes, size }: DictionaryCodes) {
    this.codes = codes;
    this.size = size;
  }

  /** The result for a record; undefined if it must be computed. */
  find(row: number): PyValue | undefined {
    const code = this.codes[row]!;
    return code < 0 ? undefined : this.#results[code];
  }

  /** Keeps the result that was computed for a record. */
  keep(row: number, result: PyValue): void {
    const code = this.codes[row]!;
    if (code >= 0) this.#results[code] = result;
  }
}

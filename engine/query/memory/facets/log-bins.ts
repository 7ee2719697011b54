import type { Bins } from '../../request/facet-bins.js';
import type { NumberSlots, Slotting } from './number-ids.js';

/** Cells are the numbers above zero that begin with the same bits: the exponent and six of the mantissa. */
const cellShift = 14;
const cells = 1 << (31 - cellShift);
/** An edge lies in the cell. */
const isMixed = 0xffff_ffff;

const ends = new Float64Array(2);
const endWords = new Uint32Array(ends.buffer);

/**
 * Bins of powers of ten, in the arithmetic of the SQL path. A logarithm is taken once for each cell of numbers that has no edge in it,
 * not for each number (5 M doubles: 18 ms instead of 150).
 */
export class LogBins implements Slotting {
  readonly #slots: NumberSlots;
  readonly #edges: Float64Array;
  readonly #first: number;
  readonly #step: number;
  /** Of each cell one more than its slot; 0: not known yet. */
  readonly #cells = new Uint32Array(cells);

  constructor(slots: NumberSlots, { starts, first, step }: Extract<Bins, { kind: 'log' }>) {
    this.#slots = slots;
    this.#edges = Float64Array.from(starts, Number);
    this.#first = first;
    this.#step = step;
  }

  find(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    const words = new Uint32Array(values.buffer, values.byteOffset + 8 * start, 2 * count);
    const slots = this.#cells;
    for (let i = 0; i < count; i++) {
      // The upper half of a double; that of a number below zero is beyond all cells.
      const cell = words[2 * i + 1]! >>> cellShift;
      const slot = cell < cells ? slots[cell]! : 0;
      into[i] = slot - 1;
      if (slot === 0 || slot === isMixed) into[i] = this.#slot(values[start + i]!, cell);
    }
  }

  key(slot: number): number {
    return this.#slots.key(slot);
  }

  #slot(value: number, cell: number): number {
    const bin = value === 0 ? 0 : value > 0 ? this.#bin(value) : -this.#bin(-value);
    const slot = this.#slots.slot(bin);
    // The first cell has zero in it.
    if (cell > 0 && cell < cells && this.#cells[cell] === 0) {
      endWords[0] = 0;
      endWords[1] = cell << cellShift;
      endWords[2] = 0xffff_ffff;
      endWords[3] = ((cell + 1) << cellShift) - 1;
      const isWhole = this.#bin(ends[0]!) === bin && this.#bin(ends[1]!) === bin;
      this.#cells[cell] = isWhole ? slot + 1 : isMixed;
    }
    return slot;
  }

  #bin(size: number): number {
    const edges = this.#edges;
    const exponent = Math.log10(size) / this.#step;
    const guess = Math.floor(exponent) - this.#first + 1;
    if (Math.abs(exponent - Math.round(exponent)) > 1e-9 && size > 1e-300) return guess;
    const bin = Math.max(1, Math.min(edges.length - 1, guess));
    if (edges[bin]! <= size) return bin + 1;
    return edges[bin - 1]! > size ? bin - 1 : bin;
  }
}

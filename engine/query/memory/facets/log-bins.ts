import type { Bins } from '../../request/facet-bins.js';
import type { NumberIds, NumberGrouping } from './number-ids.js';

/**
 * Positive doubles that share the exponent and the first six bits of the mantissa form a cell; shifting a double's upper half by this many
 * bits gives its cell.
 */
const cellBitShift = 14;
const cellCount = 1 << (31 - cellBitShift);
/** Marks a cell (a range of doubles) that contains an edge of a bin. */
const cellWithEdge = 0xffff_ffff;

const binEnds = new Float64Array(2);
const binEndHalves = new Uint32Array(binEnds.buffer);

/**
 * Groups numbers into logarithmic bins, whose edges are powers of ten with whole or fractional exponents (for integers, rounded up), in the
 * arithmetic of the SQL executor. Logarithms are computed once for each cell that contains no edge, not for each of its numbers (5 million
 * doubles: 18 ms instead of 150).
 */
export class LogarithmicBins implements NumberGrouping {
  readonly #ids: NumberIds;
  readonly #edges: Float64Array;
  readonly #first: number;
  readonly #step: number;
  /** For each cell (a range of doubles), the id of its bin plus one; 0 if it has not been computed, or `cellWithEdge`. */
  readonly #cells = new Uint32Array(cellCount);

  constructor(ids: NumberIds, { starts, first, step }: Extract<Bins, { kind: 'log' }>) {
    this.#ids = ids;
    this.#edges = Float64Array.from(starts, Number);
    this.#first = first;
    this.#step = step;
  }

  assign(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    const halves = new Uint32Array(values.buffer, values.byteOffset + 8 * start, 2 * count);
    const ids = this.#cells;
    for (let i = 0; i < count; i++) {
      // The cell number comes from the upper half of the double. Negative numbers lie beyond the last cell.
      const cell = halves[2 * i + 1]! >>> cellBitShift;
      const id = cell < cellCount ? ids[cell]! : 0;
      into[i] = id - 1;
      if (id === 0 || id === cellWithEdge) into[i] = this.#id(values[start + i]!, cell);
    }
  }

  key(id: number): number {
    return this.#ids.key(id);
  }

  #id(value: number, cell: number): number {
    const bin = value === 0 ? 0 : value > 0 ? this.#bin(value) : -this.#bin(-value);
    const id = this.#ids.id(bin);
    // Cell 0 contains zero, which has a bin of its own.
    if (cell > 0 && cell < cellCount && this.#cells[cell] === 0) {
      binEndHalves[0] = 0;
      binEndHalves[1] = cell << cellBitShift;
      binEndHalves[2] = 0xffff_ffff;
      binEndHalves[3] = ((cell + 1) << cellBitShift) - 1;
      const isWhole = this.#bin(binEnds[0]!) === bin && this.#bin(binEnds[1]!) === bin;
      this.#cells[cell] = isWhole ? id + 1 : cellWithEdge;
    }
    return id;
  }

  #bin(magnitude: number): number {
    const edges = this.#edges;
    const exponent = Math.log10(magnitude) / this.#step;
    const guess = Math.floor(exponent) - this.#first + 1;
    if (Math.abs(exponent - Math.round(exponent)) > 1e-9 && magnitude > 1e-300) return guess;
    const bin = Math.max(1, Math.min(edges.length - 1, guess));
    if (edges[bin]! <= magnitude) return bin + 1;
    return edges[bin - 1]! > magnitude ? bin - 1 : bin;
  }
}

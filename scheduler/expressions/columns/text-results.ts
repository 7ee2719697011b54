import { wordBytes, type TextDictionary } from '../../../engine/ingest/text-dictionary.js';

/** The values of `TextResults.nulls`, which say what the result with each index is: a text, None, not known yet, or stored elsewhere. */
const [textState, noneState, unknownState, elsewhereState] = [0, 1, 2, 3];

/** Results that are texts or None, by dictionary index, as bytes that columns can copy without creating strings. */
export class TextResults implements TextDictionary {
  bytes = new DataView(new ArrayBuffer(1 << 12));
  begins = new Int32Array(0);
  ends = new Int32Array(0);
  nulls = new Uint8Array(0);
  #end = 0;

  /** The size in bytes of the results and of the arrays that index them. */
  get byteLength(): number {
    return this.#end + 9 * this.nulls.length;
  }

  hasResult(index: number): boolean {
    return index < this.nulls.length && this.nulls[index]! < unknownState;
  }

  /** Whether `markElsewhere` was called for an index and no result was stored here since. */
  isMarkedElsewhere(index: number): boolean {
    return index < this.nulls.length && this.nulls[index] === elsewhereState;
  }

  /** Marks an index whose result is not stored here: another cache has it, or an evaluation must find it. */
  markElsewhere(index: number): void {
    this.reserve(index);
    this.nulls[index] = elsewhereState;
  }

  /** Returns the result with an index; undefined if it is not stored here. */
  findText(index: number): string | null | undefined {
    if (!this.hasResult(index)) return undefined;
    if (this.nulls[index] === noneState) return null;
    const { buffer } = this.bytes;
    const from = this.begins[index]!;
    return Buffer.from(buffer, from, this.ends[index]! - from).toString();
  }

  /** Reserves space for results up to an index. */
  reserve(index: number): void {
    const { length } = this.nulls;
    if (index < length) return;
    const size = Math.max(index + 1, 2 * length, 1 << 10);
    this.begins = copyInto(this.begins, new Int32Array(size));
    this.ends = copyInto(this.ends, new Int32Array(size));
    this.nulls = copyInto(this.nulls, new Uint8Array(size).fill(unknownState));
  }

  /** Keeps the text `source[from..to)`, which must be UTF-8. */
  keepText(index: number, source: Uint8Array, from: number, to: number): void {
    this.reserve(index);
    const end = this.#end + to - from;
    if (end + wordBytes > this.bytes.byteLength) {
      const grownBytes = new Uint8Array(2 * (end + wordBytes));
      grownBytes.set(new Uint8Array(this.bytes.buffer, 0, this.#end));
      this.bytes = new DataView(grownBytes.buffer);
    }
    const { bytes } = this;
    for (let i = from, at = this.#end; i < to; i++, at++) bytes.setUint8(at, source[i]!);
    this.begins[index] = this.#end;
    this.ends[index] = this.#end = end;
    this.nulls[index] = textState;
  }

  keepNone(index: number): void {
    this.reserve(index);
    this.nulls[index] = noneState;
  }
}

function copyInto<T extends Int32Array | Uint8Array>(numbers: T, grown: T): T {
  grown.set(numbers);
  return grown;
}

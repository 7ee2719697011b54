import { wordBytes, type TextDictionary } from '../../../engine/ingest/text-dictionary.js';

/** The values of `TextResults.nulls`, which say what the result with each code is: a text, None, not known yet, or stored elsewhere. */
const [isText, isNone, isUnknown, isElsewhere] = [0, 1, 2, 3];

/** Results that are texts or None, by code, as bytes that columns can copy without creating strings. */
export class TextResults implements TextDictionary {
  bytes = new DataView(new ArrayBuffer(1 << 12));
  begins = new Int32Array(0);
  ends = new Int32Array(0);
  nulls = new Uint8Array(0);
  #end = 0;

  /** The size of the results in bytes. */
  get byteLength(): number {
    return this.#end + 9 * this.nulls.length;
  }

  hasText(code: number): boolean {
    return code < this.nulls.length && this.nulls[code]! < isUnknown;
  }

  /** Whether the result with a code is not stored here, because `markElsewhere` was called for it. */
  isMarkedElsewhere(code: number): boolean {
    return code < this.nulls.length && this.nulls[code] === isElsewhere;
  }

  /** Marks a code whose result is not stored here: another cache has it, or an evaluation must find it. */
  markElsewhere(code: number): void {
    this.reserve(code);
    this.nulls[code] = isElsewhere;
  }

  /** Returns the result with a code; undefined if it is not stored here. */
  findText(code: number): string | null | undefined {
    if (!this.hasText(code)) return undefined;
    if (this.nulls[code] === isNone) return null;
    const { buffer } = this.bytes;
    const from = this.begins[code]!;
    return Buffer.from(buffer, from, this.ends[code]! - from).toString();
  }

  /** Reserves space for results up to a code. */
  reserve(code: number): void {
    const { length } = this.nulls;
    if (code < length) return;
    const size = Math.max(code + 1, 2 * length, 1 << 10);
    this.begins = copyInto(this.begins, new Int32Array(size));
    this.ends = copyInto(this.ends, new Int32Array(size));
    this.nulls = copyInto(this.nulls, new Uint8Array(size).fill(isUnknown));
  }

  /** Keeps the text `source[from..to)`, which must be UTF-8. */
  keepText(code: number, source: Uint8Array, from: number, to: number): void {
    this.reserve(code);
    const end = this.#end + to - from;
    if (end + wordBytes > this.bytes.byteLength) {
      const grownBytes = new Uint8Array(2 * (end + wordBytes));
      grownBytes.set(new Uint8Array(this.bytes.buffer, 0, this.#end));
      this.bytes = new DataView(grownBytes.buffer);
    }
    const { bytes } = this;
    for (let i = from, at = this.#end; i < to; i++, at++) bytes.setUint8(at, source[i]!);
    this.begins[code] = this.#end;
    this.ends[code] = this.#end = end;
    this.nulls[code] = isText;
  }

  keepNone(code: number): void {
    this.reserve(code);
    this.nulls[code] = isNone;
  }
}

function copyInto<T extends Int32Array | Uint8Array>(numbers: T, grown: T): T {
  grown.set(numbers);
  return grown;
}

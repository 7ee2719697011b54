import { endOfPlainText } from '../../../engine/core/packed-strings.js';

/** Reads the JSON text of an object with two members, each null or a string without escapes. */
export class StringPairReader {
  /** The positions of the first bytes of the two values, including their quotes; 0 for null. */
  readonly valueStarts = new Int32Array(2);
  readonly valueEnds = new Int32Array(2);
  readonly #members: readonly MemberText[];
  /** The index of the member that stood first in the object read last. */
  #firstMember = 0;

  constructor(first: string, second: string) {
    this.#members = [first, second].map((name) => ({
      asFirst: Buffer.from(`{${JSON.stringify(name)}:`),
      asSecond: Buffer.from(`,${JSON.stringify(name)}:`),
    }));
  }

  /** Reads the object that begins at `from`; returns false if the object has another form. */
  readObject(bytes: Uint8Array, from: number): boolean {
    return (
      this.#read(bytes, from, this.#firstMember) || this.#read(bytes, from, 1 - this.#firstMember)
    );
  }

  #read(bytes: Uint8Array, from: number, first: number): boolean {
    const { asFirst } = this.#members[first]!;
    const { asSecond } = this.#members[1 - first]!;
    if (!startsWith(bytes, from, asFirst)) return false;
    this.#firstMember = first;
    const firstEnd = this.#readValue(bytes, from + asFirst.length, first);
    if (firstEnd < 0 || !startsWith(bytes, firstEnd, asSecond)) return false;
    const objectEnd = this.#readValue(bytes, firstEnd + asSecond.length, 1 - first);
    return objectEnd >= 0 && bytes[objectEnd] === closeBrace;
  }

  /** Notes the value of a member. Returns the position after the value; -1 if it is neither null nor a string without escapes. */
  #readValue(bytes: Uint8Array, from: number, member: number): number {
    const isNull = startsWith(bytes, from, nullText);
    if (!isNull && bytes[from] !== quote) return -1;
    const end = isNull ? from + nullText.length - 1 : endOfPlainText(bytes, from + 1);
    if (!isNull && bytes[end] !== quote) return -1;
    this.valueStarts[member] = isNull ? 0 : from;
    this.valueEnds[member] = isNull ? 0 : end + 1;
    return end + 1;
  }
}

/** The two texts that may precede the value of a member: one if it is the first member of the object, the other if it is the second. */
interface MemberText {
  readonly asFirst: Uint8Array;
  readonly asSecond: Uint8Array;
}

const nullText = Buffer.from('null');
const [quote, closeBrace] = [0x22, 0x7d];

function startsWith(bytes: Uint8Array, from: number, start: Uint8Array): boolean {
  for (let i = 0; i < start.length; i++) if (bytes[from + i] !== start[i]) return false;
  return true;
}

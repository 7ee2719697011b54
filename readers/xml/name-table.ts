import { budgets } from '../../engine/core/budgets.js';
import { fewerFieldsAdvice } from '../../engine/ingest/object-column.js';
import { XmlFault } from './xml-characters.js';

const cacheSlots = 4096;

/** Gives each name of a chunk a number: the bytes of an occurrence are compared once, and afterwards the parser compares numbers. */
export class NameTable {
  readonly #names: string[] = [];
  readonly #byName = new Map<string, number>();
  /** The key of an attribute, by the number of its name. */
  readonly #keys: (number | undefined)[] = [];
  readonly #prefix: string;
  // A cache of name numbers by a hash of the name's bytes; the map finds a name whose slot in the cache another name occupies.
  readonly #numbers = new Int32Array(cacheSlots).fill(-1);
  readonly #bytes: Uint8Array[] = [];

  constructor(attributePrefix: string) {
    this.#prefix = attributePrefix;
  }

  /** Returns the number of a name that is given as a string; `at` is the position of errors. */
  numberOfName(name: string, at = 0): number {
    const cachedName = this.#byName.get(name);
    if (cachedName !== undefined) return cachedName;
    const number = this.#names.length;
    // Each field that a dataset may have needs a number for its key, and attributes one more for the name in the file.
    if (number > 4 * budgets.columnsPerImport)
      throw new XmlFault(
        at,
        `the file has more than ${number} different names of elements and attributes, the most that an import may have: ${fewerFieldsAdvice}`,
      );
    this.#names.push(name);
    this.#bytes.push(encoder.encode(name));
    this.#byName.set(name, number);
    return number;
  }

  /** Returns the number of the name in `bytes[from..to)`; `sum` is a hash of its bytes. */
  numberOfNameBytes(bytes: Uint8Array, from: number, to: number, sum: number): number {
    const slot = sum & (cacheSlots - 1);
    const guess = this.#numbers[slot]!;
    if (guess >= 0) {
      const knownBytes = this.#bytes[guess]!;
      let i = 0;
      if (knownBytes.length === to - from)
        while (i < knownBytes.length && knownBytes[i] === bytes[from + i]) i++;
      if (i === to - from) return guess;
    }
    const number = this.numberOfName(decoder.decode(bytes.subarray(from, to)), from);
    this.#numbers[slot] = number;
    return number;
  }

  /** Returns the number of the key under which records have an attribute with this name. */
  attributeKeyNumber(name: number): number {
    return (this.#keys[name] ??= this.numberOfName(this.#prefix + this.#names[name]!));
  }

  nameOfNumber(number: number): string {
    return this.#names[number]!;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

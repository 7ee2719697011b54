import { budgets } from '../../engine/core/budgets.js';
import { fewerFieldsAdvice } from '../../engine/ingest/object-column.js';
import { XmlFault } from './xml-characters.js';

const cacheSlots = 4096;

/** Gives each name of a chunk a number: the bytes of an occurrence are compared once, and afterwards the parser compares numbers. */
export class NameTable {
  readonly #names: string[] = [];
  readonly #numberByName = new Map<string, number>();
  /** The number of the key of an attribute, by the number of its name. */
  readonly #attributeKeyNumbers: (number | undefined)[] = [];
  readonly #attributePrefix: string;
  // A cache of name numbers by a hash of the name's bytes; the map finds a name whose slot in the cache another name occupies.
  readonly #cachedNumbers = new Int32Array(cacheSlots).fill(-1);
  readonly #nameBytes: Uint8Array[] = [];

  constructor(attributePrefix: string) {
    this.#attributePrefix = attributePrefix;
  }

  /** Returns the number of a name that is given as a string; `at` is the position that an error names. */
  numberOfName(name: string, at = 0): number {
    const knownNumber = this.#numberByName.get(name);
    if (knownNumber !== undefined) return knownNumber;
    const number = this.#names.length;
    // Each field that a dataset may have needs a number for its key, and attributes one more for the name in the file.
    if (number > 4 * budgets.columnsPerImport)
      throw new XmlFault(
        at,
        `the file has more than ${number} different names of elements and attributes, the most that an import may have: ${fewerFieldsAdvice}`,
      );
    this.#names.push(name);
    this.#nameBytes.push(encoder.encode(name));
    this.#numberByName.set(name, number);
    return number;
  }

  /** Returns the number of the name in `bytes[from..to)`; `hash` is a hash of its bytes. */
  numberOfNameBytes(bytes: Uint8Array, from: number, to: number, hash: number): number {
    const slot = hash & (cacheSlots - 1);
    const guess = this.#cachedNumbers[slot]!;
    if (guess >= 0) {
      const knownBytes = this.#nameBytes[guess]!;
      let i = 0;
      if (knownBytes.length === to - from)
        while (i < knownBytes.length && knownBytes[i] === bytes[from + i]) i++;
      if (i === to - from) return guess;
    }
    const number = this.numberOfName(decoder.decode(bytes.subarray(from, to)), from);
    this.#cachedNumbers[slot] = number;
    return number;
  }

  /** Returns the number of the key under which records have an attribute with this name. */
  attributeKeyNumber(nameNumber: number): number {
    return (this.#attributeKeyNumbers[nameNumber] ??= this.numberOfName(
      this.#attributePrefix + this.#names[nameNumber]!,
    ));
  }

  nameOfNumber(number: number): string {
    return this.#names[number]!;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

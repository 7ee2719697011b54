import { budgets } from '../../engine/core/budgets.js';
import { fewerFields } from '../../engine/ingest/object-column.js';
import { XmlFault } from './characters.js';

const slots = 4096;

/** Numbers for the names of a chunk, so that a name is compared with bytes once and with numbers from then on. */
export class Names {
  readonly #names: string[] = [];
  readonly #byName = new Map<string, number>();
  /** The attribute's key by the number of its name. */
  readonly #keys: (number | undefined)[] = [];
  readonly #prefix: string;
  // A name that was met before is found by a sum over its bytes; where two share one, the map tells.
  readonly #numbers = new Int32Array(slots).fill(-1);
  readonly #bytes: Uint8Array[] = [];

  constructor(attributePrefix: string) {
    this.#prefix = attributePrefix;
  }

  /** The number of a name that is text already. */
  of(name: string, at = 0): number {
    const cachedName = this.#byName.get(name);
    if (cachedName !== undefined) return cachedName;
    const number = this.#names.length;
    // A key per field that a dataset may get, and as many attributes that share their names.
    if (number > 4 * budgets.columnsPerImport)
      throw new XmlFault(
        at,
        `the file has more than ${number} different names of elements and attributes, the most that an import may have: ${fewerFields}`,
      );
    this.#names.push(name);
    this.#bytes.push(encoder.encode(name));
    this.#byName.set(name, number);
    return number;
  }

  /** The number of the name in `bytes[from..to)`; `sum` is made of its bytes in any way. */
  at(bytes: Uint8Array, from: number, to: number, sum: number): number {
    const slot = sum & (slots - 1);
    const guess = this.#numbers[slot]!;
    if (guess >= 0) {
      const knownBytes = this.#bytes[guess]!;
      let i = 0;
      if (knownBytes.length === to - from)
        while (i < knownBytes.length && knownBytes[i] === bytes[from + i]) i++;
      if (i === to - from) return guess;
    }
    const number = this.of(decoder.decode(bytes.subarray(from, to)), from);
    this.#numbers[slot] = number;
    return number;
  }

  /** The number of the key that an attribute of that name has in its record. */
  attribute(name: number): number {
    return (this.#keys[name] ??= this.of(this.#prefix + this.#names[name]!));
  }

  text(number: number): string {
    return this.#names[number]!;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

import type { Column, Texts, Vocabulary } from '../column.js';
import type { Overflow } from './overflow.js';
import type { PartialKeys } from './partial.js';
import { TextTable } from './string-table.js';
import { blockLength, wordsOf } from './blocks.js';

/** How many different texts a facet may have in one thread: the main thread puts them together (see `mostKeys`). */
export const mostTexts = 100_000;

const found = new Uint32Array(blockLength);

/**
 * Numbers the different texts of a field: an even slot is twice the code of the field's vocabulary, an odd one belongs to a text
 * that a segment keeps without. The same text may have one of each.
 */
export class TextSlots {
  readonly #overflow: Overflow;
  #vocabulary: Vocabulary | undefined;
  #table: TextTable | undefined;
  /** Of vocabularies beside the first: their codes' odd slots, 0 where it is not known yet. */
  readonly #foreign = new Map<Vocabulary, Uint32Array>();

  constructor(overflow: Overflow) {
    this.#overflow = overflow;
  }

  /** One more than the largest slot that there can be. */
  get size(): number {
    return 2 * Math.max(this.#vocabulary?.texts.length ?? 0, this.#table?.size ?? 0);
  }

  /**
   * The slots of the values from `from` to `to`, at most a block, by their place in the block; those that `kept` leaves out may
   * have none, which is then an old one.
   */
  slots(column: Column, kept: Uint8Array | undefined, from: number, to: number): Uint32Array {
    const { values } = column;
    if (values.kind === 'texts') return this.#ofTexts(values, kept, from, to);
    if (values.kind !== 'codes') {
      this.#overflow.set(`${values.kind} in a column of strings`);
      return found.fill(0, 0, to - from);
    }
    const codes = wordsOf(values.codes, from, to);
    this.#vocabulary ??= values.vocabulary;
    const length = to - from;
    if (values.vocabulary !== this.#vocabulary)
      return this.#ofForeign(values.vocabulary, codes, kept, from, length);
    for (let i = 0; i < length; i++) found[i] = codes[i]! << 1;
    return found;
  }

  /** The text of a slot. */
  text(slot: number): string {
    return slot & 1 ? this.#table!.text(slot >>> 1) : this.#vocabulary!.texts[slot >>> 1]!;
  }

  #ofTexts(
    { bytes, offsets }: Texts,
    kept: Uint8Array | undefined,
    from: number,
    to: number,
  ): Uint32Array {
    const table = (this.#table ??= new TextTable(mostTexts, this.#overflow));
    for (let i = from; i < to; i++)
      if (kept === undefined || kept[i] === 1)
        found[i - from] = (table.add(bytes, offsets[i]!, offsets[i + 1]!) << 1) | 1;
    return found;
  }

  #ofForeign(
    vocabulary: Vocabulary,
    codes: Uint32Array,
    kept: Uint8Array | undefined,
    from: number,
    length: number,
  ): Uint32Array {
    const table = (this.#table ??= new TextTable(mostTexts, this.#overflow));
    let known = this.#foreign.get(vocabulary);
    if (!known || known.length < vocabulary.texts.length) {
      const longer = new Uint32Array(vocabulary.texts.length);
      if (known) longer.set(known);
      this.#foreign.set(vocabulary, longer);
      known = longer;
    }
    for (let i = 0; i < length; i++) {
      if (kept !== undefined && kept[from + i] === 0) continue;
      const code = codes[i]!;
      if (known[code] === 0) {
        const text = Buffer.from(vocabulary.texts[code]!);
        known[code] = (table.add(text, 0, text.length) << 1) | 1;
      }
      found[i] = known[code]!;
    }
    return found;
  }
}

/** Texts put one behind the other. */
export function joinedTexts(texts: readonly string[]): PartialKeys {
  const ends = new Uint32Array(texts.length);
  let end = 0;
  texts.forEach((text, index) => {
    end += text.length;
    ends[index] = end;
  });
  return { kind: 'texts', joined: texts.join(''), ends };
}

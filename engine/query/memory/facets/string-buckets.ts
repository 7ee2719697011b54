import type { Mask, SegmentView, Vocabulary } from '../column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { blockLength, keptValues, valueCount, wordsOf } from './blocks.js';
import type { Overflow } from './overflow.js';
import type { BucketsPartial, PartialKeys } from './partial.js';
import { countDifferent, Tally } from './id-counts.js';
import { joinedTexts, mostTexts, TextSlots } from './string-ids.js';

/** How many records have each text of a field; records whose list repeats it count once. */
export class TextBuckets {
  readonly #field: FieldRef;
  readonly #overflow: Overflow;
  #vocabulary: Vocabulary | undefined;
  readonly #byCode = new Tally();
  /** Of segments that keep texts without the vocabulary. */
  readonly #slots: TextSlots;
  readonly #bySlot = new Tally();

  constructor(field: FieldRef, overflow: Overflow) {
    this.#field = field;
    this.#overflow = overflow;
    this.#slots = new TextSlots(overflow);
  }

  add(view: SegmentView, mask: Mask): void {
    const column = view.column(this.#field);
    if (!column) return;
    const kept = keptValues(column, mask);
    if (kept === null) return;
    const { values } = column;
    if (values.kind === 'codes') this.#vocabulary ??= values.vocabulary;
    const isKnown = values.kind === 'codes' && values.vocabulary === this.#vocabulary;
    const length = valueCount(column);
    const list = column.offsets && new Uint32Array(length);
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      const slots = isKnown
        ? wordsOf(values.codes, from, to)
        : this.#slots.slots(column, kept, from, to);
      if (list) list.set(slots.subarray(0, to - from), from);
      else this.#count(isKnown, slots, to - from, kept, from);
    }
    if (list) countDifferent(column, mask, list, this.#tally(isKnown).table);
  }

  partial(): BucketsPartial {
    const size = this.#vocabulary?.texts.length ?? 0;
    const byCode = this.#byCode.counts(size);
    const bySlot = this.#bySlot.counts(this.#slots.size);
    const own = (bySlot.length === 0 && this.#vocabulary && wholeVocabulary(this.#vocabulary, byCode)) || undefined; // prettier-ignore
    if (own) return { ...partial, keys: own, counts: byCode };
    const [texts, counts]: [string[], number[]] = [[], []];
    byCode.forEach((count, code) => {
      if (count === 0) return;
      texts.push(this.#vocabulary!.texts[code]!);
      counts.push(count);
    });
    bySlot.forEach((count, slot) => {
      if (count === 0) return;
      texts.push(this.#slots.text(slot));
      counts.push(count);
    });
    if (texts.length > mostTexts) this.#overflow.set(`more than ${mostTexts} different strings`);
    return { ...partial, keys: joinedTexts(texts), counts: Uint32Array.from(counts) };
  }

  #tally(isKnown: boolean): Tally {
    const tally = isKnown ? this.#byCode : this.#bySlot;
    tally.ensure(this.#size(isKnown));
    return tally;
  }

  #size(isKnown: boolean): number {
    return isKnown ? this.#vocabulary!.texts.length : this.#slots.size;
  }

  #count(
    isKnown: boolean,
    slots: Uint32Array,
    length: number,
    kept: Uint8Array | undefined,
    from: number,
  ): void {
    const tally = this.#tally(isKnown);
    if (kept) tally.addKept(slots, length, kept, from);
    else tally.add(slots, length);
  }
}

const partial = { kind: 'buckets', keyOf: undefined, parents: undefined, nested: [] } as const;

/** Vocabularies put one behind the other, with the number of entries that they had then. */
const joined = new WeakMap<Vocabulary, { readonly size: number; readonly keys: PartialKeys }>();

/**
 * A whole vocabulary, even of entries that nobody counted, if they are few: it is the same for the next query, and the main thread
 * knows it again (text-keys.ts). Undefined if not.
 */
function wholeVocabulary(vocabulary: Vocabulary, counts: Uint32Array): PartialKeys | undefined {
  const size = vocabulary.texts.length;
  if (size > mostTexts) return undefined;
  let different = 0;
  for (let code = 0; code < size; code++) if (counts[code]! > 0) different += 1;
  if (size > 4096 && different * 4 < size) return undefined;
  const known = joined.get(vocabulary);
  if (known?.size === size) return known.keys;
  const keys = joinedTexts(vocabulary.texts);
  joined.set(vocabulary, { size, keys });
  return keys;
}

import { ByteCursor, compareBytes } from './bytes.js';

/** The index entry of a term: its counts, and the locations of its postings and positions. */
export interface TermEntry {
  /** Number of texts that contain the term. */
  readonly textCount: number;
  /** Number of rows whose text contains the term. */
  readonly rows: number;
  readonly postings: readonly [from: number, length: number];
  readonly positionsOfTerm: readonly [from: number, length: number];
}

/** How a text is part of a term: at its start, at its end, or anywhere in it. */
export type TermAffix = 'prefix' | 'suffix' | 'infix';

/** The first term of each block, and where the block, its postings and its positions begin; these arrays have one more element, the end. */
export interface TermBlocks {
  readonly terms: readonly Uint8Array[];
  readonly begins: Float64Array;
  readonly postings: Float64Array;
  readonly positions: Float64Array;
}

/** Decodes the part `blocks` of a column's index. */
export function decodeBlocks(bytes: Uint8Array): TermBlocks {
  const cursor = new ByteCursor(bytes);
  const terms: Uint8Array[] = [];
  const sums: [number[], number[], number[]] = [[0], [0], [0]];
  while (!cursor.isAtEnd) {
    terms.push(cursor.take(cursor.varint()).slice());
    for (const sum of sums) sum.push(sum.at(-1)! + cursor.varint());
  }
  const [begins, postings, positions] = sums.map((sum) => Float64Array.from(sum));
  return { terms, begins: begins!, postings: postings!, positions: positions! };
}

/** Returns the only block that may contain a term; -1 if the term sorts before all blocks. */
export function blockOfTerm({ terms }: TermBlocks, term: Uint8Array): number {
  let low = 0;
  let high = terms.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareBytes(terms[middle]!, term) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the blocks, from the first to before the second number, that may contain terms with this affix. */
export function blocksOfAffix(
  blocks: TermBlocks,
  wanted: Uint8Array,
  affix: TermAffix,
): readonly [first: number, end: number] {
  const { terms } = blocks;
  if (affix !== 'prefix') return [0, terms.length];
  const first = Math.max(0, blockOfTerm(blocks, wanted));
  let end = Math.min(first + 1, terms.length);
  while (end < terms.length && hasPrefix(terms[end]!, wanted)) end += 1;
  return [first, end];
}

/** Returns the entry of a term in the bytes of a block; undefined if the block does not have it. */
export function findTermInBlock(
  bytes: Uint8Array,
  wanted: Uint8Array,
  blocks: TermBlocks,
  block: number,
): TermEntry | undefined {
  const cursor = new ByteCursor(bytes);
  let postings = blocks.postings[block]!;
  let positions = blocks.positions[block]!;
  // Number of leading bytes that the wanted term and the previous term in the block share. By this number, terms are compared without
  // reconstructing them from their shared prefixes.
  let sameLength = 0;
  while (!cursor.isAtEnd) {
    const shared = cursor.varint();
    const size = cursor.varint();
    const suffix = cursor.skip(size);
    const texts = cursor.varint();
    const rows = cursor.varint();
    const postingBytes = cursor.varint();
    const positionBytes = cursor.varint();
    if (shared < sameLength) return undefined; // the term differs within the shared bytes, so it sorts after the wanted one
    if (shared === sameLength) {
      let i = 0;
      while (
        i < size &&
        sameLength + i < wanted.length &&
        bytes[suffix + i] === wanted[sameLength + i]
      )
        i += 1;
      if (i === size && sameLength + i === wanted.length) {
        return {
          textCount: texts,
          rows,
          postings: [postings, postingBytes],
          positionsOfTerm: [positions, positionBytes],
        };
      }
      if (
        sameLength + i === wanted.length ||
        (i < size && bytes[suffix + i]! > wanted[sameLength + i]!)
      ) {
        return undefined;
      }
      sameLength += i;
    }
    postings += postingBytes;
    positions += positionBytes;
  }
  return undefined;
}

/**
 * Returns the entries of the terms that have `wanted` as this affix, in the order of the terms; `bytes` are those of consecutive blocks from
 * `block` on. Returns `many` if there are more than `most`.
 */
export function findTermsWithAffix(
  bytes: Uint8Array,
  wanted: Uint8Array,
  affix: TermAffix,
  blocks: TermBlocks,
  block: number,
  most: number,
): readonly TermEntry[] | 'many' {
  const cursor = new ByteCursor(bytes);
  const hasAffix = affixTests[affix];
  const entries: TermEntry[] = [];
  let postings = blocks.postings[block]!;
  let positions = blocks.positions[block]!;
  let term = Buffer.alloc(256);
  while (!cursor.isAtEnd) {
    const shared = cursor.varint();
    const suffix = cursor.take(cursor.varint());
    const length = shared + suffix.length;
    if (length > term.length) term = Buffer.concat([term], 2 * length);
    term.set(suffix, shared);
    const textCount = cursor.varint();
    const rows = cursor.varint();
    const postingBytes = cursor.varint();
    const positionBytes = cursor.varint();
    if (hasAffix(term.subarray(0, length), wanted)) {
      if (entries.length === most) return 'many';
      entries.push({ textCount, rows, postings: [postings, postingBytes], positionsOfTerm: [positions, positionBytes] }); // prettier-ignore
    }
    postings += postingBytes;
    positions += positionBytes;
  }
  return entries;
}

const affixTests: Readonly<Record<TermAffix, (term: Buffer, wanted: Uint8Array) => boolean>> = {
  prefix: hasPrefix,
  suffix: (term, wanted) =>
    term.length >= wanted.length &&
    term.compare(wanted, 0, wanted.length, term.length - wanted.length) === 0,
  infix: (term, wanted) => term.includes(wanted),
};

function hasPrefix(term: Uint8Array, wanted: Uint8Array): boolean {
  return compareBytes(term.subarray(0, wanted.length), wanted) === 0;
}

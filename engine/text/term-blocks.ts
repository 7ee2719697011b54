import { ByteCursor, compareBytes } from './bytes.js';
import { matchesWildcard, startsWithPart, type FoldedPattern } from './wildcard-patterns.js';

/** The index entry of a term: its counts, and the locations of its postings and positions. */
export interface TermEntry {
  /** Number of texts that contain the term. */
  readonly textCount: number;
  /** Number of rows with a text that contains the term. */
  readonly rows: number;
  readonly postings: readonly [from: number, length: number];
  readonly positionsOfTerm: readonly [from: number, length: number];
}

/**
 * The first term of each block, and where each block, its postings and its positions begin; the arrays of these offsets have one more
 * element, the end.
 */
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
    terms.push(cursor.take(cursor.readVarint()).slice());
    for (const sum of sums) sum.push(sum.at(-1)! + cursor.readVarint());
  }
  const [blockOffsets, postings, positions] = sums.map((sum) => Float64Array.from(sum));
  return { terms, begins: blockOffsets!, postings: postings!, positions: positions! };
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

/** Returns the range of blocks that may contain terms with this prefix; `end` is exclusive. */
export function blocksOfPrefix(
  blocks: TermBlocks,
  prefix: Uint8Array,
): readonly [first: number, end: number] {
  const { terms } = blocks;
  const first = Math.max(0, blockOfTerm(blocks, prefix));
  let end = Math.min(first + 1, terms.length);
  while (end < terms.length && startsWithPart(terms[end]!, 0, terms[end]!.length, prefix)) end += 1;
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
  let postingsOffset = blocks.postings[block]!;
  let positions = blocks.positions[block]!;
  // Number of leading bytes that the wanted term and the previous term in the block share. By this number, terms are compared without
  // reconstructing them from their shared prefixes.
  let sameLength = 0;
  while (!cursor.isAtEnd) {
    const shared = cursor.readVarint();
    const size = cursor.readVarint();
    const suffix = cursor.skip(size);
    const texts = cursor.readVarint();
    const rows = cursor.readVarint();
    const postingBytes = cursor.readVarint();
    const positionBytes = cursor.readVarint();
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
          postings: [postingsOffset, postingBytes],
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
    postingsOffset += postingBytes;
    positions += positionBytes;
  }
  return undefined;
}

/**
 * Maximum number of terms that may match a wildcard pattern. For more, the SQL executor is used, which can be interrupted: reading the
 * lists of tens of thousands of terms takes a tenth of a second for 100,000 texts.
 */
const maxMatchingTerms = 50_000;

/**
 * Maximum number of bytes that comparing the terms with a pattern may take; long terms of one repeated letter take them, in about a second.
 */
const maxComparedBytes = 1_000_000_000;

/**
 * Returns the entries of the terms that match a pattern, in the order of the terms; `bytes` are those of consecutive blocks from `block`
 * on. Returns `many` if there are more than `maxMatchingTerms`, or if comparing may take more than `maxComparedBytes`.
 */
export function findTermsInBlocks(
  bytes: Uint8Array,
  pattern: FoldedPattern,
  blocks: TermBlocks,
  block: number,
): readonly TermEntry[] | 'many' {
  const cursor = new ByteCursor(bytes);
  const entries: TermEntry[] = [];
  let postings = blocks.postings[block]!;
  let positions = blocks.positions[block]!;
  let term = Buffer.alloc(256);
  const literalBytes = pattern.reduce((sum, part) => sum + part.length, 0);
  let comparedBytes = 0;
  while (!cursor.isAtEnd) {
    const shared = cursor.readVarint();
    const suffix = cursor.take(cursor.readVarint());
    const length = shared + suffix.length;
    if (length > term.length) term = Buffer.concat([term], 2 * length);
    term.set(suffix, shared);
    const textCount = cursor.readVarint();
    const rows = cursor.readVarint();
    const postingBytes = cursor.readVarint();
    const positionBytes = cursor.readVarint();
    comparedBytes += length * Math.min(length, literalBytes);
    if (comparedBytes > maxComparedBytes) return 'many';
    if (matchesWildcard(term, 0, length, pattern, false)) {
      if (entries.length === maxMatchingTerms) return 'many';
      entries.push({
        textCount,
        rows,
        postings: [postings, postingBytes],
        positionsOfTerm: [positions, positionBytes],
      });
    }
    postings += postingBytes;
    positions += positionBytes;
  }
  return entries;
}

import type { Data } from 'apache-arrow';
import { acquireBuffer, releaseBuffer } from '../core/buffers.js';
import { bitsAt, maxBitNumberBase, type BitNumbers } from './hybrid.js';

/*
 * Turns Arrow's offsets and validity bits into Parquet's repetition and definition levels (parquet-format README, "Nested Encoding",
 * after the Dremel paper), from the top of the tree to its leaves. A *slot* is one entry of the level streams: a value or a null, or a
 * null or empty ancestor. The members of a list or group share its slots, so the contribution of the list or group is computed
 * once, as a frame for all of them.
 */

/** The slots (entries of the level streams) of one node of the tree. Pass it to `releaseFrame` after use. */
export interface SlotFrame {
  readonly slots: number;
  /**
   * For each slot, the definition level at which an ancestor is null or empty, or `openLevel` if none is; undefined if all slots are open.
   */
  readonly ended: Int32Array | undefined;
  /** The repetition level of each slot; undefined if all are 0. */
  readonly repetition: Int32Array | undefined;
  /** The definition level of a slot in which no ancestor is null or empty: the number of optional and repeated ancestors. */
  readonly depth: number;
  readonly repetitionDepth: number;
  /** Slots whose `ended` level is lower have no item in the node's arrays, because a list above the node has no element there. */
  readonly floor: number;
  /** Index of the node's first item in its Arrow arrays. The items are consecutive, unless `positions` lists their indices. */
  readonly first: number;
  readonly positions: Int32Array | undefined;
}

const openLevel = -1;

/** Returns the frame (the slots of a node) of top-level columns for the rows `from` to `to` (exclusive). */
export function rowFrame(from: number, to: number): SlotFrame {
  return {
    slots: to - from,
    ended: undefined,
    repetition: undefined,
    depth: 0,
    repetitionDepth: 0,
    floor: 0,
    first: from,
    positions: undefined,
  };
}

/** Returns the frame of the members of the group that `data` holds. */
export function groupFrame(frame: SlotFrame, data: Data): SlotFrame {
  const { slots, ended, depth, floor, first, positions } = frame;
  if (data.nullCount === 0) return { ...frame, depth: depth + 1 };
  const { nullBitmap: bits, offset } = data;
  const out = acquireBuffer(Int32Array, slots);
  let item = 0;
  for (let slot = 0; slot < slots; slot++) {
    const level = ended === undefined ? openLevel : ended[slot]!;
    if (level !== openLevel && level < floor) {
      out[slot] = level;
      continue;
    }
    const bit = offset + (positions === undefined ? first + item : positions[item]!);
    item++;
    const isPresent = ((bits[bit >> 3]! >> (bit & 7)) & 1) === 1;
    out[slot] = level !== openLevel || isPresent ? level : depth;
  }
  return { ...frame, ended: out, depth: depth + 1 };
}

/** Returns the frame of a list's elements, and the number of slots whose list is null or has a null or empty ancestor. */
export function listFrame(frame: SlotFrame, data: Data): { elements: SlotFrame; nulls: number } {
  const below = {
    depth: frame.depth + 2,
    repetitionDepth: frame.repetitionDepth + 1,
    floor: frame.depth + 2,
  };
  const offsets = data.valueOffsets as Int32Array;
  if (data.nullCount === 0 && haveOneElementEach(frame, offsets)) {
    return { elements: { ...frame, ...below, first: offsets[frame.first]! }, nulls: 0 };
  }
  return expandLists(frame, data, below);
}

/**
 * Returns whether all slots are open, the items consecutive, and each list has exactly one element, so that the slots stay the same. This
 * holds for most lists of a VCF file with one alternate allele per record.
 */
function haveOneElementEach(frame: SlotFrame, offsets: Int32Array): boolean {
  if (frame.ended !== undefined || frame.positions !== undefined) return false;
  const to = frame.first + frame.slots;
  if (offsets[to]! - offsets[frame.first]! !== frame.slots) return false;
  const shift = offsets[frame.first]! - frame.first;
  for (let i = frame.first; i < to; i++) if (offsets[i]! - i !== shift) return false;
  return true;
}

function expandLists(
  frame: SlotFrame,
  data: Data,
  below: { depth: number; repetitionDepth: number; floor: number },
): { elements: SlotFrame; nulls: number } {
  const { slots, ended, repetition, depth, floor, first, positions } = frame;
  const { nullBitmap: bits, offset } = data;
  const hasNulls = data.nullCount > 0;
  const offsets = data.valueOffsets as Int32Array;
  const most = slots + maxElementCount(frame, data);
  const outEnded = acquireBuffer(Int32Array, most);
  const outRepetition = acquireBuffer(Int32Array, most);
  let outPositions: Int32Array | undefined;
  let begin = 0; // index of the first list element
  let next = 0; // index after the last list element so far
  let elements = 0;
  let hasEnded = false;
  let hasRepeated = false;
  let nulls = 0;
  let item = 0;
  let end = 0;
  for (let slot = 0; slot < slots; slot++) {
    const level = ended === undefined ? openLevel : ended[slot]!;
    outRepetition[end] = repetition === undefined ? 0 : repetition[slot]!;
    if (level !== openLevel) {
      if (level >= floor) item++;
      outEnded[end++] = level;
      hasEnded = true;
      nulls++;
      continue;
    }
    const at = positions === undefined ? first + item : positions[item]!;
    item++;
    const bit = offset + at;
    if (hasNulls && ((bits[bit >> 3]! >> (bit & 7)) & 1) === 0) {
      outEnded[end++] = depth;
      hasEnded = true;
      nulls++;
      continue;
    }
    const from = offsets[at]!;
    const to = offsets[at + 1]!;
    if (from === to) {
      outEnded[end++] = depth + 1;
      hasEnded = true;
      continue;
    }
    if (elements === 0) begin = from;
    // Arrow allows elements that belong to no list, in a null list or outside a slice. The elements of the lists are then not consecutive.
    else if (from !== next) outPositions ??= consecutivePositions(begin, elements, most);
    if (outPositions !== undefined) {
      for (let i = from; i < to; i++) outPositions[elements + i - from] = i;
    }
    next = to;
    elements += to - from;
    outEnded[end++] = openLevel;
    if (to - from > 1) {
      hasRepeated = true;
      const stop = end + to - from - 1;
      if (stop - end > 32) {
        outRepetition.fill(below.repetitionDepth, end, stop);
        outEnded.fill(openLevel, end, stop);
        end = stop;
      }
      for (; end < stop; end++) {
        outRepetition[end] = below.repetitionDepth;
        outEnded[end] = openLevel;
      }
    }
  }
  const keepsRepetition = repetition !== undefined || hasRepeated;
  if (!hasEnded) releaseBuffer(outEnded);
  if (!keepsRepetition) releaseBuffer(outRepetition);
  const elementFrame = {
    ...below,
    slots: end,
    ended: hasEnded ? outEnded : undefined,
    repetition: keepsRepetition ? outRepetition : undefined,
    first: begin,
    positions: outPositions,
  };
  return { elements: elementFrame, nulls };
}

/** Returns an upper limit for the number of elements in all lists of the frame. */
function maxElementCount({ first, slots, positions }: SlotFrame, data: Data): number {
  const offsets = data.valueOffsets as Int32Array;
  if (data.length === 0) return 0; // without rows, the offsets may be missing
  if (positions !== undefined) return offsets[data.length]! - offsets[0]!;
  return offsets[Math.min(data.length, first + slots)]! - offsets[first]!;
}

function consecutivePositions(first: number, length: number, room: number): Int32Array {
  const positions = acquireBuffer(Int32Array, room);
  for (let i = 0; i < length; i++) positions[i] = first + i;
  return positions;
}

/** Releases the buffers of a frame except those that it shares with the frame above it. */
export function releaseFrame(frame: SlotFrame, above: SlotFrame): void {
  if (frame.ended !== undefined && frame.ended !== above.ended) releaseBuffer(frame.ended);
  if (frame.repetition !== undefined && frame.repetition !== above.repetition)
    releaseBuffer(frame.repetition);
  if (frame.positions !== undefined && frame.positions !== above.positions)
    releaseBuffer(frame.positions);
}

/** The definition and repetition levels of a leaf, and which of its items are values. Pass it to `releaseLevels` after use. */
export interface LeafLevels {
  readonly slots: number;
  /** Definition levels; undefined if every slot has a value. */
  readonly definition: Int32Array | BitNumbers | undefined;
  /** Repetition levels; undefined if every slot begins a row. */
  readonly repetition: Int32Array | undefined;
  /** The number of slots (level entries) that have a value. */
  readonly values: number;
  /** Index of the leaf's first item in the Arrow arrays. The values are the items from there on, unless `picks` lists their indices. */
  readonly first: number;
  readonly picks: Int32Array | undefined;
}

/** Returns the levels of the leaf that `data` holds. */
export function leafLevels(frame: SlotFrame, data: Data): LeafLevels {
  const { slots, ended, repetition, depth, floor, first, positions } = frame;
  const hasNulls = data.nullCount > 0;
  if (!hasNulls && ended === undefined) {
    const levels = { slots, repetition, first, picks: positions, values: slots };
    return { ...levels, definition: undefined };
  }
  const { nullBitmap: bits, offset } = data;
  const picks = acquireBuffer(Int32Array, slots);
  let values = 0;
  if (ended === undefined && positions === undefined && depth <= maxBitNumberBase) {
    // In the most frequent case, the levels follow from the bitmap. Its bytes are read whole, because many columns are mostly null.
    const definition = { base: depth, bits, firstBit: offset + first };
    for (let slot = 0; slot < slots; slot += 8) {
      let present = bitsAt(bits, offset + first + slot);
      if (slots - slot < 8) present &= (1 << (slots - slot)) - 1;
      const item = first + slot;
      if (present === 255) for (let i = 0; i < 8; i++) picks[values++] = item + i;
      else
        for (; present !== 0; present &= present - 1)
          picks[values++] = item + 31 - Math.clz32(present & -present);
    }
    return { slots, definition, repetition, values, first, picks };
  }
  const definition = acquireBuffer(Int32Array, slots);
  let item = 0;
  for (let slot = 0; slot < slots; slot++) {
    const level = ended === undefined ? openLevel : ended[slot]!;
    if (level !== openLevel && level < floor) {
      definition[slot] = level;
      continue;
    }
    const at = positions === undefined ? first + item : positions[item]!;
    item++;
    if (level !== openLevel) {
      definition[slot] = level;
      continue;
    }
    const bit = offset + at;
    if (hasNulls && ((bits[bit >> 3]! >> (bit & 7)) & 1) === 0) {
      definition[slot] = depth;
      continue;
    }
    definition[slot] = depth + 1;
    picks[values++] = at;
  }
  return { slots, definition, repetition, values, first, picks };
}

/** Releases the buffers of a leaf's levels except those that belong to its frame. */
export function releaseLevels(levels: LeafLevels, frame: SlotFrame): void {
  if (levels.definition !== undefined && !('bits' in levels.definition))
    releaseBuffer(levels.definition);
  if (levels.picks !== undefined && levels.picks !== frame.positions) releaseBuffer(levels.picks);
}

import type { Data } from 'apache-arrow';
import { acquire, release } from '../core/buffers.js';

/*
 * From Arrow's offsets and validity bits to Parquet's repetition and definition levels ("Nested Encoding" of the format,
 * after the Dremel paper), from the top of the tree to its leaves. A *slot* is one entry of the level streams: a value, or
 * the place where something above it is null or empty. All leaves below a list have the same slots, so what a list or an
 * object adds is worked out once, as a frame, and shared by its members.
 */

/** The slots as a node of the tree finds them. */
export interface Frame {
  readonly slots: number;
  /** Per slot `open`, or the definition level at which something above was null or empty; undefined: all are open. */
  readonly ended: Int32Array | undefined;
  /** Repetition levels; undefined: all are 0. */
  readonly repetition: Int32Array | undefined;
  /** The definition level of an open slot: how many optional or repeated elements are above. */
  readonly depth: number;
  readonly repetitionDepth: number;
  /** Slots that ended at a lower level have no item in the arrays of this node: a list above has no element there. */
  readonly floor: number;
  /** The first item in the arrays of this node. The others follow it, unless `positions` says where they are. */
  readonly first: number;
  readonly positions: Int32Array | undefined;
}

const open = -1;

/** The frame of top-level columns: rows `from` to `to`. */
export function rowFrame(from: number, to: number): Frame {
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

/** The frame of an object's members. */
export function objectFrame(frame: Frame, data: Data): Frame {
  const { slots, ended, depth, floor, first, positions } = frame;
  if (data.nullCount === 0) return { ...frame, depth: depth + 1 };
  const { nullBitmap: bits, offset } = data;
  const out = acquire(Int32Array, slots);
  let item = 0;
  for (let slot = 0; slot < slots; slot++) {
    const level = ended === undefined ? open : ended[slot]!;
    if (level !== open && level < floor) {
      out[slot] = level;
      continue;
    }
    const bit = offset + (positions === undefined ? first + item : positions[item]!);
    item++;
    const isPresent = ((bits[bit >> 3]! >> (bit & 7)) & 1) === 1;
    out[slot] = level !== open || isPresent ? level : depth;
  }
  return { ...frame, ended: out, depth: depth + 1 };
}

/** The frame of a list's elements, and how many of the lists that could have been there are null. */
export function listFrame(frame: Frame, data: Data): { elements: Frame; nulls: number } {
  const below = {
    depth: frame.depth + 2,
    repetitionDepth: frame.repetitionDepth + 1,
    floor: frame.depth + 2,
  };
  const offsets = data.valueOffsets as Int32Array;
  if (data.nullCount === 0 && haveOneEach(frame, offsets)) {
    return { elements: { ...frame, ...below, first: offsets[frame.first]! }, nulls: 0 };
  }
  return expand(frame, data, below);
}

/** One element in each list changes nothing in the slots: most lists of a VCF with one allele a record. */
function haveOneEach(frame: Frame, offsets: Int32Array): boolean {
  if (frame.ended !== undefined || frame.positions !== undefined) return false;
  const to = frame.first + frame.slots;
  if (offsets[to]! - offsets[frame.first]! !== frame.slots) return false;
  const shift = offsets[frame.first]! - frame.first;
  for (let i = frame.first; i < to; i++) if (offsets[i]! - i !== shift) return false;
  return true;
}

function expand(
  frame: Frame,
  data: Data,
  below: { depth: number; repetitionDepth: number; floor: number },
): { elements: Frame; nulls: number } {
  const { slots, ended, repetition, depth, floor, first, positions } = frame;
  const { nullBitmap: bits, offset } = data;
  const hasNulls = data.nullCount > 0;
  const offsets = data.valueOffsets as Int32Array;
  const most = slots + elementsBelow(frame, data);
  const outEnded = acquire(Int32Array, most);
  const outRepetition = acquire(Int32Array, most);
  let outPositions: Int32Array | undefined;
  let begin = 0; // the first element
  let next = 0; // behind the last one
  let elements = 0;
  let hasEnded = false;
  let hasRepeated = false;
  let nulls = 0;
  let item = 0;
  let end = 0;
  for (let slot = 0; slot < slots; slot++) {
    const level = ended === undefined ? open : ended[slot]!;
    outRepetition[end] = repetition === undefined ? 0 : repetition[slot]!;
    if (level !== open) {
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
    // Arrow may keep elements that belong to no list, behind a null one or between those of a slice.
    else if (from !== next) outPositions ??= counting(begin, elements, most);
    if (outPositions !== undefined) {
      for (let i = from; i < to; i++) outPositions[elements + i - from] = i;
    }
    next = to;
    elements += to - from;
    outEnded[end++] = open;
    if (to - from > 1) {
      hasRepeated = true;
      const stop = end + to - from - 1;
      if (stop - end > 32) {
        outRepetition.fill(below.repetitionDepth, end, stop);
        outEnded.fill(open, end, stop);
        end = stop;
      }
      for (; end < stop; end++) {
        outRepetition[end] = below.repetitionDepth;
        outEnded[end] = open;
      }
    }
  }
  const keepsRepetition = repetition !== undefined || hasRepeated;
  if (!hasEnded) release(outEnded);
  if (!keepsRepetition) release(outRepetition);
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

/** No fewer than the elements of all lists of the frame. */
function elementsBelow({ first, slots, positions }: Frame, data: Data): number {
  const offsets = data.valueOffsets as Int32Array;
  if (data.length === 0) return 0; // the offsets may be missing
  if (positions !== undefined) return offsets[data.length]! - offsets[0]!;
  return offsets[Math.min(data.length, first + slots)]! - offsets[first]!;
}

function counting(first: number, length: number, room: number): Int32Array {
  const positions = acquire(Int32Array, room);
  for (let i = 0; i < length; i++) positions[i] = first + i;
  return positions;
}

/** Gives back what a frame has beyond the frame above it. */
export function releaseFrame(frame: Frame, above: Frame): void {
  if (frame.ended !== undefined && frame.ended !== above.ended) release(frame.ended);
  if (frame.repetition !== undefined && frame.repetition !== above.repetition)
    release(frame.repetition);
  if (frame.positions !== undefined && frame.positions !== above.positions)
    release(frame.positions);
}

/** The level streams of a leaf, and which of its items are values. */
export interface LeafLevels {
  readonly slots: number;
  /** Undefined: every slot has a value. */
  readonly definition: Int32Array | undefined;
  /** Undefined: every slot begins a row. */
  readonly repetition: Int32Array | undefined;
  /** How many slots have a value. */
  readonly values: number;
  /** The item of the first value. The others follow it, unless `picks` says where they are. */
  readonly first: number;
  readonly picks: Int32Array | undefined;
}

/** The levels of a leaf's own slots. */
export function leafLevels(frame: Frame, data: Data): LeafLevels {
  const { slots, ended, repetition, depth, floor, first, positions } = frame;
  const hasNulls = data.nullCount > 0;
  if (!hasNulls && ended === undefined) {
    const levels = { slots, repetition, first, picks: positions, values: slots };
    return { ...levels, definition: undefined };
  }
  const { nullBitmap: bits, offset } = data;
  const definition = acquire(Int32Array, slots);
  const picks = acquire(Int32Array, slots);
  let values = 0;
  if (ended === undefined && positions === undefined) {
    // The same as below, for the most frequent case.
    for (let slot = 0; slot < slots; slot++) {
      const bit = offset + first + slot;
      const present = (bits[bit >> 3]! >> (bit & 7)) & 1;
      definition[slot] = depth + present;
      picks[values] = first + slot;
      values += present;
    }
    return { slots, definition, repetition, values, first, picks };
  }
  let item = 0;
  for (let slot = 0; slot < slots; slot++) {
    const level = ended === undefined ? open : ended[slot]!;
    if (level !== open && level < floor) {
      definition[slot] = level;
      continue;
    }
    const at = positions === undefined ? first + item : positions[item]!;
    item++;
    if (level !== open) {
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

/** Gives back what a leaf's levels have beyond its frame. */
export function releaseLevels(levels: LeafLevels, frame: Frame): void {
  if (levels.definition !== undefined) release(levels.definition);
  if (levels.picks !== undefined && levels.picks !== frame.positions) release(levels.picks);
}

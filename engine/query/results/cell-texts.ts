/** The texts of a cell in a block of records: the text of record i is in `view` from `startOffsets[i]` to `ends[i]` (exclusive). */
export interface CellTexts {
  view: DataView;
  /** The start of each text; negative for a record without a value. */
  readonly startOffsets: Int32Array;
  readonly ends: Int32Array;
}

/** Allocates the offsets for the texts of `length` records. */
export function newCellTexts(length: number): CellTexts {
  return newCells(1, length)[0]!;
}

/** Allocates the offsets for the texts of `length` records in each of `count` cells. All of them share one buffer. */
export function newCells(count: number, length: number): readonly CellTexts[] {
  const { buffer } = new Int32Array(2 * count * length);
  const offsetsAt = (part: number): Int32Array =>
    new Int32Array(buffer, part * length * Int32Array.BYTES_PER_ELEMENT, length);
  return Array.from({ length: count }, (_, cell) => ({
    view: emptyView,
    startOffsets: offsetsAt(2 * cell),
    ends: offsetsAt(2 * cell + 1),
  }));
}

/** An empty view, for cells without texts. */
export const emptyView = new DataView(new ArrayBuffer(0));

/** Returns a fixed text that is written between cells; it has the form of a cell in which record 0 has the text. */
export function fixedText(text: string): CellTexts {
  const bytes = Buffer.from(text);
  const paddedBytes = new Uint8Array(bytes.length + copyOverrunBytes);
  paddedBytes.set(bytes);
  return { view: new DataView(paddedBytes.buffer), startOffsets: Int32Array.of(0), ends: Int32Array.of(bytes.length) }; // prettier-ignore
}

/** Replaces a fixed text by a number of at most as many bytes. */
export function setNumberText({ view, ends }: CellTexts, value: number): void {
  const text = String(value);
  for (let i = 0; i < text.length; i++) view.setUint8(i, text.charCodeAt(i));
  ends[0] = text.length;
}

/** Maximum number of bytes after a text that `copyText` overwrites. */
export const copyOverrunBytes = 3;

/**
 * Copies the text of record `index` to position `end` of the target view, and returns the end of the copy. Four bytes are copied at a time,
 * so the caller must reserve `copyOverrunBytes` bytes more than the text has.
 */
export function copyText(
  { view, startOffsets, ends }: CellTexts,
  index: number,
  target: DataView,
  end: number,
): number {
  const from = startOffsets[index]!;
  const size = ends[index]! - from;
  if (from + size + copyOverrunBytes > view.byteLength) {
    for (let i = 0; i < size; i++) target.setUint8(end + i, view.getUint8(from + i));
    return end + size;
  }
  for (let i = 0; i < size; i += 4) target.setInt32(end + i, view.getInt32(from + i));
  return end + size;
}

/** The texts of a cell in a block of records: the text of record i is in `view` from `begins[i]` to before `ends[i]`. */
export interface CellTexts {
  view: DataView;
  /** Negative for a record without a value. */
  readonly begins: Int32Array;
  readonly ends: Int32Array;
}

/** Creates the place for the texts of `length` records. */
export function newCellTexts(length: number): CellTexts {
  return { view: noView, begins: new Int32Array(length), ends: new Int32Array(length) };
}

/** The view of no texts. */
export const noView = new DataView(new ArrayBuffer(0));

/** A fixed text between those of cells, as the text of record 0. */
export function fixedText(text: string): CellTexts {
  const bytes = Buffer.from(text);
  const padded = new Uint8Array(bytes.length + copiedAtOnce);
  padded.set(bytes);
  return { view: new DataView(padded.buffer), begins: Int32Array.of(0), ends: Int32Array.of(bytes.length) }; // prettier-ignore
}

/** Changes a fixed text of at most as many bytes to a number. */
export function setNumber({ view, ends }: CellTexts, value: number): void {
  const text = String(value);
  for (let i = 0; i < text.length; i++) view.setUint8(i, text.charCodeAt(i));
  ends[0] = text.length;
}

/** Maximum number of bytes after a text that `copyText` overwrites. */
export const copiedAtOnce = 3;

/**
 * Copies the text of record `index` to `end` of a sink's view, and returns the end of the copy. Four bytes are copied at a time: the caller has
 * reserved `copiedAtOnce` bytes more than those of the text.
 */
export function copyText(
  { view, begins, ends }: CellTexts,
  index: number,
  target: DataView,
  end: number,
): number {
  const from = begins[index]!;
  const size = ends[index]! - from;
  if (from + size + copiedAtOnce > view.byteLength) {
    for (let i = 0; i < size; i++) target.setUint8(end + i, view.getUint8(from + i));
    return end + size;
  }
  for (let i = 0; i < size; i += 4) target.setInt32(end + i, view.getInt32(from + i));
  return end + size;
}

import { budgets } from '../../engine/core/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DoubleBuilder, LongBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import type { Coordinates } from '../coordinates.js';
import { floatAt, integerAt } from '../text/numbers.js';
import { ByteSet, type TextWindow, textWindow } from '../text/scan-buffer.js';
import type { Attributes } from './attributes.js';
import { odd, type PlainAttributes } from './fast-attributes.js';

/** What lines are read into and by which rules. */
export interface PlainSetup {
  readonly comment: Uint8Array;
  readonly hasFasta: boolean;
  /** The first eight. */
  readonly columns: readonly ValueColumn[];
  readonly coordinates: Coordinates | null;
  readonly attributes: Attributes;
  readonly plain: PlainAttributes;
}

/** Rows and values of a run; notes of both fit the window. */
const mostRows = 4096;
const mostValues = 32_768;

/**
 * Takes runs of lines that need no second look: nine columns with what they should hold, and attributes whose keys have been
 * met. Numbers are appended as they come; texts are noted and fetched column by column at the end of a run. All other lines
 * are left to `FeatureParser`, and so is everything when the dataset has columns that values have to be cast to.
 */
export class PlainFeatures {
  /** Where the line behind the run begins, and how many lines the run had, comments included. */
  next = 0;
  lines = 0;
  readonly #window: TextWindow = textWindow();
  readonly #text: Uint8Array;
  readonly #setup: PlainSetup;
  readonly #stores: Stores;
  readonly #searched: ByteSet;
  readonly #starts = new Float64Array(mostRows);
  readonly #ends = new Float64Array(mostRows);
  #base = 0;
  #marks = 0;
  #mark = 0;
  /** Values noted in this run. */
  #noted = 0;
  /** The line that was left and has some of its escapes resolved in the window already. */
  #spoiled = -1;
  /** The window ended within a line. */
  #isCut = false;

  private constructor(text: Uint8Array, setup: PlainSetup, stores: Stores) {
    this.#text = text;
    this.#setup = setup;
    this.#stores = stores;
    this.#searched = new ByteSet([9, 10, 13, ...setup.plain.searched]);
    this.#window.length = 0;
  }

  /** Null when values have to be cast. `text` is UTF-8. */
  static of(text: Uint8Array, setup: PlainSetup): PlainFeatures | null {
    const stores = storesOf(setup.columns);
    const { coordinates, attributes } = setup;
    const isPlain = attributes.takesNotes && (coordinates === null || coordinates.takesRuns);
    return stores !== null && isPlain ? new PlainFeatures(text, setup, stores) : null;
  }

  /** Takes what lines there are from `at` on, where one begins; returns whether there were any. */
  take(at: number, out: BatchBuilder): boolean {
    const { rows } = out;
    this.#noted = 0;
    const isInside = at >= this.#base && at < this.#base + this.#window.length;
    if (!isInside || at === this.#spoiled) this.#open(at);
    let taken = this.#run(at, rows);
    // The window ends within the line: it may be whole in another one.
    if (this.lines === 0 && this.#isCut && at > this.#base) {
      this.#open(at);
      taken = this.#run(at, rows);
    }
    if (taken > 0) {
      this.#settle(rows, taken);
      out.endRecords(taken);
    }
    return this.lines > 0;
  }

  #open(at: number): void {
    this.#base = at;
    this.next = at;
    this.#window.open(this.#text, at);
    this.#marks = this.#window.search(this.#searched);
    this.#mark = 0;
    this.#spoiled = -1;
  }

  #run(at: number, row: number): number {
    const { bytes, marks, length } = this.#window;
    const isLast = this.#base + length === this.#text.length;
    let start = at - this.#base;
    let mark = this.#mark;
    while (mark < this.#marks && marks[mark]! < start) mark++;
    let rows = 0;
    this.lines = 0;
    this.#isCut = false;
    this.#begin(row);
    while (start < length && rows < mostRows && this.#noted < mostValues) {
      const isComment = this.#isComment(start);
      if (isComment && this.#setup.hasFasta && mayBeFasta(bytes, start)) break;
      this.#setup.plain.hasResolved = false;
      const end = isComment ? this.#lineEnd(mark) : this.#line(start, mark);
      if (this.#setup.plain.hasResolved) this.#spoiled = this.#base + start;
      if (end === odd) break;
      // A carriage return at the window's end may have a line feed behind it.
      const isOpen = end < this.#marks && marks[end] === length - 1 && bytes[length - 1] === 13;
      if (end >= this.#marks || (isOpen && !isLast)) {
        this.#isCut = true;
        break;
      }
      if (!isComment) this.#note(start, mark, row, rows++);
      start = marks[end]! + 1;
      mark = end + 1;
      if (bytes[start - 1] === 13 && start < length && bytes[start] === 10) {
        start++;
        mark++;
      }
      this.lines++;
    }
    this.#mark = mark;
    this.next = this.#base + start;
    return rows;
  }

  #isComment(start: number): boolean {
    const { bytes } = this.#window;
    if (bytes[start] === 35) return true;
    const { comment } = this.#setup;
    let i = 0;
    while (i < comment.length && bytes[start + i] === comment[i]) i++;
    return i === comment.length;
  }

  /** The mark of the line's end. */
  #lineEnd(mark: number): number {
    const { bytes, marks } = this.#window;
    let end = mark;
    while (end < this.#marks && bytes[marks[end]!] !== 10 && bytes[marks[end]!] !== 13) end++;
    return end;
  }

  /** Checks the line that begins at `start`; returns the mark of its end, `odd`, or the number of marks when it is cut. */
  #line(start: number, mark: number): number {
    const window = this.#window;
    const { bytes, marks } = window;
    const { plain, attributes } = this.#setup;
    if (mark + 8 > this.#marks) return this.#lineEnd(mark) < this.#marks ? odd : this.#marks;
    for (let i = mark; i < mark + 8; i++) if (bytes[marks[i]!] !== 9) return odd;
    if (isNull(bytes, start, marks[mark]!) || bytes[start] === 62) return odd;
    if (marks[mark + 2]! - start > budgets.stringBytes) return odd;
    const first = integerAt(bytes, marks[mark + 2]! + 1, marks[mark + 3]!);
    const last = integerAt(bytes, marks[mark + 3]! + 1, marks[mark + 4]!);
    if (!(first >= 1 && last >= first)) return odd;
    const score = marks[mark + 4]! + 1;
    const scoreEnd = marks[mark + 5]!;
    if (!isNull(bytes, score, scoreEnd) && !Number.isFinite(floatAt(bytes, score, scoreEnd)))
      return odd;
    if (!isOneOf(strands, bytes, scoreEnd + 1, marks[mark + 6]!)) return odd;
    if (!isOneOf(phases, bytes, marks[mark + 6]! + 1, marks[mark + 7]!)) return odd;
    return plain.read(window, this.#marks, attributes.keys, marks[mark + 7]! + 1, mark + 8);
  }

  #begin(row: number): void {
    const { start, end, score, phase } = this.#stores;
    for (const store of [start, end, score, phase]) store.padTo(row);
  }

  /** Stores the line just checked as row `row + i`. */
  #note(start: number, mark: number, row: number, i: number): void {
    const { bytes, marks, from, to } = this.#window;
    const { plain, attributes } = this.#setup;
    const stores = this.#stores;
    let at = start;
    for (let k = 0; k < 3; k++) {
      const end = marks[mark + k]!;
      from[k * mostRows + i] = at;
      to[k * mostRows + i] = isNull(bytes, at, end) ? at : end;
      at = end + 1;
    }
    const first = integerAt(bytes, at, marks[mark + 3]!);
    const last = integerAt(bytes, marks[mark + 3]! + 1, marks[mark + 4]!);
    stores.start.append((this.#starts[i] = first));
    stores.end.append((this.#ends[i] = last));
    const score = marks[mark + 4]! + 1;
    if (isNull(bytes, score, marks[mark + 5]!)) stores.score.appendNull();
    else stores.score.append(floatAt(bytes, score, marks[mark + 5]!));
    const strand = marks[mark + 5]! + 1;
    from[3 * mostRows + i] = strand;
    to[3 * mostRows + i] = isNull(bytes, strand, marks[mark + 6]!) ? strand : strand + 1;
    const phase = marks[mark + 6]! + 1;
    if (isNull(bytes, phase, marks[mark + 7]!)) stores.phase.appendNull();
    else stores.phase.append(bytes[phase]! - 48);
    if (plain.count === 0) return;
    attributes.column.padTo(row + i);
    attributes.column.beginObject();
    attributes.column.endObject();
    for (let v = 0; v < plain.count; v++)
      plain.columns[v]!.note(row + i, plain.from[v]!, plain.to[v]!);
    this.#noted += plain.count;
  }

  /** Fetches the texts of the run. */
  #settle(row: number, rows: number): void {
    const window = this.#window;
    const { columns, coordinates, attributes } = this.#setup;
    for (const [k, store] of this.#stores.texts.entries()) {
      store.padTo(row);
      const size = window.gather(k * mostRows, rows);
      store.appendRun(window.gathered, size, window.ends, rows);
    }
    for (const column of columns) column.padTo(row + rows);
    coordinates?.addRun(row, rows, window, this.#starts, this.#ends);
    if (this.#noted > 0) for (const column of attributes.keys.columns) column.settle(window);
  }
}

/** Where the first eight columns are stored. */
interface Stores {
  /** Of `seqid`, `source`, `type` and `strand`. */
  readonly texts: readonly Utf8Builder[];
  readonly start: LongBuilder;
  readonly end: LongBuilder;
  readonly score: DoubleBuilder;
  readonly phase: LongBuilder;
}

function storesOf(columns: readonly ValueColumn[]): Stores | null {
  const [seqid, source, type, start, end, score, strand, phase] = columns.map(
    ({ builder }) => builder,
  );
  const texts = [seqid, source, type, strand].filter((store) => store instanceof Utf8Builder);
  const isPlain =
    texts.length === 4 &&
    start instanceof LongBuilder &&
    end instanceof LongBuilder &&
    score instanceof DoubleBuilder &&
    phase instanceof LongBuilder;
  return isPlain ? { texts, start, end, score, phase } : null;
}

/** No characters, or a dot. */
function isNull(bytes: Uint8Array, from: number, to: number): boolean {
  return to === from || (to === from + 1 && bytes[from] === 46);
}

function isOneOf(allowed: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  return to === from || (to === from + 1 && allowed[bytes[from]!] === 1);
}

/** `##`, and then what may begin the word `FASTA`. */
function mayBeFasta(bytes: Uint8Array, start: number): boolean {
  const c = bytes[start + 2]!;
  return bytes[start + 1] === 35 && (c <= 32 || (c | 32) === 102);
}

function bytesOf(text: string): Uint8Array {
  const set = new Uint8Array(256);
  for (const c of text) set[c.charCodeAt(0)] = 1;
  return set;
}

const strands = bytesOf('+-?.');
const phases = bytesOf('012.');

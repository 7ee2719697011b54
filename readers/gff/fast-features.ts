import { budgets } from '../../engine/core/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DoubleBuilder, LongBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import type { Coordinates } from '../coordinates.js';
import { floatAt, integerAt } from '../text/numbers.js';
import { ByteSet, type ScanBuffer, scanBuffer } from '../text/scan-buffer.js';
import { viewOf } from './attribute-column.js';
import type { Attributes } from './attributes.js';
import { needsGeneralPath, type FastAttributes } from './fast-attributes.js';

/** The columns to fill, and the properties of the format. */
export interface FastFeatureOptions {
  readonly comment: Uint8Array;
  readonly hasFasta: boolean;
  /** The columns of the first eight fields. */
  readonly columns: readonly ValueColumn[];
  readonly coordinates: Coordinates | null;
  readonly attributes: Attributes;
  readonly fastAttributes: FastAttributes;
}

/** Maximum number of lines in one run: the scan buffer holds their ranges. */
const maxRows = 4096;

/**
 * The fast path: parses runs of lines with nine valid columns whose attribute keys have occurred before. Numbers are appended
 * line by line; the ranges of texts are collected and copied column by column at the end of a run. All other lines are left to
 * `FeatureParser`, and so are all lines when the dataset's columns need casts.
 */
export class FastFeatures {
  /** Offset of the line after the run, and the number of lines of the run, comments included. */
  next = 0;
  lines = 0;
  readonly #window: ScanBuffer = scanBuffer();
  readonly #words = viewOf(this.#window.bytes);
  readonly #text: Uint8Array;
  readonly #options: FastFeatureOptions;
  readonly #builders: Builders;
  readonly #searched: ByteSet;
  readonly #starts = new Float64Array(maxRows);
  readonly #ends = new Float64Array(maxRows);
  /** Offset of the window in the text. */
  #base = 0;
  /** Number of positions in the window, and the index of the first position of the next line. */
  #positionCount = 0;
  #position = 0;
  /** The first and the last position of the checked feature. */
  #first = 0;
  #last = 0;
  /** Offset of the line that the fast parser gave up after it had decoded some of its escapes in place; -1 if there is none. */
  #partlyDecoded = -1;
  /** Whether the window ends within a line. */
  #isCut = false;

  private constructor(text: Uint8Array, options: FastFeatureOptions, builders: Builders) {
    this.#text = text;
    this.#options = options;
    this.#builders = builders;
    this.#searched = new ByteSet([9, 10, 13, ...options.fastAttributes.searched]);
    this.#window.length = 0;
  }

  /** Returns null when values have to be cast. `text` must be valid UTF-8. */
  static of(text: Uint8Array, options: FastFeatureOptions): FastFeatures | null {
    const builders = buildersOf(options.columns);
    const { coordinates, attributes } = options;
    const isPlain = attributes.acceptsRuns && (coordinates === null || coordinates.acceptsRuns);
    return builders !== null && isPlain ? new FastFeatures(text, options, builders) : null;
  }

  /** Parses a run of lines from the line at `at` on; returns whether there was any. */
  parse(at: number, out: BatchBuilder): boolean {
    const { rows } = out;
    const isInside = at >= this.#base && at < this.#base + this.#window.length;
    if (!isInside || at === this.#partlyDecoded) this.#open(at);
    let rowCount = this.#run(at, rows);
    // The line does not end in this window, but may end in a window that starts with it.
    if (this.lines === 0 && this.#isCut && at > this.#base) {
      this.#open(at);
      rowCount = this.#run(at, rows);
    }
    if (rowCount > 0) {
      this.#appendTexts(rows, rowCount);
      out.endRecords(rowCount);
    }
    return this.lines > 0;
  }

  #open(at: number): void {
    this.#base = at;
    this.next = at;
    this.#window.open(this.#text, at);
    this.#positionCount = this.#window.search(this.#searched);
    this.#position = 0;
    this.#partlyDecoded = -1;
  }

  #run(at: number, row: number): number {
    const { bytes, positions, length } = this.#window;
    const isLast = this.#base + length === this.#text.length;
    let start = at - this.#base;
    let position = this.#position;
    while (position < this.#positionCount && positions[position]! < start) position++;
    let rows = 0;
    this.lines = 0;
    this.#isCut = false;
    this.#begin(row);
    while (start < length && rows < maxRows) {
      const isComment = this.#isComment(start);
      if (isComment && this.#options.hasFasta && mayBeFasta(bytes, start)) break;
      this.#options.fastAttributes.hasDecoded = false;
      const end = isComment ? this.#lineEnd(position) : this.#check(start, position);
      if (this.#options.fastAttributes.hasDecoded) this.#partlyDecoded = this.#base + start;
      if (end === needsGeneralPath) break;
      // A line feed may follow a carriage return at the end of the window.
      const isOpen =
        end < this.#positionCount && positions[end] === length - 1 && bytes[length - 1] === 13;
      if (end >= this.#positionCount || (isOpen && !isLast)) {
        this.#isCut = true;
        break;
      }
      if (!isComment) this.#store(start, position, row, rows++);
      start = positions[end]! + 1;
      position = end + 1;
      if (bytes[start - 1] === 13 && start < length && bytes[start] === 10) {
        start++;
        position++;
      }
      this.lines++;
    }
    this.#position = position;
    this.next = this.#base + start;
    return rows;
  }

  #isComment(start: number): boolean {
    const { bytes } = this.#window;
    if (bytes[start] === 35) return true;
    const { comment } = this.#options;
    let i = 0;
    while (i < comment.length && bytes[start + i] === comment[i]) i++;
    return i === comment.length;
  }

  /** Returns the index of the position of the line end. */
  #lineEnd(position: number): number {
    const { bytes, positions } = this.#window;
    let end = position;
    while (
      end < this.#positionCount &&
      bytes[positions[end]!] !== 10 &&
      bytes[positions[end]!] !== 13
    )
      end++;
    return end;
  }

  /**
   * Checks the line at `start`; returns the index of the position of its end, `needsGeneralPath`, or the number of positions
   * when the window ends first.
   */
  #check(start: number, position: number): number {
    const window = this.#window;
    const { bytes, positions } = window;
    const { fastAttributes, attributes } = this.#options;
    if (position + 8 > this.#positionCount)
      return this.#lineEnd(position) < this.#positionCount ? needsGeneralPath : this.#positionCount;
    for (let i = position; i < position + 8; i++)
      if (bytes[positions[i]!] !== 9) return needsGeneralPath;
    if (isNull(bytes, start, positions[position]!) || bytes[start] === 62) return needsGeneralPath;
    if (positions[position + 2]! - start > budgets.stringBytes) return needsGeneralPath;
    const first = integerAt(bytes, positions[position + 2]! + 1, positions[position + 3]!);
    const last = integerAt(bytes, positions[position + 3]! + 1, positions[position + 4]!);
    if (!(first >= 1 && last >= first)) return needsGeneralPath;
    this.#first = first;
    this.#last = last;
    const score = positions[position + 4]! + 1;
    const scoreEnd = positions[position + 5]!;
    if (!isNull(bytes, score, scoreEnd) && !Number.isFinite(floatAt(bytes, score, scoreEnd)))
      return needsGeneralPath;
    if (!isOneOf(strandBytes, bytes, scoreEnd + 1, positions[position + 6]!))
      return needsGeneralPath;
    if (!isOneOf(phases, bytes, positions[position + 6]! + 1, positions[position + 7]!))
      return needsGeneralPath;
    return fastAttributes.read(
      window,
      this.#positionCount,
      attributes.keys,
      positions[position + 7]! + 1,
      position + 8,
    );
  }

  #begin(row: number): void {
    const { start, end, score, phase } = this.#builders;
    for (const builder of [start, end, score, phase]) builder.padTo(row);
  }

  /** Stores the checked line as row `row + i`. */
  #store(start: number, position: number, row: number, i: number): void {
    const { bytes, positions, from, to } = this.#window;
    const { fastAttributes, attributes } = this.#options;
    const builders = this.#builders;
    let at = start;
    for (let k = 0; k < 3; k++) {
      const end = positions[position + k]!;
      from[k * maxRows + i] = at;
      to[k * maxRows + i] = isNull(bytes, at, end) ? at : end;
      at = end + 1;
    }
    builders.start.append((this.#starts[i] = this.#first));
    builders.end.append((this.#ends[i] = this.#last));
    const score = positions[position + 4]! + 1;
    if (isNull(bytes, score, positions[position + 5]!)) builders.score.appendNull();
    else builders.score.append(floatAt(bytes, score, positions[position + 5]!));
    const strand = positions[position + 5]! + 1;
    from[3 * maxRows + i] = strand;
    to[3 * maxRows + i] = isNull(bytes, strand, positions[position + 6]!) ? strand : strand + 1;
    const phase = positions[position + 6]! + 1;
    if (isNull(bytes, phase, positions[position + 7]!)) builders.phase.appendNull();
    else builders.phase.append(bytes[phase]! - 48);
    if (fastAttributes.count === 0) return;
    attributes.column.padTo(row + i);
    attributes.column.beginObject();
    attributes.column.endObject();
    for (let v = 0; v < fastAttributes.count; v++)
      fastAttributes.columns[v]!.addWords(
        row + i,
        this.#words,
        fastAttributes.from[v]!,
        fastAttributes.to[v]!,
      );
  }

  /** Appends the texts of the run. */
  #appendTexts(row: number, rows: number): void {
    const window = this.#window;
    const { columns, coordinates } = this.#options;
    for (const [k, builder] of this.#builders.texts.entries()) {
      builder.padTo(row);
      const size = window.gather(k * maxRows, rows);
      builder.appendRun(window.gathered, size, window.ends, rows);
    }
    for (const column of columns) column.padTo(row + rows);
    coordinates?.addRun(row, rows, window, this.#starts, this.#ends);
  }
}

/** The builders of the first eight columns. */
interface Builders {
  /** The builders of `seqid`, `source`, `type` and `strand`. */
  readonly texts: readonly Utf8Builder[];
  readonly start: LongBuilder;
  readonly end: LongBuilder;
  readonly score: DoubleBuilder;
  readonly phase: LongBuilder;
}

function buildersOf(columns: readonly ValueColumn[]): Builders | null {
  const [seqid, source, type, start, end, score, strand, phase] = columns.map(
    ({ builder }) => builder,
  );
  const texts = [seqid, source, type, strand].filter((builder) => builder instanceof Utf8Builder);
  const isPlain =
    texts.length === 4 &&
    start instanceof LongBuilder &&
    end instanceof LongBuilder &&
    score instanceof DoubleBuilder &&
    phase instanceof LongBuilder;
  return isPlain ? { texts, start, end, score, phase } : null;
}

/** Whether a field is missing: empty or `.`. */
function isNull(bytes: Uint8Array, from: number, to: number): boolean {
  return to === from || (to === from + 1 && bytes[from] === 46);
}

function isOneOf(allowed: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  return to === from || (to === from + 1 && allowed[bytes[from]!] === 1);
}

/** Whether a comment may be the directive `##FASTA`. */
function mayBeFasta(bytes: Uint8Array, start: number): boolean {
  const c = bytes[start + 2]!;
  return bytes[start + 1] === 35 && (c <= 32 || (c | 32) === 102);
}

function bytesOf(text: string): Uint8Array {
  const set = new Uint8Array(256);
  for (const c of text) set[c.charCodeAt(0)] = 1;
  return set;
}

const strandBytes = bytesOf('+-?.');
const phases = bytesOf('012.');

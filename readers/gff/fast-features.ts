import { budgets } from '../../engine/core/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DoubleBuilder, LongBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import type { CoordinatesBuilder } from '../coordinates.js';
import { parseFloatBytes, parseInteger } from '../text/parse-numbers.js';
import { ByteSet, type ScanBuffer, scanBuffer } from '../text/scan-buffer.js';
import type { AttributesBuilder } from './gff-attributes.js';
import { needsGeneralPath, type FastAttributeParser } from './fast-attributes.js';

/** The columns to fill, and the properties of the format. */
interface FastFeatureOptions {
  readonly comment: Uint8Array;
  readonly hasFasta: boolean;
  /** The columns of the first eight fields. */
  readonly columns: readonly ValueColumn[];
  readonly coordinates: CoordinatesBuilder | null;
  readonly attributes: AttributesBuilder;
  readonly fastAttributes: FastAttributeParser;
}

/** Maximum number of features in one run: the scan buffer has room for the ranges of their texts. */
const maxRunFeatures = 4096;

/**
 * The fast path for features. It parses runs of features with nine valid columns whose attribute keys have occurred before in the chunk,
 * and of the comments between them unless line numbers are tracked. The numbers and the ranges of texts are collected, and appended column
 * by column at the end of a run. All other lines are left to `FeatureParser`; so are all lines if the dataset's columns need casts or it
 * has a column `attributes`.
 */
export class FastFeatureParser {
  /** Offset of the line after the run; `lineCount` is the number of lines in the run, including comments. */
  nextLineOffset = 0;
  lineCount = 0;
  readonly #window: ScanBuffer = scanBuffer();
  readonly #text: Uint8Array;
  readonly #options: FastFeatureOptions;
  readonly #builders: FeatureBuilders;
  readonly #delimiters: ByteSet;
  /** The numbers of each feature of the run; NaN stands for null. */
  readonly #starts = new Float64Array(maxRunFeatures);
  readonly #ends = new Float64Array(maxRunFeatures);
  readonly #scores = new Float64Array(maxRunFeatures);
  readonly #phases = new Float64Array(maxRunFeatures);
  /** Offset in the text of the window, that is, of the part of the text that is in the scan buffer. */
  #windowOffset = 0;
  /** Number of delimiters that were found in the window; `#positionIndex` is the index in `positions` of the first one in the next line. */
  #positionCount = 0;
  #positionIndex = 0;
  /** The first position of the feature that `#checkLine` has read; `#featureEnd` is its last position, `#featureScore` its score. */
  #featureStart = 0;
  #featureEnd = 0;
  #featureScore = 0;
  /** Offset of the last line in which escapes were decoded in place; -1 for none. A run that begins there needs a new copy of the text. */
  #decodedLineOffset = -1;
  /** Whether a run ends before a comment, so that its features are on successive lines. */
  #endsAtComment = false;
  /** Whether the last run ended because the line after it does not end in this window. */
  #endsWithinLine = false;

  private constructor(text: Uint8Array, options: FastFeatureOptions, builders: FeatureBuilders) {
    this.#text = text;
    this.#options = options;
    this.#builders = builders;
    this.#delimiters = new ByteSet([9, 10, 13, ...options.fastAttributes.delimiters]);
    this.#window.textLength = 0;
  }

  /** Creates the fast path; returns null if values have to be cast. `text` must be valid UTF-8. */
  static of(text: Uint8Array, options: FastFeatureOptions): FastFeatureParser | null {
    const builders = featureBuildersOf(options.columns);
    const { coordinates, attributes } = options;
    const isPlain = attributes.acceptsRuns && (coordinates === null || coordinates.acceptsRuns);
    return builders !== null && isPlain ? new FastFeatureParser(text, options, builders) : null;
  }

  /** Parses a run of lines that begins at `at`, on line `line`; returns false if there is none. */
  parse(at: number, out: BatchBuilder, line: number): boolean {
    const { rows } = out;
    this.#endsAtComment = out.tracksLineNumbers;
    const isInWindow =
      at >= this.#windowOffset && at < this.#windowOffset + this.#window.textLength;
    if (!isInWindow || at === this.#decodedLineOffset) this.#loadWindow(at);
    let rowCount = this.#collectRun(at, rows);
    // The line does not end in this window, but may end in a window that starts with it.
    if (this.lineCount === 0 && this.#endsWithinLine && at > this.#windowOffset) {
      this.#loadWindow(at);
      rowCount = this.#collectRun(at, rows);
    }
    if (rowCount > 0) {
      this.#appendRun(rows, rowCount);
      out.endRecords(rowCount, line); // `line` is used only if the run has no comments
    }
    return this.lineCount > 0;
  }

  #loadWindow(at: number): void {
    this.#windowOffset = at;
    this.nextLineOffset = at;
    this.#window.loadText(this.#text, at);
    this.#positionCount = this.#window.search(this.#delimiters);
    this.#positionIndex = 0;
    this.#decodedLineOffset = -1;
  }

  #collectRun(at: number, row: number): number {
    const { bytes, positions, textLength } = this.#window;
    const isLastWindow = this.#windowOffset + textLength === this.#text.length;
    let start = at - this.#windowOffset;
    let positionIndex = this.#positionIndex;
    while (positionIndex < this.#positionCount && positions[positionIndex]! < start)
      positionIndex++;
    let rows = 0;
    this.lineCount = 0;
    this.#endsWithinLine = false;
    const { fastAttributes } = this.#options;
    while (start < textLength && rows < maxRunFeatures && !fastAttributes.isRunFull) {
      const isComment = this.#isComment(start);
      if (isComment && this.#endsAtComment) break;
      if (isComment && this.#options.hasFasta && mayBeFastaDirective(bytes, start)) break;
      fastAttributes.hasDecodedEscapes = false;
      const endIndex = isComment
        ? this.#findLineEnd(positionIndex)
        : this.#checkLine(start, positionIndex);
      if (fastAttributes.hasDecodedEscapes) this.#decodedLineOffset = this.#windowOffset + start;
      if (endIndex === needsGeneralPath) break;
      // The carriage return at the end of the window may be followed by a line feed outside it.
      const mayPrecedeLineFeed =
        endIndex < this.#positionCount &&
        positions[endIndex] === textLength - 1 &&
        bytes[textLength - 1] === 13;
      if (endIndex >= this.#positionCount || (mayPrecedeLineFeed && !isLastWindow)) {
        this.#endsWithinLine = true;
        break;
      }
      if (!isComment) this.#storeLine(start, positionIndex, row, rows++);
      start = positions[endIndex]! + 1;
      positionIndex = endIndex + 1;
      if (bytes[start - 1] === 13 && start < textLength && bytes[start] === 10) {
        start++;
        positionIndex++;
      }
      this.lineCount++;
    }
    this.#positionIndex = positionIndex;
    this.nextLineOffset = this.#windowOffset + start;
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

  /**
   * Returns the index, in the found positions, of the next line end from index `positionIndex` on; the number of positions if there is
   * none.
   */
  #findLineEnd(positionIndex: number): number {
    const { bytes, positions } = this.#window;
    let endIndex = positionIndex;
    while (
      endIndex < this.#positionCount &&
      bytes[positions[endIndex]!] !== 10 &&
      bytes[positions[endIndex]!] !== 13
    )
      endIndex++;
    return endIndex;
  }

  /**
   * Checks the line at `start`. Returns the index of the position of its end, `needsGeneralPath`, or the number of positions if the window
   * ends before the line does.
   */
  #checkLine(start: number, positionIndex: number): number {
    const window = this.#window;
    const { bytes, positions } = window;
    const { fastAttributes, attributes } = this.#options;
    if (positionIndex + 8 > this.#positionCount)
      return this.#findLineEnd(positionIndex) < this.#positionCount
        ? needsGeneralPath
        : this.#positionCount;
    for (let i = positionIndex; i < positionIndex + 8; i++)
      if (bytes[positions[i]!] !== 9) return needsGeneralPath;
    if (isMissingField(bytes, start, positions[positionIndex]!) || bytes[start] === 62)
      return needsGeneralPath;
    if (positions[positionIndex + 2]! - start > budgets.stringBytes) return needsGeneralPath;
    const featureStart = parseInteger(
      bytes,
      positions[positionIndex + 2]! + 1,
      positions[positionIndex + 3]!,
    );
    const featureEnd = parseInteger(
      bytes,
      positions[positionIndex + 3]! + 1,
      positions[positionIndex + 4]!,
    );
    if (!(featureStart >= 1 && featureEnd >= featureStart)) return needsGeneralPath;
    this.#featureStart = featureStart;
    this.#featureEnd = featureEnd;
    const scoreFrom = positions[positionIndex + 4]! + 1;
    const scoreTo = positions[positionIndex + 5]!;
    if (isMissingField(bytes, scoreFrom, scoreTo)) this.#featureScore = NaN;
    else {
      this.#featureScore = parseFloatBytes(bytes, scoreFrom, scoreTo);
      if (!Number.isFinite(this.#featureScore)) return needsGeneralPath;
    }
    if (!isEmptyOrOneOf(strandByteFlags, bytes, scoreTo + 1, positions[positionIndex + 6]!))
      return needsGeneralPath;
    if (
      !isEmptyOrOneOf(
        phaseBytes,
        bytes,
        positions[positionIndex + 6]! + 1,
        positions[positionIndex + 7]!,
      )
    )
      return needsGeneralPath;
    return fastAttributes.read(
      window,
      this.#positionCount,
      attributes.columnsByKey,
      positions[positionIndex + 7]! + 1,
      positionIndex + 8,
    );
  }

  /** Stores the line that `#checkLine` has read as row `row + i`. */
  #storeLine(start: number, positionIndex: number, row: number, i: number): void {
    const { bytes, positions, rangeStarts, rangeEnds } = this.#window;
    const { fastAttributes, attributes } = this.#options;
    let at = start;
    for (let k = 0; k < 3; k++) {
      const end = positions[positionIndex + k]!;
      rangeStarts[k * maxRunFeatures + i] = at;
      rangeEnds[k * maxRunFeatures + i] = isMissingField(bytes, at, end) ? at : end;
      at = end + 1;
    }
    this.#starts[i] = this.#featureStart;
    this.#ends[i] = this.#featureEnd;
    this.#scores[i] = this.#featureScore;
    const strandFrom = positions[positionIndex + 5]! + 1;
    rangeStarts[3 * maxRunFeatures + i] = strandFrom;
    rangeEnds[3 * maxRunFeatures + i] = isMissingField(
      bytes,
      strandFrom,
      positions[positionIndex + 6]!,
    )
      ? strandFrom
      : strandFrom + 1;
    const phaseFrom = positions[positionIndex + 6]! + 1;
    const hasPhase = !isMissingField(bytes, phaseFrom, positions[positionIndex + 7]!);
    this.#phases[i] = hasPhase ? bytes[phaseFrom]! - 48 : NaN;
    if (fastAttributes.valueCount === 0) return;
    attributes.column.padTo(row + i);
    attributes.column.beginObject();
    attributes.column.endObject();
    fastAttributes.keepLine(row + i);
  }

  /** Appends the values of all lines of the run. */
  #appendRun(row: number, rowCount: number): void {
    const window = this.#window;
    const { columns, coordinates } = this.#options;
    const { start, end, score, phase } = this.#builders;
    const numbers: readonly (readonly [LongBuilder | DoubleBuilder, Float64Array])[] = [
      [start, this.#starts],
      [end, this.#ends],
      [score, this.#scores],
      [phase, this.#phases],
    ];
    for (const [builder, values] of numbers) {
      builder.padTo(row);
      builder.appendNumbers(values.subarray(0, rowCount));
    }
    for (const [k, builder] of this.#builders.texts.entries()) {
      builder.padTo(row);
      const size = window.gather(k * maxRunFeatures, rowCount);
      builder.appendRun(window.gatheredBytes, size, window.gatheredEnds, rowCount);
    }
    for (const column of columns) column.padTo(row + rowCount);
    coordinates?.addRun(row, rowCount, window, this.#starts, this.#ends);
    this.#options.fastAttributes.appendRun(window);
  }
}

/** The builders of the first eight columns. */
interface FeatureBuilders {
  /** The builders of `seqid`, `source`, `type` and `strand`. */
  readonly texts: readonly Utf8Builder[];
  readonly start: LongBuilder;
  readonly end: LongBuilder;
  readonly score: DoubleBuilder;
  readonly phase: LongBuilder;
}

function featureBuildersOf(columns: readonly ValueColumn[]): FeatureBuilders | null {
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

/** Returns whether a field is missing: empty or `.`. */
function isMissingField(bytes: Uint8Array, from: number, to: number): boolean {
  return to === from || (to === from + 1 && bytes[from] === 46);
}

function isEmptyOrOneOf(
  allowedBytes: Uint8Array,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  return to === from || (to === from + 1 && allowedBytes[bytes[from]!] === 1);
}

/** Returns whether a comment may be the directive `##FASTA`. */
function mayBeFastaDirective(bytes: Uint8Array, start: number): boolean {
  const c = bytes[start + 2]!;
  return bytes[start + 1] === 35 && (c <= 32 || (c | 32) === 102);
}

function byteFlagsOf(text: string): Uint8Array {
  const flags = new Uint8Array(256);
  for (const c of text) flags[c.charCodeAt(0)] = 1;
  return flags;
}

const strandByteFlags = byteFlagsOf('+-?.');
const phaseBytes = byteFlagsOf('012.');

import { isUtf8 } from 'node:buffer';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { overlaidColumn } from '../../engine/ingest/overlaid-columns.js';
import { typedColumn } from '../../engine/ingest/make-column.js';
import { RecordContext } from '../../engine/ingest/record-context.js';
import { type ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column, Columns, StoredType } from '../../engine/core/types.js';
import { CoordinatesBuilder, coordinatesColumn } from '../coordinates.js';
import { variantColumn } from '../variant-builder.js';
import { GvfVariantBuilder } from './gvf-variants.js';
import { findLineEnd, nextLineStart, repairUtf8Line, repairedUtf8Warning } from '../text/lines.js';
import type { Report } from '../reader.js';
import { reportNonFinite } from '../text/non-finite.js';
import { parseFloatBytes, parseInteger, latin1Text } from '../text/parse-numbers.js';
import { AttributesBuilder } from './gff-attributes.js';
import { unescapeBytes, type UnescapeResult } from './percent-escapes.js';
import type { FastAttributeParser } from './fast-attributes.js';
import { FastFeatureParser } from './fast-features.js';
import type { FeatureHeader, FeatureParams } from './gff-header.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/** The properties in which GFF3 and GTF differ. */
interface FeatureDialect {
  /** Parses the attributes in `bytes[from..to)` into `into`. Returns the problem of malformed attributes, otherwise null. */
  readonly parseAttributes: (
    bytes: Uint8Array,
    from: number,
    to: number,
    into: AttributesBuilder,
    context: RecordContext,
  ) => string | null;
  /** Creates the fast path for attributes. */
  readonly createFastAttributes: () => FastAttributeParser;
  /** Attributes that are always stored as lists. */
  readonly listAttributes: ReadonlySet<string>;
  /** Whether values may contain percent escapes. */
  readonly hasEscapes: boolean;
  /** Whether `##FASTA`, or a line that begins with `>`, ends the features. */
  readonly hasFasta: boolean;
}

/** Parses the bytes of GFF3 and GTF into columns. */
export class FeatureParser {
  readonly #dialect: FeatureDialect;
  readonly #comment: Uint8Array;
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #context: RecordContext;
  readonly #columns: readonly ValueColumn[];
  readonly #coordinates: CoordinatesBuilder | null;
  readonly #variants: GvfVariantBuilder | null;
  readonly #attributes: AttributesBuilder;
  readonly #unescapeResult: UnescapeResult = { end: 0, isDamaged: false };
  readonly #isScoreDeclared: boolean;
  /** The start of each of the nine columns of the line; `#to` has their ends. */
  readonly #from = new Int32Array(9);
  readonly #to = new Int32Array(9);
  #bytes: Uint8Array = new Uint8Array(0);
  #scratch: Uint8Array = new Uint8Array(1024);
  #hasFeatures = false;
  #hasAttributes = false;
  #hasEnded = false;

  constructor(
    dialect: FeatureDialect,
    { build, hasAlleles }: FeatureHeader,
    { comment }: FeatureParams,
    out: BatchBuilder,
    report: Report,
    existingColumns: Columns,
  ) {
    const context = new RecordContext(report);
    const makeColumn = (column: Column) =>
      typedColumn(
        overlaidColumn(
          column,
          existingColumns.find(({ name }) => name === column.name),
        ),
        column.name,
        0,
        context,
      );
    this.#dialect = dialect;
    this.#comment = encoder.encode(comment);
    this.#out = out;
    this.#report = report;
    this.#context = context;
    this.#columns = featureColumns.map(makeColumn);
    this.#isScoreDeclared = existingColumns.some(
      ({ name, isDeclared }) => name === 'score' && isDeclared,
    );
    this.#coordinates = build && new CoordinatesBuilder(makeColumn(coordinatesColumn), build);
    this.#variants =
      build && hasAlleles ? new GvfVariantBuilder(makeColumn(variantColumn), build) : null;
    const attributesColumn = existingColumns.find(({ name }) => name === 'attributes');
    this.#attributes = new AttributesBuilder(attributesColumn, dialect.listAttributes, context);
  }

  /** Reads whole lines, up to the end of the features or until the report stops; returns the number of lines that were read. */
  read(chunk: Uint8Array): number {
    const isValidUtf8 = isUtf8(chunk);
    const context = this.#context;
    this.#bytes = chunk;
    context.line = 0;
    // The fast path does not read the alleles of GVF.
    const fastFeatures =
      isValidUtf8 && this.#variants === null ? this.#createFastFeatures(chunk) : null;
    for (let at = 0; at < chunk.length && !this.#hasEnded && !this.#report.isStopped;) {
      // The general path reads the first feature and adds the columns to the batch, as it does the column `attributes` at the first record
      // with attributes, which may come after rejected ones whose keys are known.
      if (
        this.#hasFeatures &&
        (this.#hasAttributes || this.#attributes.columnsByKey.isEmpty) &&
        fastFeatures !== null &&
        fastFeatures.parse(at, this.#out, context.line + 1)
      ) {
        at = fastFeatures.nextLineOffset;
        context.line += fastFeatures.lineCount;
        continue;
      }
      context.line++;
      if (isValidUtf8) at = this.#readLine(at, false);
      else {
        const end = findLineEnd(chunk, at);
        const text = chunk.subarray(at, end);
        const isRepaired = !isUtf8(text);
        this.#bytes = isRepaired ? repairUtf8Line(text) : text;
        this.#readLine(0, isRepaired);
        at = nextLineStart(chunk, end);
      }
    }
    if (this.#hasEnded) this.#report.markEndOfRecords();
    this.#releaseUnusedColumns();
    return context.line;
  }

  /** Releases the columns that the batch does not have, because there is no feature or no attribute. */
  #releaseUnusedColumns(): void {
    if (!this.#hasFeatures) {
      const columns = [...this.#columns, this.#coordinates?.column, this.#variants?.column];
      for (const column of columns) column?.release();
    }
    if (!this.#hasAttributes) this.#attributes.column.release();
  }

  #createFastFeatures(chunk: Uint8Array): FastFeatureParser | null {
    return FastFeatureParser.of(chunk, {
      comment: this.#comment,
      hasFasta: this.#dialect.hasFasta,
      columns: this.#columns,
      coordinates: this.#coordinates,
      attributes: this.#attributes,
      fastAttributes: this.#dialect.createFastAttributes(),
    });
  }

  /** Reads the line that begins at `start`; returns the start of the next line. */
  #readLine(start: number, isRepaired: boolean): number {
    const bytes = this.#bytes;
    const end = this.#splitLine(start);
    if (this.#isNoFeature(start, end)) return nextLineStart(bytes, end);
    const context = this.#context;
    context.recordNumber++;
    context.keyCount = 0;
    context.hasFailed = false;
    if (!this.#hasFeatures) this.#addColumns();
    this.#readRecord(end - start);
    if (isRepaired) context.warn(codes.unreadableLine, null, repairedUtf8Warning);
    if (context.hasFailed) {
      // The column `attributes` may not have been added to the batch yet, so it is truncated separately.
      this.#attributes.column.truncate(this.#out.rows);
      this.#out.rollback(this.#out.rows);
    } else this.#out.endRecord(context.line);
    return nextLineStart(bytes, end);
  }

  /** Number of columns of the line that `#splitLine` has read. */
  #columnCount = 0;
  /** Whether one of the first three columns of the line that `#splitLine` has read contains a `%`. */
  #hasPercent = false;

  /** Finds the columns of a line, and returns the end of the line. Columns after the ninth are only counted. */
  #splitLine(start: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    let tabCount = 0;
    let hasPercent = false;
    let at = start;
    this.#from[0] = start;
    for (; at < length; at++) {
      const c = bytes[at]!;
      if (c > 37) continue;
      if (c === 9) {
        if (tabCount < 8) this.#from[tabCount + 1] = at + 1;
        if (tabCount < 9) this.#to[tabCount] = at;
        tabCount++;
      } else if (c === 10 || c === 13) break;
      else if (c === 37 && tabCount < 3) hasPercent = true;
    }
    if (tabCount < 9) this.#to[tabCount] = at;
    this.#columnCount = tabCount + 1;
    this.#hasPercent = hasPercent;
    return at;
  }

  /**
   * Returns whether a line is no feature: blank, a comment, a directive or, with `hasFasta`, a line that begins with `>`. Sets `#hasEnded`
   * if the features end at this line.
   */
  #isNoFeature(start: number, end: number): boolean {
    const bytes = this.#bytes;
    const firstByte = bytes[start];
    // Choice: a line that begins with `#` is a comment whatever `comment` is; that parameter defines further comments.
    if (firstByte === 35) {
      if (this.#dialect.hasFasta && isFastaDirective(bytes, start, end)) this.#hasEnded = true;
      return true;
    }
    if (firstByte === 62 && this.#dialect.hasFasta) {
      this.#hasEnded = true;
      return true;
    }
    const comment = this.#comment;
    let i = 0;
    while (i < comment.length && bytes[start + i] === comment[i]) i++;
    if (i === comment.length) return true;
    if (this.#columnCount > 1 || end - start > 1024) return false;
    for (let at = start; at < end; at++) if (bytes[at] !== 32) return false;
    return true;
  }

  /**
   * Adds the columns except `attributes` to the batch, at the first feature line, so that the batch of a chunk without features has no
   * columns.
   */
  #addColumns(): void {
    this.#hasFeatures = true;
    if (this.#coordinates) this.#out.addBuilder(coordinatesColumn.name, this.#coordinates.column);
    if (this.#variants) this.#out.addBuilder(variantColumn.name, this.#variants.column);
    for (const column of this.#columns) this.#out.addBuilder(column.name, column);
  }

  #readRecord(lineBytes: number): void {
    const context = this.#context;
    if (this.#columnCount !== 9) {
      const columnsText = this.#columnCount === 1 ? 'one column' : `${this.#columnCount} columns`;
      return context.reject(
        codes.unreadableLine,
        null,
        `expected 9 columns separated by tabs, found ${columnsText}`,
      );
    }
    this.#attributes.beginRecord(this.#out.rows, lineBytes);
    if (!this.#isNull(8)) {
      const [from, to] = [this.#from[8]!, this.#to[8]!];
      const { parseAttributes } = this.#dialect;
      const problem = parseAttributes(this.#bytes, from, to, this.#attributes, context);
      if (problem !== null) return context.reject(codes.unreadableLine, 'attributes', problem);
      // An object without members cannot be stored, so the column is added at the first attribute.
      if (!this.#hasAttributes && !this.#attributes.isEmpty) {
        this.#hasAttributes = true;
        this.#out.addBuilder('attributes', this.#attributes.column);
      }
    }
    context.keyCount += this.#columns.length;
    context.checkFieldCount();
    this.#appendRecord(this.#out.rows);
  }

  #appendRecord(row: number): void {
    const [seqid, source, type, start, end, score, strand, phase] = this.#columns;
    const featureStart = this.#parsePosition(3, 'start');
    const featureEnd = this.#parsePosition(4, 'end');
    // Choice: features that begin at 0, or end before they begin, are errors, because both formats count from 1 and forbid this.
    if (featureStart > featureEnd)
      this.#context.rejectUnlessLenient(
        codes.invalidValue,
        'end',
        `the feature ends at ${featureEnd}, before its start ${featureStart}`,
      );
    this.#appendText(seqid!, 0, row, featureStart, featureEnd);
    if (featureStart <= featureEnd && !this.#isNull(0))
      this.#variants?.add(row, this.#bytes, this.#from, this.#to, featureStart, featureEnd);
    this.#appendText(source!, 1, row);
    this.#appendText(type!, 2, row);
    if (!Number.isNaN(featureStart)) appendInteger(start!, row, featureStart);
    if (!Number.isNaN(featureEnd)) appendInteger(end!, row, featureEnd);
    this.#appendScore(score!, row);
    this.#appendStrand(strand!, row);
    this.#appendPhase(phase!, row);
    this.#attributes.finishRecord();
  }

  /**
   * Parses a coordinate; returns NaN if it is missing, malformed or less than 1. Unless it is missing or validation is off, NaN means an
   * error.
   */
  #parsePosition(i: number, field: string): number {
    if (this.#isNull(i)) return NaN;
    const value = parseInteger(this.#bytes, this.#from[i]!, this.#to[i]!);
    if (value >= 1) return value;
    const problem = Number.isNaN(value)
      ? `"${this.#columnText(i)}" is no whole number`
      : `${value} is none`;
    this.#context.rejectUnlessLenient(
      codes.invalidValue,
      field,
      `a position counts from 1, ${problem}`,
    );
    return NaN;
  }

  /** Appends one of the first three columns; for the first column, also the coordinates from `featureStart` to `featureEnd`. */
  #appendText(
    column: ValueColumn,
    i: number,
    row: number,
    featureStart = NaN,
    featureEnd = NaN,
  ): void {
    if (this.#isNull(i)) return;
    let bytes = this.#bytes;
    let from = this.#from[i]!;
    let to = this.#to[i]!;
    if (this.#hasPercent && this.#dialect.hasEscapes) {
      if (this.#scratch.length < to - from) this.#scratch = new Uint8Array((to - from) * 2);
      unescapeBytes(bytes, from, to, this.#scratch, 0, this.#unescapeResult);
      [bytes, from, to] = [this.#scratch, 0, this.#unescapeResult.end];
      if (this.#unescapeResult.isDamaged) {
        const message = 'an escape that is not UTF-8 was replaced by U+FFFD';
        this.#context.warn(codes.unreadableLine, column.name, message);
      }
    }
    column.padTo(row);
    column.addString(bytes, from, to);
    if (this.#coordinates && featureStart <= featureEnd)
      this.#coordinates.add(row, bytes, from, to, featureStart, featureEnd);
  }

  /**
   * Choice: a score of GFF3 or GTF, or any number of BED, that is NaN or infinite is stored as null with a warning; if somebody declared
   * the type of the field, it is an error unless validation is off.
   */
  #appendScore(column: ValueColumn, row: number): void {
    if (this.#isNull(5)) return;
    const [from, to] = [this.#from[5]!, this.#to[5]!];
    const value = parseFloatBytes(this.#bytes, from, to);
    if (Number.isFinite(value)) {
      column.padTo(row);
      column.addDouble(value);
    } else if (
      !reportNonFinite(this.#bytes, from, to, 'score', this.#isScoreDeclared, this.#context)
    )
      this.#context.rejectUnlessLenient(
        codes.invalidValue,
        'score',
        `the score "${this.#columnText(5)}" is no number`,
      );
  }

  #appendStrand(column: ValueColumn, row: number): void {
    if (this.#isNull(6)) return;
    const [from, to] = [this.#from[6]!, this.#to[6]!];
    const c = this.#bytes[from];
    if (to - from === 1 && (c === 43 || c === 45 || c === 63)) {
      column.padTo(row);
      column.addString(this.#bytes, from, to);
    } else
      this.#context.rejectUnlessLenient(
        codes.invalidValue,
        'strand',
        `the strand "${this.#columnText(6)}" is none of "+", "-", "." and "?"`,
      );
  }

  #appendPhase(column: ValueColumn, row: number): void {
    if (this.#isNull(7)) return;
    const [from, to] = [this.#from[7]!, this.#to[7]!];
    const value = this.#bytes[from]! - 48;
    if (to - from === 1 && value >= 0 && value <= 2) appendInteger(column, row, value);
    else
      this.#context.rejectUnlessLenient(
        codes.invalidValue,
        'phase',
        `the phase "${this.#columnText(7)}" is none of 0, 1, 2 and "."`,
      );
  }

  /** Returns whether a column has no value: it is `.` or empty. */
  #isNull(i: number): boolean {
    const from = this.#from[i]!;
    const size = this.#to[i]! - from;
    return size === 0 || (size === 1 && this.#bytes[from] === 46);
  }

  #columnText(i: number): string {
    return latin1Text(this.#bytes, this.#from[i]!, this.#to[i]!, 40);
  }
}

function appendInteger(column: ValueColumn, row: number, value: number): void {
  column.padTo(row);
  column.addInteger(value);
}

/** Returns whether a line is `##FASTA`, in any letter case, with or without white space after `##`. */
function isFastaDirective(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from < 40 && /^##\s*FASTA\s*$/i.test(latin1Text(bytes, from, to));
}

function scalarColumn(name: string, type: StoredType): Column {
  return { name, physical: name, type, isList: false };
}

const featureColumns: Columns = [
  scalarColumn('seqid', 'string'),
  scalarColumn('source', 'string'),
  scalarColumn('type', 'string'),
  scalarColumn('start', 'long'),
  scalarColumn('end', 'long'),
  scalarColumn('score', 'double'),
  scalarColumn('strand', 'string'),
  scalarColumn('phase', 'long'),
];

const encoder = new TextEncoder();

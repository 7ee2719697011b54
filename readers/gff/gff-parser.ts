import { isUtf8 } from 'node:buffer';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { overlayColumn } from '../../engine/ingest/overlaid-columns.js';
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
  readonly attributes: (
    bytes: Uint8Array,
    from: number,
    to: number,
    into: AttributesBuilder,
    context: RecordContext,
  ) => string | null;
  /** Creates the fast path for attributes. */
  readonly fastAttributes: () => FastAttributeParser;
  /** Attributes that are always stored as lists. */
  readonly lists: ReadonlySet<string>;
  /** Whether values may contain percent escapes. */
  readonly hasEscapes: boolean;
  /** Whether `##FASTA`, or a line that begins with `>`, ends the features. */
  readonly hasFasta: boolean;
}

/** Parses the bytes of GFF3 and GTF into columns, without a string, object or array per record. */
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
  readonly #unescaped: UnescapeResult = { end: 0, isDamaged: false };
  readonly #isScoreDeclared: boolean;
  /** The start of each of the nine columns of the line; `#to` has their ends. */
  readonly #from = new Int32Array(9);
  readonly #to = new Int32Array(9);
  #bytes: Uint8Array = new Uint8Array(0);
  #scratch: Uint8Array = new Uint8Array(1024);
  #isBegun = false;
  #hasAttributes = false;
  #hasEnded = false;

  constructor(
    dialect: FeatureDialect,
    { build, hasAlleles }: FeatureHeader,
    { comment }: FeatureParams,
    out: BatchBuilder,
    report: Report,
    existing: Columns,
  ) {
    const context = new RecordContext(report);
    const columnOf = (column: Column) =>
      typedColumn(
        overlayColumn(
          column,
          existing.find(({ name }) => name === column.name),
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
    this.#columns = featureColumns.map(columnOf);
    this.#isScoreDeclared = existing.some(({ name, isDeclared }) => name === 'score' && isDeclared);
    this.#coordinates = build && new CoordinatesBuilder(columnOf(coordinatesColumn), build);
    this.#variants =
      build && hasAlleles ? new GvfVariantBuilder(columnOf(variantColumn), build) : null;
    const attributes = existing.find(({ name }) => name === 'attributes');
    this.#attributes = new AttributesBuilder(attributes, dialect.lists, context);
  }

  /** Reads whole lines up to the end of the features; returns the number of lines. */
  read(chunk: Uint8Array): number {
    const isClean = isUtf8(chunk);
    const context = this.#context;
    this.#bytes = chunk;
    context.line = 0;
    // The fast path does not read the alleles of GVF.
    const fastFeatures = isClean && this.#variants === null ? this.#fastFeatures(chunk) : null;
    for (let at = 0; at < chunk.length && !this.#hasEnded && !this.#report.isStopped;) {
      // The first feature is read by the general path, which creates the columns.
      if (
        this.#isBegun &&
        fastFeatures !== null &&
        fastFeatures.parse(at, this.#out, context.line + 1)
      ) {
        at = fastFeatures.nextLineOffset;
        context.line += fastFeatures.lineCount;
        continue;
      }
      context.line++;
      if (isClean) at = this.#line(at, false);
      else {
        const end = findLineEnd(chunk, at);
        const text = chunk.subarray(at, end);
        const isDamaged = !isUtf8(text);
        this.#bytes = isDamaged ? repairUtf8Line(text) : text;
        this.#line(0, isDamaged);
        at = nextLineStart(chunk, end);
      }
    }
    if (this.#hasEnded) this.#report.markEndOfRecords();
    this.#releaseUnusedColumns();
    return context.line;
  }

  /** Releases the columns that the batch does not have, because there is no feature or no attribute. */
  #releaseUnusedColumns(): void {
    if (!this.#isBegun) {
      const columns = [...this.#columns, this.#coordinates?.column, this.#variants?.column];
      for (const column of columns) column?.release();
    }
    if (!this.#hasAttributes) this.#attributes.column.release();
  }

  #fastFeatures(chunk: Uint8Array): FastFeatureParser | null {
    return FastFeatureParser.of(chunk, {
      comment: this.#comment,
      hasFasta: this.#dialect.hasFasta,
      columns: this.#columns,
      coordinates: this.#coordinates,
      attributes: this.#attributes,
      fastAttributes: this.#dialect.fastAttributes(),
    });
  }

  /** Reads the line that begins at `start`; returns the start of the next line. */
  #line(start: number, isDamaged: boolean): number {
    const bytes = this.#bytes;
    const end = this.#split(start);
    if (this.#isNoFeature(start, end)) return nextLineStart(bytes, end);
    const context = this.#context;
    context.recordNumber++;
    context.keyCount = 0;
    context.hasFailed = false;
    if (!this.#isBegun) this.#begin();
    this.#record(end - start);
    if (isDamaged) context.warn(codes.unreadableLine, null, repairedUtf8Warning);
    if (context.hasFailed) {
      // The column `attributes` may not have been added to the batch yet, so it is truncated separately.
      this.#attributes.column.truncate(this.#out.rows);
      this.#out.rollback(this.#out.rows);
    } else this.#out.endRecord(context.line);
    return nextLineStart(bytes, end);
  }

  #count = 0;
  #hasPercent = false;

  /** Finds the columns of a line, and returns the end of the line. Columns after the ninth are only counted. */
  #split(start: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    let count = 0;
    let hasPercent = false;
    let at = start;
    this.#from[0] = start;
    for (; at < length; at++) {
      const c = bytes[at]!;
      if (c > 37) continue;
      if (c === 9) {
        if (count < 8) this.#from[count + 1] = at + 1;
        if (count < 9) this.#to[count] = at;
        count++;
      } else if (c === 10 || c === 13) break;
      else if (c === 37 && count < 3) hasPercent = true;
    }
    if (count < 9) this.#to[count] = at;
    this.#count = count + 1;
    this.#hasPercent = hasPercent;
    return at;
  }

  /** Returns whether a line is blank, a comment or a directive. Sets `#hasEnded` if the features end at this line. */
  #isNoFeature(start: number, end: number): boolean {
    const bytes = this.#bytes;
    const first = bytes[start];
    // Choice: a line that begins with `#` is a comment whatever `comment` is; that parameter defines further comments.
    if (first === 35) {
      if (this.#dialect.hasFasta && isFastaDirective(bytes, start, end)) this.#hasEnded = true;
      return true;
    }
    if (first === 62 && this.#dialect.hasFasta) {
      this.#hasEnded = true;
      return true;
    }
    const comment = this.#comment;
    let i = 0;
    while (i < comment.length && bytes[start + i] === comment[i]) i++;
    if (i === comment.length) return true;
    if (this.#count > 1 || end - start > 1024) return false;
    for (let at = start; at < end; at++) if (bytes[at] !== 32) return false;
    return true;
  }

  /** Adds the columns to the batch, at the first feature line, so that the batch of a chunk without features has no columns. */
  #begin(): void {
    this.#isBegun = true;
    if (this.#coordinates) this.#out.addBuilder(coordinatesColumn.name, this.#coordinates.column);
    if (this.#variants) this.#out.addBuilder(variantColumn.name, this.#variants.column);
    for (const column of this.#columns) this.#out.addBuilder(column.name, column);
  }

  #record(lineBytes: number): void {
    const context = this.#context;
    if (this.#count !== 9) {
      const found = this.#count === 1 ? 'one column' : `${this.#count} columns`;
      return context.reject(
        codes.unreadableLine,
        null,
        `expected 9 columns separated by tabs, found ${found}`,
      );
    }
    this.#attributes.beginRecord(this.#out.rows, lineBytes);
    if (!this.#isNull(8)) {
      const [from, to] = [this.#from[8]!, this.#to[8]!];
      const { attributes } = this.#dialect;
      const wrong = attributes(this.#bytes, from, to, this.#attributes, context);
      if (wrong !== null) return context.reject(codes.unreadableLine, 'attributes', wrong);
      // An object without members cannot be stored, so the column is added at the first attribute.
      if (!this.#hasAttributes && !this.#attributes.isEmpty) {
        this.#hasAttributes = true;
        this.#out.addBuilder('attributes', this.#attributes.column);
      }
    }
    context.keyCount += this.#columns.length;
    context.checkFieldCount();
    this.#write(this.#out.rows);
  }

  #write(row: number): void {
    const [seqid, source, type, start, end, score, strand, phase] = this.#columns;
    const first = this.#position(3, 'start');
    const last = this.#position(4, 'end');
    // Choice: features that begin at 0, or end before they begin, are errors, because both formats count from 1 and forbid this.
    if (first > last)
      this.#context.rejectUnlessLenient(
        codes.invalidValue,
        'end',
        `the feature ends at ${last}, before its start ${first}`,
      );
    this.#text(seqid!, 0, row, first, last);
    if (first <= last && !this.#isNull(0))
      this.#variants?.add(row, this.#bytes, this.#from, this.#to, first, last);
    this.#text(source!, 1, row);
    this.#text(type!, 2, row);
    if (!Number.isNaN(first)) appendInteger(start!, row, first);
    if (!Number.isNaN(last)) appendInteger(end!, row, last);
    this.#score(score!, row);
    this.#strand(strand!, row);
    this.#phase(phase!, row);
    this.#attributes.finishRecord();
  }

  /** Parses a coordinate; returns NaN if it is missing or malformed. */
  #position(i: number, field: string): number {
    if (this.#isNull(i)) return NaN;
    const value = parseInteger(this.#bytes, this.#from[i]!, this.#to[i]!);
    if (value >= 1) return value;
    const found = Number.isNaN(value)
      ? `"${this.#show(i)}" is no whole number`
      : `${value} is none`;
    this.#context.rejectUnlessLenient(
      codes.invalidValue,
      field,
      `a position counts from 1, ${found}`,
    );
    return NaN;
  }

  /** Appends one of the first three columns; for the first column, also the coordinates from `first` to `last`. */
  #text(column: ValueColumn, i: number, row: number, first = NaN, last = NaN): void {
    if (this.#isNull(i)) return;
    let bytes = this.#bytes;
    let from = this.#from[i]!;
    let to = this.#to[i]!;
    if (this.#hasPercent && this.#dialect.hasEscapes) {
      if (this.#scratch.length < to - from) this.#scratch = new Uint8Array((to - from) * 2);
      unescapeBytes(bytes, from, to, this.#scratch, 0, this.#unescaped);
      [bytes, from, to] = [this.#scratch, 0, this.#unescaped.end];
      if (this.#unescaped.isDamaged) {
        const message = 'an escape that is not UTF-8 was replaced by U+FFFD';
        this.#context.warn(codes.unreadableLine, column.name, message);
      }
    }
    column.padTo(row);
    column.addString(bytes, from, to);
    if (this.#coordinates && first <= last)
      this.#coordinates.add(row, bytes, from, to, first, last);
  }

  /**
   * Choice: a score of GFF3, GTF or BED that is NaN or infinite is stored as null with a warning; it is an error if somebody declared the
   * type of the field.
   */
  #score(column: ValueColumn, row: number): void {
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
        `the score "${this.#show(5)}" is no number`,
      );
  }

  #strand(column: ValueColumn, row: number): void {
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
        `the strand "${this.#show(6)}" is none of "+", "-", "." and "?"`,
      );
  }

  #phase(column: ValueColumn, row: number): void {
    if (this.#isNull(7)) return;
    const [from, to] = [this.#from[7]!, this.#to[7]!];
    const value = this.#bytes[from]! - 48;
    if (to - from === 1 && value >= 0 && value <= 2) appendInteger(column, row, value);
    else
      this.#context.rejectUnlessLenient(
        codes.invalidValue,
        'phase',
        `the phase "${this.#show(7)}" is none of 0, 1, 2 and "."`,
      );
  }

  /** Returns whether a column has no value: it is `.` or empty. */
  #isNull(i: number): boolean {
    const from = this.#from[i]!;
    const size = this.#to[i]! - from;
    return size === 0 || (size === 1 && this.#bytes[from] === 46);
  }

  #show(i: number): string {
    return latin1Text(this.#bytes, this.#from[i]!, this.#to[i]!, 40);
  }
}

function appendInteger(column: ValueColumn, row: number, value: number): void {
  column.padTo(row);
  column.addInteger(value);
}

/** Returns whether a line is `##FASTA`, in any letter case, with or without a space after `##`. */
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

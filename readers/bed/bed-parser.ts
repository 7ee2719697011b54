import { isUtf8 } from 'node:buffer';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { overlaidColumn } from '../../engine/ingest/overlaid-columns.js';
import { typedColumn } from '../../engine/ingest/make-column.js';
import { PhysicalNames } from '../../engine/ingest/physical-names.js';
import { RecordContext } from '../../engine/ingest/record-context.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { budgets } from '../../engine/core/budgets.js';
import type { Column, Columns, StoredType } from '../../engine/core/types.js';
import { CoordinatesBuilder, coordinatesColumn } from '../coordinates.js';
import type { Report } from '../reader.js';
import { findLineEnd, nextLineStart, repairUtf8Line, repairedUtf8Warning } from '../text/lines.js';
import { reportNonFinite } from '../text/non-finite.js';
import { parseFloatBytes, parseInteger, latin1Text } from '../text/parse-numbers.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import { bedFields, FieldKind, type BedField } from './bed-formats.js';
import type { BedHeader } from './bed-header.js';

/** The indices of the three fields that BED and all formats based on it have, and of the next field, which is not `name` in bedGraph. */
const enum BedFieldIndex {
  Chrom,
  ChromStart,
  ChromEnd,
  Name,
}

const storedTypes: Readonly<Record<FieldKind, StoredType>> = {
  [FieldKind.Text]: 'string',
  [FieldKind.NonNegativeInteger]: 'long',
  [FieldKind.Integer]: 'long',
  [FieldKind.Number]: 'double',
  [FieldKind.Strand]: 'string',
  [FieldKind.Color]: 'string',
  [FieldKind.IntegerList]: 'long',
};

/** Parses the lines of one chunk of BED, or of a format that extends it, into columns. */
export class BedParser {
  readonly #fields: readonly BedField[];
  /** The index of the field `blockCount`, which precedes the lists of blocks; -1 for a format without blocks. */
  readonly #blockCountIndex: number;
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #context: RecordContext;
  readonly #existingColumns: ReadonlyMap<string, Column>;
  readonly #physicalNames: PhysicalNames;
  readonly #coordinates: CoordinatesBuilder | null;
  /** The columns of the fields that the lines read so far have, by the index of the field. */
  readonly #columns: ValueColumn[] = [];
  #bytes: Uint8Array = new Uint8Array(0);
  /** Field i of the line is `bytes[#from[i]..#to[i])`; `#fieldCount` is the number of fields. */
  #from = new Int32Array(16);
  #to = new Int32Array(16);
  #fieldCount = 0;

  constructor(
    { build, format }: BedHeader,
    out: BatchBuilder,
    report: Report,
    existingColumns: Columns,
  ) {
    this.#fields = bedFields[format];
    this.#blockCountIndex = this.#fields.findIndex(({ name }) => name === 'blockCount');
    this.#out = out;
    this.#report = report;
    this.#context = new RecordContext(report);
    this.#existingColumns = new Map(existingColumns.map((column) => [column.name, column]));
    this.#physicalNames = new PhysicalNames(
      existingColumns.map(({ physical }) => physical),
      true,
    );
    this.#coordinates =
      build &&
      new CoordinatesBuilder(
        this.#makeColumn(
          overlaidColumn(coordinatesColumn, this.#existingColumns.get('genomic_coordinates')),
        ),
        build,
      );
  }

  /** Parses the lines of a chunk, until the report stops; returns the number of lines that were read. */
  read(chunk: Uint8Array): number {
    const isValidUtf8 = isUtf8(chunk);
    const context = this.#context;
    for (let at = 0; at < chunk.length && !this.#report.isStopped;) {
      context.line++;
      const end = findLineEnd(chunk, at);
      if (isValidUtf8 || isUtf8(chunk.subarray(at, end))) {
        this.#bytes = chunk;
        this.#readLine(at, end, false);
      } else {
        this.#bytes = repairUtf8Line(chunk.subarray(at, end));
        this.#readLine(0, this.#bytes.length, true);
      }
      at = nextLineStart(chunk, end);
    }
    return context.line;
  }

  #readLine(from: number, to: number, isRepaired: boolean): void {
    if (isCommentOrTrackLine(this.#bytes, from, to)) return;
    const context = this.#context;
    const row = this.#out.rows;
    context.recordNumber++;
    context.hasFailed = false;
    this.#splitLine(from, to);
    context.keyCount = this.#fieldCount;
    this.#readFeature(row);
    if (isRepaired) context.warn(codes.unreadableLine, null, repairedUtf8Warning);
    if (context.hasFailed) this.#out.rollback(row);
    else this.#out.endRecord(context.line);
  }

  /**
   * Finds the fields of a line. Choice: a line that contains a tab is separated by tabs, so that names may contain spaces; any other line
   * is separated by runs of spaces.
   */
  #splitLine(from: number, to: number): void {
    const bytes = this.#bytes;
    const tab = bytes.indexOf(9, from);
    const separator = tab >= 0 && tab < to ? 9 : 32;
    let fieldCount = 0;
    for (let at = from; at <= to; at++) {
      if (separator === 32) while (at < to && bytes[at] === 32) at++;
      if (separator === 32 && at === to && fieldCount > 0) break;
      const start = at;
      while (at < to && bytes[at] !== separator) at++;
      if (fieldCount === this.#from.length) {
        this.#from = doubleCapacity(this.#from);
        this.#to = doubleCapacity(this.#to);
      }
      this.#from[fieldCount] = start;
      this.#to[fieldCount++] = at;
    }
    this.#fieldCount = fieldCount;
  }

  #readFeature(row: number): void {
    const context = this.#context;
    const fieldCount = this.#fieldCount;
    if (fieldCount < 3)
      return context.reject(
        codes.unreadableLine,
        null,
        `${fieldCount} ${fieldCount === 1 ? 'field' : 'fields'} separated by tabs or blanks, a BED line has at least 3`,
      );
    context.checkFieldCount();
    if (context.hasFailed) return;
    this.#addColumns();
    const start = this.#addNonNegativeInteger(BedFieldIndex.ChromStart, row);
    const end = this.#addNonNegativeInteger(BedFieldIndex.ChromEnd, row);
    if (end < start)
      context.rejectUnlessLenient(
        codes.invalidValue,
        'chromEnd',
        `the feature ends at ${end}, before its start ${start}`,
      );
    if (this.#isMissing(BedFieldIndex.Chrom))
      context.rejectUnlessLenient(codes.invalidValue, 'chrom', 'the chromosome is missing');
    else this.#addText(BedFieldIndex.Chrom, row);
    if (this.#coordinates !== null && start <= end && !this.#isMissing(BedFieldIndex.Chrom)) {
      const [from, to] = [this.#from[BedFieldIndex.Chrom]!, this.#to[BedFieldIndex.Chrom]!];
      // Choice: a BED feature without bases (chromStart = chromEnd, an insertion) has the coordinates of the base before it, as in VCF; at
      // the start of a chromosome, those of the first base.
      const firstPosition = start < end ? start + 1 : Math.max(1, start);
      this.#coordinates.add(
        row,
        this.#bytes,
        from,
        to,
        firstPosition,
        Math.max(firstPosition, end),
      );
    }
    for (let i = BedFieldIndex.Name; i < fieldCount; i++)
      if (!this.#isMissing(i)) this.#addValue(i, row);
    this.#checkBlocks();
  }

  #addValue(i: number, row: number): void {
    switch (this.#fields[i]?.kind ?? FieldKind.Text) {
      case FieldKind.Number:
        return this.#addNumber(i, row);
      case FieldKind.Strand:
        return this.#addStrand(i, row);
      case FieldKind.NonNegativeInteger:
        this.#addNonNegativeInteger(i, row);
        return;
      case FieldKind.Integer:
        return this.#addInteger(i, row);
      case FieldKind.Color:
        return this.#addColor(i, row);
      case FieldKind.IntegerList:
        return this.#addIntegerList(i, row);
      case FieldKind.Text:
        return this.#addText(i, row);
    }
  }

  #addText(i: number, row: number): void {
    const column = this.#columns[i]!;
    column.padTo(row);
    column.addString(this.#bytes, this.#from[i]!, this.#to[i]!);
  }

  /** Stores a non-negative integer and returns it. For any other text, returns NaN, and reports an error unless validation is off. */
  #addNonNegativeInteger(i: number, row: number): number {
    const column = this.#columns[i]!;
    const value = parseInteger(this.#bytes, this.#from[i]!, this.#to[i]!);
    if (value >= 0) {
      column.padTo(row);
      column.addInteger(value);
      return value;
    }
    this.#reportFault(i, 'is not a whole number from 0 on');
    return NaN;
  }

  #addInteger(i: number, row: number): void {
    const value = parseInteger(this.#bytes, this.#from[i]!, this.#to[i]!);
    if (Number.isNaN(value)) return this.#reportFault(i, 'is not a whole number');
    this.#columns[i]!.padTo(row);
    this.#columns[i]!.addInteger(value);
  }

  /**
   * Choice: the score of a BED feature may be any number, although UCSC requires integers from 0 to 1000, because peak callers write other
   * numbers.
   */
  #addNumber(i: number, row: number): void {
    const column = this.#columns[i]!;
    const [from, to] = [this.#from[i]!, this.#to[i]!];
    const value = parseFloatBytes(this.#bytes, from, to);
    if (value - value === 0) {
      column.padTo(row);
      column.addDouble(value);
      return;
    }
    const isDeclared = this.#existingColumns.get(column.name)?.isDeclared === true;
    if (!reportNonFinite(this.#bytes, from, to, column.name, isDeclared, this.#context))
      this.#reportFault(i, 'is not a number');
  }

  #addStrand(i: number, row: number): void {
    const from = this.#from[i]!;
    const c = this.#bytes[from];
    if (this.#to[i]! - from === 1 && (c === 43 || c === 45)) return this.#addText(i, row);
    this.#reportFault(i, 'is none of "+", "-" and "."');
  }

  #addColor(i: number, row: number): void {
    const components = this.#fieldText(i).split(',');
    const isColorComponent = (component: string) =>
      /^\d{1,3}$/.test(component) && Number(component) <= 255;
    if (
      (components.length === 3 && components.every(isColorComponent)) ||
      (components.length === 1 && components[0] === '0')
    )
      return this.#addText(i, row);
    this.#reportFault(i, 'is not a colour: expected R,G,B with values from 0 to 255, or 0');
  }

  /**
   * Stores a list of non-negative integers separated by commas, with or without a comma at its end. Any other item ends the list, and is an
   * error unless validation is off.
   */
  #addIntegerList(i: number, row: number): void {
    const bytes = this.#bytes;
    const to = this.#to[i]!;
    const column = this.#columns[i]!;
    column.padTo(row);
    const items = column.beginList();
    for (let at = this.#from[i]!; at < to; at++) {
      let end = at;
      while (end < to && bytes[end] !== 44) end++;
      const value = parseInteger(bytes, at, end);
      if (!(value >= 0)) {
        this.#reportFault(i, 'is not a list of whole numbers from 0 on');
        break;
      }
      items?.addInteger(value);
      at = end;
    }
    column.endList();
  }

  /** Choice: a list of blocks in BED whose length is not `blockCount` is an error. */
  #checkBlocks(): void {
    const countIndex = this.#blockCountIndex;
    if (countIndex < 0 || this.#fieldCount <= countIndex + 1 || this.#isMissing(countIndex)) return;
    const blockCount = parseInteger(this.#bytes, this.#from[countIndex]!, this.#to[countIndex]!);
    for (let i = countIndex + 1; i <= countIndex + 2 && i < this.#fieldCount; i++) {
      if (this.#isMissing(i)) continue;
      const itemCount = this.#countItems(i);
      if (blockCount >= 0 && itemCount !== blockCount)
        this.#context.rejectUnlessLenient(
          codes.invalidValue,
          this.#columns[i]!.name,
          `${itemCount} items, blockCount is ${blockCount}`,
        );
    }
  }

  #countItems(i: number): number {
    let [itemCount, to] = [1, this.#to[i]!];
    if (this.#bytes[to - 1] === 44) to--;
    for (let at = this.#from[i]!; at < to; at++) if (this.#bytes[at] === 44) itemCount++;
    return itemCount;
  }

  /** Returns whether field `i` of the line is missing: `.` or the empty text. */
  #isMissing(i: number): boolean {
    const from = this.#from[i]!;
    const size = this.#to[i]! - from;
    return size === 0 || (size === 1 && this.#bytes[from] === 46);
  }

  #reportFault(i: number, problem: string): void {
    this.#context.rejectUnlessLenient(
      codes.invalidValue,
      this.#columns[i]!.name,
      `"${this.#fieldText(i)}" ${problem}`,
    );
  }

  #fieldText(i: number): string {
    return latin1Text(this.#bytes, this.#from[i]!, this.#to[i]!, 40);
  }

  /**
   * Adds columns for fields that no earlier line has. A field that the format does not name becomes `field_<n>`, n being its position from
   * 1; it is a string unless the dataset has a column of that name.
   */
  #addColumns(): void {
    if (this.#columns.length === 0 && this.#coordinates !== null)
      this.#out.addBuilder(coordinatesColumn.name, this.#coordinates.column);
    for (let i = this.#columns.length; i < this.#fieldCount && i < budgets.columnsPerImport; i++) {
      const { name, kind } = this.#fields[i] ?? {
        name: `field_${i + 1}`,
        kind: FieldKind.Text,
      };
      const [type, isList] = [storedTypes[kind], kind === FieldKind.IntegerList];
      const existingColumn = this.#existingColumns.get(name);
      const physical = existingColumn?.physical ?? this.#physicalNames.add(name);
      const column = overlaidColumn({ name, physical, type, isList }, existingColumn);
      this.#columns.push(this.#makeColumn(column));
      this.#out.addBuilder(name, this.#columns[i]!);
    }
  }

  #makeColumn(column: Column): ValueColumn {
    return typedColumn(column, column.name, 0, this.#context);
  }
}

/** Returns whether a line is blank, a comment, or a `track` or `browser` line. */
function isCommentOrTrackLine(bytes: Uint8Array, from: number, to: number): boolean {
  const firstByte = bytes[from]!;
  if (firstByte === 35) return true;
  if (firstByte === 116 && startsWithWord(bytes, from, to, trackWord)) return true;
  if (firstByte === 98 && startsWithWord(bytes, from, to, browserWord)) return true;
  let at = from;
  while (at < to && (bytes[at] === 32 || bytes[at] === 9)) at++;
  return at === to;
}

/** Returns whether the first word of the line is `word`. */
function startsWithWord(bytes: Uint8Array, from: number, to: number, word: Uint8Array): boolean {
  const end = from + word.length;
  if (end > to) return false;
  for (let i = 0; i < word.length; i++) if (bytes[from + i] !== word[i]) return false;
  return end === to || bytes[end] === 32 || bytes[end] === 9;
}

function doubleCapacity(list: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const doubledList = new Int32Array(list.length * 2);
  doubledList.set(list);
  return doubledList;
}

const encoder = new TextEncoder();
const trackWord = encoder.encode('track');
const browserWord = encoder.encode('browser');

import { Buffer, isUtf8 } from 'node:buffer';
import { makeBuilder } from '../../engine/ingest/nested-builders.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import type { Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { LineAnnotations } from './line-annotations.js';
import { convertedToTextWarning, tooLongError } from '../../engine/ingest/cast-scalar.js';
import { overlaidColumns } from '../../engine/ingest/overlaid-columns.js';
import {
  subfieldsByAnnotationKey,
  declaredColumns,
  refuseObjectColumns,
  widenIntegerColumns,
} from './columns.js';
import { FixedColumns } from './fixed-columns.js';
import { isAllele, isChromosome, isReference } from './fixed-fields.js';
import { isReferenceBlock, maxFormatLen, symbolicAlleleStop } from './stop-position.js';
import { estimateLineCount } from './memory-estimate.js';
import type { VcfHeader } from './vcf-header.js';
import { InfoParser } from './info.js';
import { VcfLine } from './line.js';
import { hasChrPrefix } from '../coordinates.js';
import { repairUtf8Line, repairedUtf8Warning } from '../text/lines.js';
import {
  parseFloatBytes,
  parseInteger,
  isDecimalInteger,
  latin1Text,
} from '../text/parse-numbers.js';
import { SampleParser } from './samples.js';
import type { VcfParams } from './vcf-params.js';
import { nonFiniteFaultOf } from '../text/non-finite.js';
import { codes } from '../../engine/ingest/validation-codes.js';

interface VcfParserOptions {
  readonly header: VcfHeader;
  readonly params: VcfParams;
  readonly out: BatchBuilder;
  readonly report: Report;
  /** Columns that the dataset already has. */
  readonly existingColumns: Columns;
  /**
   * Dotted names of fields that the header declares as Integer although values are fractions, and of undeclared INFO keys that have a value
   * in some records only. After adding a name, the parser stops, and the chunk is read again.
   */
  readonly widenedNames: Set<string>;
}

/**
 * Parses the record lines of one chunk into columns, one record per alternate allele or exploded annotation. Values are copied from the
 * bytes by offset; most valid lines create neither strings nor objects.
 */
export class VcfParser {
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #fixedColumns: FixedColumns;
  readonly #infoParser: InfoParser;
  readonly #sampleParser: SampleParser | null;
  /** Number of columns of the `#CHROM` line. */
  readonly #width: number;
  readonly #widenedNames: Set<string>;
  /** The number of names in `#widenedNames` when the parser is created; the parser stops as soon as there are more. */
  readonly #widenedCountBefore: number;
  readonly #version: number;
  readonly #annotations: LineAnnotations | null;
  readonly #line = new VcfLine();
  /** The positions of the first tabs of the line. */
  readonly #tabs = new Int32Array(9);
  /** The bytes being parsed as a Buffer, whose `indexOf` is three times as fast as that of a Uint8Array. */
  #searchBuffer: Buffer = Buffer.alloc(0);
  /** The tab that `#tabAfter` has found last; -1 before its first search in these bytes. */
  #nextTab = -1;

  constructor({ header, params, out, report, existingColumns, widenedNames }: VcfParserOptions) {
    this.#out = out;
    this.#report = report;
    this.#width = header.hasFormat ? 9 + header.samples.length : 8;
    this.#widenedNames = widenedNames;
    this.#widenedCountBefore = widenedNames.size;
    this.#version = header.version;
    const widenedDeclarations = widenIntegerColumns(declaredColumns(header, params), widenedNames);
    const columns = overlaidColumns(widenedDeclarations, existingColumns);
    refuseObjectColumns(widenedDeclarations, columns);
    this.#fixedColumns = new FixedColumns(columns, out, header.build);
    const explodedKey = params.explodes ? params.annotationsKey : null;
    this.#annotations =
      explodedKey === null
        ? null
        : new LineAnnotations(
            explodedKey,
            subfieldsByAnnotationKey(header, params).get(explodedKey) ?? [],
          );
    const decodes = header.version >= 4.3;
    this.#infoParser = new InfoParser({
      column: columns.find((one) => one.name === 'info'),
      existingColumn: existingColumns.find((one) => one.name === 'info'),
      decodes,
      out,
      report,
      widenedNames,
      annotations: this.#annotations,
      explodedKey,
      meanings: header.meanings,
    });
    const { sampleKey } = params;
    const samplesColumn = columns.find((one) => one.name === sampleKey);
    this.#sampleParser =
      header.samples.length > 0 && samplesColumn !== undefined
        ? new SampleParser({
            column: makeBuilder(samplesColumn),
            key: sampleKey,
            samples: header.samples,
            decodes,
            out,
            report,
            existingColumn: existingColumns.find((one) => one.name === sampleKey),
            widenedNames,
          })
        : null;
  }

  /** Parses the lines; returns how many were read. Stops early when the report stops, or when a name was added to `widenedNames`. */
  read(chunk: Uint8Array): number {
    // A Buffer has another hidden class than a Uint8Array: with only one class the loops below stay monomorphic.
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const isValidUtf8 = isUtf8(bytes);
    const searchBuffer = this.#searchIn(bytes);
    const estimatedLines = estimateLineCount(searchBuffer);
    this.#out.reserveRows(estimatedLines);
    this.#sampleParser?.reserveRows(estimatedLines, bytes.length);
    const line = this.#line;
    let at = 0;
    while (
      at < bytes.length &&
      !this.#report.isStopped &&
      this.#widenedNames.size === this.#widenedCountBefore
    ) {
      const newline = searchBuffer.indexOf(10, at);
      const nextLineStart = newline < 0 ? bytes.length : newline + 1;
      let end = newline < 0 ? bytes.length : newline;
      if (end > at && bytes[end - 1] === 13) end--;
      line.numberInChunk++;
      if (end > at && isValidUtf8) this.#parseLine(bytes, at, end);
      else if (end > at) {
        this.#parseUnchecked(bytes.subarray(at, end));
        this.#searchIn(bytes);
      }
      at = nextLineStart;
    }
    return line.numberInChunk;
  }

  /** Parses a line of a chunk that is not valid UTF-8 as a whole: invalid bytes of the line become U+FFFD. */
  #parseUnchecked(text: Uint8Array): void {
    let validBytes = text;
    if (!isUtf8(text)) {
      if (
        this.#report.warn(this.#line.numberInChunk, codes.unreadableLine, null, repairedUtf8Warning)
      )
        return;
      validBytes = repairUtf8Line(text);
    }
    this.#searchIn(validBytes);
    this.#parseLine(validBytes, 0, validBytes.length);
  }

  /** Sets the bytes in which tabs are searched. */
  #searchIn(bytes: Uint8Array): Buffer {
    this.#nextTab = -1;
    this.#searchBuffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    return this.#searchBuffer;
  }

  #parseLine(bytes: Uint8Array, from: number, to: number): void {
    const { rows } = this.#out;
    const line = this.#line;
    line.bytes = bytes;
    line.lineFrom = from;
    line.lineTo = to;
    if (!this.#splitLine(line) || !this.#parseFixedFields(line) || !this.#addRecords(line))
      this.#out.rollback(rows);
  }

  /** Finds the columns of a line; returns false when it was rejected. */
  #splitLine(line: VcfLine): boolean {
    const { bytes, lineFrom, lineTo } = line;
    if (bytes[lineFrom] === 35)
      return this.#reject(
        codes.unreadableLine,
        null,
        'a header line among the records: were two VCF files joined?',
      );
    const tabs = this.#tabs;
    const width = this.#width;
    let tabCount = 0;
    for (let at = lineFrom; at < lineTo && tabCount < 7; at++)
      if (bytes[at] === 9) tabs[tabCount++] = at;
    // INFO and FORMAT are long, so their end is found by a native search for the next tab.
    for (
      const wantedTabs = width === 8 ? 8 : 9;
      tabCount >= 7 && tabCount < wantedTabs;
      tabCount++
    ) {
      const tab = this.#tabAfter(tabs[tabCount - 1]!);
      if (tab >= lineTo) break;
      tabs[tabCount] = tab;
    }
    if (tabCount < 7)
      return this.#reject(
        codes.unreadableLine,
        null,
        `${tabCount + 1} columns separated by tabs, a VCF record has at least 8`,
      );
    if (width === 8 && tabCount === 8 && tabs[7]! < lineTo - 1)
      return this.#reject(codes.unreadableLine, null, 'more columns than the 8 of the #CHROM line');
    if (width > 8 && tabCount < 8)
      return this.#reject(
        codes.unreadableLine,
        null,
        `${tabCount + 1} columns, the #CHROM line has ${width}`,
      );
    line.chromFrom = lineFrom;
    line.chromTo = tabs[0]!;
    line.posFrom = tabs[0]! + 1;
    line.posTo = tabs[1]!;
    line.idTo = tabs[2]!;
    line.refFrom = tabs[2]! + 1;
    line.refTo = tabs[3]!;
    line.altFrom = tabs[3]! + 1;
    line.altTo = tabs[4]!;
    line.qualTo = tabs[5]!;
    line.filterTo = tabs[6]!;
    line.infoTo = tabCount >= 8 ? tabs[7]! : lineTo;
    line.formatTo = width > 8 && tabCount >= 9 ? tabs[8]! : lineTo;
    return true;
  }

  /** Returns the first tab after `at` in `#searchBuffer`, which may be on a later line; the end of the buffer if there is none. */
  #tabAfter(at: number): number {
    if (this.#nextTab <= at) {
      const tab = this.#searchBuffer.indexOf(9, at + 1);
      this.#nextTab = tab < 0 ? this.#searchBuffer.length : tab;
    }
    return this.#nextTab;
  }

  /** Parses CHROM, POS, REF and QUAL, finds the annotations, and checks the size of the records; returns false if the line was rejected. */
  #parseFixedFields(line: VcfLine): boolean {
    const { bytes, chromFrom, chromTo, posFrom, posTo, refFrom, refTo, altFrom, altTo } = line;
    if (!isChromosome(bytes, chromFrom, chromTo))
      return this.#rejectValue('CHROM', chromFrom, chromTo, 'is not a chromosome name');
    if (hasChrPrefix(bytes, chromFrom, chromTo)) line.chromFrom += 3;

    line.start = parseInteger(bytes, posFrom, posTo);
    if (!(line.start >= 0) || line.start > 4_294_967_295) {
      const problem = isDecimalInteger(bytes, posFrom, posTo)
        ? 'is out of range'
        : 'is not a position';
      return this.#rejectValue('POS', posFrom, posTo, problem);
    }

    if (!isReference(bytes, refFrom, refTo))
      return this.#rejectValue('REF', refFrom, refTo, 'is not a sequence of bases');
    if (altFrom === altTo)
      return this.#reject(codes.invalidValue, 'ALT', 'the allele is empty: "." stands for none');
    line.hasAlternate = !(altTo - altFrom === 1 && bytes[altFrom] === 46);

    const qualFrom = altTo + 1;
    const { qualTo } = line;
    line.qual = NaN;
    if (!(qualTo - qualFrom === 1 && bytes[qualFrom] === 46)) {
      line.qual = parseFloatBytes(bytes, qualFrom, qualTo);
      if (line.qual - line.qual !== 0 && !this.#toleratesQual(qualFrom, qualTo)) return false;
    }
    this.#annotations?.findAnnotations(bytes, line.infoFrom, line.infoTo);
    return this.#isWithinBudget(line);
  }

  /** Reports a QUAL that is not a finite number; returns whether the record is still to be stored, with null. */
  #toleratesQual(from: number, to: number): boolean {
    const fault = nonFiniteFaultOf(this.#line.bytes, from, to);
    if (fault === undefined) return this.#rejectValue('QUAL', from, to, 'is not a number');
    this.#line.qual = NaN;
    const { code, message } = fault;
    if (this.#report.isDisabled) return true;
    if (this.#fixedColumns.isQualDeclared) return this.#reject(code, 'QUAL', message);
    return !this.#report.warn(this.#line.numberInChunk, code, 'QUAL', `${message}: null is stored`);
  }

  /** Checks the size of all records of a line: every allele and every exploded annotation repeats the rest of the line. */
  #isWithinBudget(line: VcfLine): boolean {
    const { bytes, altFrom, altTo } = line;
    let recordCount = 1;
    let sharedBytes = line.lineTo - line.lineFrom + recordOverheadBytes;
    for (let at = altFrom; at < altTo; at++) if (bytes[at] === 44) recordCount++;
    if (this.#annotations !== null && this.#annotations.annotationCount > 0) {
      recordCount = this.#annotations.assignToAlleles(line);
      sharedBytes -= this.#annotations.valueTo - this.#annotations.valueFrom;
    }
    if (recordCount === 1 || recordCount * sharedBytes <= budgets.vcfLineRecordBytes) return true;
    return this.#reject(
      codes.unreadableLine,
      null,
      `the ${recordCount} records of this line would repeat ${sharedBytes} bytes each, and ${byteSizeText(budgets.vcfLineRecordBytes)} is the most that a line may make: split its alleles (bcftools norm -m -any), leave out samples, or do not explode its annotations`,
    );
  }

  /** Adds the records of a line, one per allele and exploded annotation; returns false if it was rejected or the chunk is read again. */
  #addRecords(line: VcfLine): boolean {
    const { bytes, refFrom, refTo, altFrom, altTo, hasAlternate } = line;
    const annotations = this.#annotations;
    for (let alleleFrom = altFrom, alleleIndex = 0; alleleFrom <= altTo; alleleIndex++) {
      let alleleTo = alleleFrom;
      while (alleleTo < altTo && bytes[alleleTo] !== 44) alleleTo++;
      if (hasAlternate && !isAllele(bytes, alleleFrom, alleleTo))
        return this.#rejectValue('ALT', alleleFrom, alleleTo, 'is not an allele');
      // Without an alternate allele, the record describes the reference allele.
      const from = hasAlternate ? alleleFrom : refFrom;
      const to = hasAlternate ? alleleTo : refTo;
      let annotationIndex = annotations === null ? -1 : annotations.nextOfAllele(alleleIndex, 0);
      do {
        const row = this.#out.rows;
        if (!this.#infoParser.parseInfo(line, row, annotationIndex)) return false;
        const stop = this.#stopOf(line, alleleFrom, alleleTo, alleleIndex);
        if (Math.max(line.start, stop) > this.#fixedColumns.maxPosition)
          return this.#rejectValue('POS', line.posFrom, line.posTo, 'is out of range of integer');
        if (
          line.lineTo - line.lineFrom > budgets.stringBytes &&
          !this.#widenAlleles(line, stop, to - from)
        )
          return false;
        if (!this.#addRecord(line, row, stop, from, to)) return false;
        annotationIndex =
          annotationIndex < 0 ? -1 : annotations!.nextOfAllele(alleleIndex, annotationIndex + 1);
      } while (annotationIndex >= 0);
      alleleFrom = alleleTo + 1;
    }
    return true;
  }

  /**
   * Changes those columns of alleles, variants and ids to type `text` whose value in the line is too long for a string; returns false when
   * the line was rejected.
   */
  #widenAlleles(line: VcfLine, stop: number, alleleBytes: number): boolean {
    return this.#fixedColumns.widenAlleleColumns(
      line,
      stop,
      alleleBytes,
      ({ name, isDeclared }, bytes) => {
        const { code, message } = tooLongError(bytes);
        if (isDeclared) return this.#reject(code, name, message);
        return !this.#report.warn(
          this.#line.numberInChunk,
          code,
          name,
          convertedToTextWarning(bytes),
        );
      },
    );
  }

  /** Returns the last position of the `alleleIndex`-th allele of a line whose INFO has been parsed. */
  #stopOf(line: VcfLine, from: number, to: number, alleleIndex: number): number {
    if (line.bytes[from] !== 60) return line.refStop;
    const stop = symbolicAlleleStop(line, from, to, alleleIndex, this.#version, this.#infoParser);
    if (
      this.#infoParser.infoEnd >= 0 ||
      this.#version < 4.5 ||
      !isReferenceBlock(line.bytes, from, to)
    )
      return stop;
    return Math.max(stop, line.start + maxFormatLen(line) - 1);
  }

  /** Adds the record of the allele `line.bytes[from..to)`, whose INFO has been parsed; returns false as `#addRecords` does. */
  #addRecord(line: VcfLine, row: number, stop: number, from: number, to: number): boolean {
    if (!this.#fixedColumns.appendRecord(line, row, stop, from, to)) {
      const problem = 'has an item that is no filter name';
      return this.#rejectValue('FILTER', line.qualTo + 1, line.filterTo, problem);
    }
    if (this.#sampleParser !== null && !this.#sampleParser.parseSamples(line, row)) return false;
    this.#out.endRecord(line.numberInChunk);
    return true;
  }

  /** Rejects the line for the text of a column: `"<text>" <problem>`. */
  #rejectValue(field: string, from: number, to: number, problem: string): false {
    return this.#reject(
      codes.invalidValue,
      field,
      `"${latin1Text(this.#line.bytes, from, to)}" ${problem}`,
    );
  }

  #reject(code: number, field: string | null, message: string): false {
    this.#report.reject(this.#line.numberInChunk, code, field, message);
    return false;
  }
}

/** Estimated number of bytes that a record takes in addition to its text. */
const recordOverheadBytes = 256;

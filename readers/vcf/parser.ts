import { Buffer, isUtf8 } from 'node:buffer';
import {
  makeBuilder,
  type ListBuilder,
  type StructBuilder,
} from '../../engine/ingest/nested-builders.js';
import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import type { LongBuilder, DoubleBuilder, Utf8Builder } from '../../engine/ingest/builders.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { budgets } from '../../engine/core/budgets.js';
import type { Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { annotationKeysOf, declaredColumns, overlaid, widenedColumns } from './columns.js';
import { Annotations } from './annotations.js';
import { isReferenceBlock, longestBlock, symbolStop } from './stop-position.js';
import { checkType, typeConflict } from './fixed-columns.js';
import { expectedLines } from './memory-estimate.js';
import type { VcfHeader } from './header.js';
import { InfoParser } from './info.js';
import { hasChrPrefix } from '../coordinates.js';
import { floatAt, integerAt, isDigits, isNotANumber, latin1 } from '../text/numbers.js';
import { isAllele, isChromosome, isReference } from './alleles.js';
import { SampleParser } from './samples.js';
import type { VcfParams } from './vcf.js';
import { appendFilter, appendIdentifier, appendSplit, appendVariant } from './fixed-fields.js';

/**
 * Reads the record lines of one chunk into columns. A line becomes one record per alternate allele; everything is taken
 * from the bytes by offset, no text or object is made for a well-formed line.
 */
export class VcfParser {
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #columns: number;
  readonly #coordinates: StructBuilder;
  readonly #build: Utf8Builder;
  readonly #chromosome: Utf8Builder;
  readonly #start: LongBuilder;
  readonly #stop: LongBuilder;
  readonly #variant: Utf8Builder;
  readonly #allele: Utf8Builder;
  readonly #rowId: Utf8Builder;
  readonly #reference: Utf8Builder;
  readonly #alternates: ListBuilder<Utf8Builder>;
  readonly #qual: DoubleBuilder;
  readonly #filter: ListBuilder<Utf8Builder>;
  readonly #info: InfoParser;
  readonly #samples: SampleParser | null;
  readonly #buildName: Uint8Array;
  readonly #buildUpper: Uint8Array;
  readonly #widened: Set<string>;
  readonly #widenedBefore: number;
  readonly #version: number;
  readonly #annotations: Annotations | null;
  readonly #tabs = new Int32Array(9);
  /** The same bytes as a Buffer, which finds a byte three times as fast; its values are read elsewhere. */
  #search: Buffer = Buffer.alloc(0);
  #nextTab = -1;
  #line = 0;

  constructor(
    header: VcfHeader,
    params: VcfParams,
    out: BatchBuilder,
    report: Report,
    given: Columns,
    widened: Set<string>,
  ) {
    this.#out = out;
    this.#report = report;
    this.#columns = header.hasFormat ? 9 + header.samples.length : 8;
    this.#widened = widened;
    this.#widenedBefore = widened.size;
    const columns = overlaid(widenedColumns(declaredColumns(header, params), widened), given);
    const column = <B extends ColumnBuilder>(name: string): B => {
      const wanted = columns.find((one) => one.name === name)!;
      checkType(wanted.name, wanted.type, wanted.isList);
      return out.column(wanted) as B;
    };
    this.#coordinates = column('genomic_coordinates');
    const part = <B extends ColumnBuilder>(name: string, type: string): B => {
      const builder = this.#coordinates.children.get(name)!;
      const found = builder.column();
      if (found.type !== type || found.isList)
        throw typeConflict(`genomic_coordinates.${name}`, found.type, type);
      return builder as B;
    };
    this.#build = part('build', 'string');
    this.#chromosome = part('chromosome', 'string');
    this.#start = part('start', 'long');
    this.#stop = part('stop', 'long');
    this.#variant = column('variant');
    this.#allele = column('allele');
    this.#rowId = column('row_id');
    this.#reference = column('reference_allele');
    this.#alternates = column('alternate_alleles');
    this.#qual = column('qual');
    this.#filter = column('filter');
    const info = columns.find((one) => one.name === 'info');
    const exploded = params.explodes ? params.annotationsKey : null;
    const givenInfo = given.find((one) => one.name === 'info');
    this.#version = header.version;
    this.#info = new InfoParser(
      info,
      givenInfo,
      header.version >= 4.3,
      out,
      report,
      widened,
      exploded,
    );
    this.#annotations =
      exploded === null
        ? null
        : new Annotations(exploded, annotationKeysOf(header, params).get(exploded) ?? []);
    const samples = columns.find((one) => one.name === params.sampleKey);
    this.#samples =
      header.samples.length > 0 && samples !== undefined
        ? new SampleParser(
            makeBuilder(samples),
            header,
            params.sampleKey,
            out,
            report,
            given.find((one) => one.name === params.sampleKey),
            widened,
          )
        : null;
    this.#buildName = new TextEncoder().encode(header.build);
    this.#buildUpper = new TextEncoder().encode(`${header.build.toUpperCase()}-`);
  }

  /** Reads all lines; returns how many there were. Stops early when a declared integer had to be widened. */
  read(chunk: Uint8Array): number {
    // A Buffer has another hidden class than a Uint8Array: with only one of them the loops below stay monomorphic.
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const isClean = isUtf8(bytes);
    const search = this.#searchIn(bytes);
    const records = expectedLines(search);
    this.#out.expect(records);
    this.#samples?.expect(records, bytes.length);
    let at = 0;
    while (
      at < bytes.length &&
      !this.#report.isStopped &&
      this.#widened.size === this.#widenedBefore
    ) {
      const newline = search.indexOf(10, at);
      const next = newline < 0 ? bytes.length : newline + 1;
      let end = newline < 0 ? bytes.length : newline;
      if (end > at && bytes[end - 1] === 13) end--;
      this.#line++;
      if (end > at && isClean) this.#readLine(bytes, at, end);
      else if (end > at) {
        this.#readDoubtful(bytes.subarray(at, end));
        this.#searchIn(bytes);
      }
      at = next;
    }
    return this.#line;
  }

  /** A line of a chunk that is not all UTF-8: in this line, bytes that are not are read as U+FFFD. */
  #readDoubtful(line: Uint8Array): void {
    if (isUtf8(line)) return this.#readAlone(line);
    const message = 'bytes that are not UTF-8 were replaced by U+FFFD';
    if (this.#report.warn(this.#line, 0, null, message)) return;
    const repaired = new TextEncoder().encode(lossy.decode(line));
    this.#readAlone(repaired);
  }

  #readAlone(line: Uint8Array): void {
    this.#searchIn(line);
    this.#readLine(line, 0, line.length);
  }

  /** Takes the bytes for those that lines are read from. */
  #searchIn(bytes: Uint8Array): Buffer {
    this.#nextTab = -1;
    this.#search = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    return this.#search;
  }

  #readLine(bytes: Uint8Array, from: number, to: number): void {
    const rows = this.#out.rows;
    if (!this.#parse(bytes, from, to)) this.#out.rollback(rows);
  }

  /** False when the line was rejected; what it had appended is then rolled back. */
  #parse(bytes: Uint8Array, from: number, to: number): boolean {
    if (bytes[from] === 35)
      return this.#reject(0, null, 'a header line among the records: were two VCF files joined?');
    const tabs = this.#tabs;
    let count = 0;
    for (let at = from; at < to && count < 7; at++) if (bytes[at] === 9) tabs[count++] = at;
    // INFO and FORMAT are long: searching beats walking.
    for (const wanted = this.#columns === 8 ? 8 : 9; count >= 7 && count < wanted; count++) {
      const tab = this.#tabAfter(tabs[count - 1]!);
      if (tab >= to) break;
      tabs[count] = tab;
    }
    if (count < 7)
      return this.#reject(
        0,
        null,
        `${count + 1} columns separated by tabs, a VCF record has at least 8`,
      );
    if (this.#columns === 8 && count === 8 && tabs[7]! < to - 1)
      return this.#reject(0, null, 'more columns than the 8 of the #CHROM line');
    const infoEnd = count >= 8 ? tabs[7]! : to;
    const formatEnd = this.#columns > 8 ? (count >= 9 ? tabs[8]! : to) : to;
    if (this.#columns > 8 && count < 8)
      return this.#reject(0, null, `${count + 1} columns, the #CHROM line has ${this.#columns}`);

    // CHROM
    let chromFrom = from;
    const chromTo = tabs[0]!;
    if (!isChromosome(bytes, chromFrom, chromTo))
      return this.#reject(
        301,
        'CHROM',
        `"${latin1(bytes, chromFrom, chromTo)}" is not a chromosome name`,
      );
    if (hasChrPrefix(bytes, chromFrom, chromTo)) chromFrom += 3;

    // POS
    const posFrom = chromTo + 1;
    const posTo = tabs[1]!;
    const start = integerAt(bytes, posFrom, posTo);
    if (!(start >= 0) || start > 4_294_967_295) {
      const text = latin1(bytes, posFrom, posTo);
      const is = isDigits(bytes, posFrom, posTo) ? 'is out of range' : 'is not a position';
      return this.#reject(301, 'POS', `"${text}" ${is}`);
    }

    // REF and ALT
    const refFrom = tabs[2]! + 1;
    const refTo = tabs[3]!;
    if (!isReference(bytes, refFrom, refTo))
      return this.#reject(
        301,
        'REF',
        `"${latin1(bytes, refFrom, refTo)}" is not a sequence of bases`,
      );
    const altFrom = refTo + 1;
    const altTo = tabs[4]!;
    if (altFrom === altTo)
      return this.#reject(301, 'ALT', 'the allele is empty: "." stands for none');
    const hasAlternate = !(altTo - altFrom === 1 && bytes[altFrom] === 46);

    // QUAL
    const qualFrom = altTo + 1;
    const qualTo = tabs[5]!;
    let qual: number | null = null;
    if (!(qualTo - qualFrom === 1 && bytes[qualFrom] === 46)) {
      qual = floatAt(bytes, qualFrom, qualTo);
      if (qual !== qual && !isNotANumber(bytes, qualFrom, qualTo))
        return this.#reject(301, 'QUAL', `"${latin1(bytes, qualFrom, qualTo)}" is not a number`);
      if (qual !== qual) qual = null;
      else if (qual - qual !== 0) {
        if (!this.#report.isDisabled) return this.#reject(305, 'QUAL', 'infinity cannot be stored');
        qual = null;
      }
    }

    const annotations = this.#annotations;
    const infoFrom = tabs[6]! + 1;
    annotations?.find(bytes, infoFrom, infoEnd);
    if (!this.#isWithinBudget(bytes, from, to, refFrom, refTo, altFrom, altTo)) return false;
    const refStop = start + (refTo - refFrom) - 1;

    for (let alleleFrom = altFrom, index = 0; alleleFrom <= altTo; index++) {
      let alleleTo = alleleFrom;
      while (alleleTo < altTo && bytes[alleleTo] !== 44) alleleTo++;
      if (hasAlternate && !isAllele(bytes, alleleFrom, alleleTo))
        return this.#reject(
          301,
          'ALT',
          `"${latin1(bytes, alleleFrom, alleleTo)}" is not an allele`,
        );
      const a = hasAlternate ? alleleFrom : refFrom;
      const b = hasAlternate ? alleleTo : refTo;
      if (b - a > maxString) return this.#tooLong('allele', b - a);
      let annotation = annotations === null ? -1 : annotations.next(index, 0);
      do {
        const row = this.#out.rows;
        const info = this.#info;
        if (!info.parse(bytes, infoFrom, infoEnd, row, this.#line, annotations, annotation))
          return false;
        let stop = refStop;
        if (bytes[alleleFrom] === 60) {
          const version = this.#version;
          stop = symbolStop(bytes, alleleFrom, alleleTo, index, start, refStop, version, info);
          if (info.end < 0 && version >= 4.5 && isReferenceBlock(bytes, alleleFrom, alleleTo))
            stop = Math.max(stop, start + longestBlock(bytes, infoEnd + 1, formatEnd, to) - 1);
        }

        this.#build.padTo(row);
        this.#build.appendBytes(this.#buildName, 0, this.#buildName.length);
        this.#chromosome.appendBytes(bytes, chromFrom, chromTo);
        this.#start.append(start);
        this.#stop.append(stop);
        this.#coordinates.endObject();
        appendVariant(
          this.#variant,
          this.#buildUpper,
          bytes,
          chromFrom,
          chromTo,
          posFrom,
          posTo,
          start,
          stop,
          a,
          b,
        );
        this.#allele.appendBytes(bytes, a, b);
        appendIdentifier(this.#rowId, bytes, posTo + 1, tabs[2]!);
        this.#reference.appendBytes(bytes, refFrom, refTo);
        if (hasAlternate) appendSplit(this.#alternates.items, bytes, altFrom, altTo, 44);
        this.#alternates.endList();
        if (qual === null) this.#qual.appendNull();
        else this.#qual.append(qual);
        if (!appendFilter(this.#filter, bytes, qualTo + 1, tabs[6]!)) {
          const text = latin1(bytes, qualTo + 1, tabs[6]!);
          return this.#reject(301, 'FILTER', `"${text}" has an item that is no filter name`);
        }
        if (
          this.#samples !== null &&
          !this.#samples.parse(bytes, infoEnd + 1, formatEnd, to, row, this.#line)
        )
          return false;
        this.#out.endRecord();
        annotation = annotation < 0 ? -1 : annotations!.next(index, annotation + 1);
      } while (annotation >= 0);
      alleleFrom = alleleTo + 1;
    }
    return true;
  }

  /** The first tab behind `at` in the chunk, which on lines without samples is on the next line. */
  #tabAfter(at: number): number {
    if (this.#nextTab <= at) {
      const found = this.#search.indexOf(9, at + 1);
      this.#nextTab = found < 0 ? this.#search.length : found;
    }
    return this.#nextTab;
  }

  /** A line of many alleles or annotations makes a record of each, all of which repeat the rest of it. */
  #isWithinBudget(
    bytes: Uint8Array,
    from: number,
    to: number,
    refFrom: number,
    refTo: number,
    altFrom: number,
    altTo: number,
  ): boolean {
    let records = 1;
    let shared = to - from + recordBytes;
    for (let at = altFrom; at < altTo; at++) if (bytes[at] === 44) records++;
    if (this.#annotations !== null && this.#annotations.count > 0) {
      records = this.#annotations.share(bytes, refFrom, refTo, altFrom, altTo);
      shared -= this.#annotations.to - this.#annotations.from;
    }
    if (records === 1 || records * shared <= budgets.vcfLineRecordBytes) return true;
    return this.#reject(
      0,
      null,
      `the ${records} records of this line would repeat ${shared} bytes each, ${budgets.vcfLineRecordBytes} are allowed in all (budget vcfLineRecordBytes)`,
    );
  }

  #tooLong(field: string, size: number): boolean {
    return this.#reject(306, field, `${size} bytes of text, a string holds ${maxString}`);
  }

  #reject(code: number, field: string | null, message: string): false {
    this.#report.reject(this.#line, code, field, message);
    return false;
  }
}

const maxString = 32_766;
/** Keeps a byte order mark where it stands. */
const lossy = new TextDecoder('utf-8', { ignoreBOM: true });

/** What a record takes at least, whatever its line holds. */
const recordBytes = 256;

import type { BatchBuilder } from '../../engine/ingest/batch.js';
import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import type { DoubleBuilder, LongBuilder } from '../../engine/ingest/fixed-width-builders.js';
import type { ListBuilder, StructBuilder } from '../../engine/ingest/nested-builders.js';
import type { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { budgets } from '../../engine/core/budgets.js';
import type { Column, Columns } from '../../engine/core/types.js';
import { checkCoreFieldType, describeType, typeConflictError } from './columns.js';
import { appendFilter, appendIdentifier, appendSplit, appendVariant } from './fixed-fields.js';
import type { VcfLine } from './line.js';

/** The columns that every VCF record has: coordinates, alleles, identifier, quality and filter (contract 10.6). */
export class FixedColumns {
  /** The largest genomic position that is stored: 2^31 - 1 if the dataset has `start` or `stop` as 32-bit integers. */
  maxPosition = 2 ** 53;
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
  /** Whether somebody declared the type of `qual`. */
  readonly isQualDeclared: boolean;
  readonly #buildName: Uint8Array;
  /** The genome build in upper case and a dash: the prefix of every value of `variant`. */
  readonly #variantPrefix: Uint8Array;

  /** Adds the columns to `out`. Throws `invalid` when `columns` has one with a type that cannot store the values of VCF records. */
  constructor(columns: Columns, out: BatchBuilder, build: string) {
    const addColumn = <B extends ColumnBuilder>(name: string): B => {
      const fixedColumn = columns.find((one) => one.name === name)!;
      checkCoreFieldType(fixedColumn.name, fixedColumn.type, fixedColumn.isList);
      return out.column(fixedColumn) as B;
    };
    this.#coordinates = addColumn('genomic_coordinates');
    const findMember = <B extends ColumnBuilder>(name: string, type: string): B => {
      const builder = this.#coordinates.children.get(name)!;
      const memberColumn = builder.column();
      const isInteger = type === 'long' && memberColumn.type === 'integer';
      if ((memberColumn.type !== type && !isInteger) || memberColumn.isList)
        throw typeConflictError(`genomic_coordinates.${name}`, describeType(memberColumn), type);
      if (isInteger) this.maxPosition = 2 ** 31 - 1;
      return builder as B;
    };
    this.#build = findMember('build', 'string');
    this.#chromosome = findMember('chromosome', 'string');
    this.#start = findMember('start', 'long');
    this.#stop = findMember('stop', 'long');
    this.#variant = addColumn('variant');
    this.#allele = addColumn('allele');
    this.#rowId = addColumn('row_id');
    this.#reference = addColumn('reference_allele');
    this.#alternates = addColumn('alternate_alleles');
    this.#qual = addColumn('qual');
    this.#filter = addColumn('filter');
    this.isQualDeclared = this.#qual.column().isDeclared === true;
    this.#buildName = new TextEncoder().encode(build);
    this.#variantPrefix = new TextEncoder().encode(`${build.toUpperCase()}-`);
  }

  /**
   * Changes each column of alleles, variants or ids whose value in this line is too long for the type `string` to the type `text`. Calls
   * `report` first, even if an earlier line has changed the column; stops and returns false as soon as `report` returns false.
   */
  widenAlleleColumns(
    line: VcfLine,
    stop: number,
    alleleBytes: number,
    report: (column: Column, bytes: number) => boolean,
  ): boolean {
    const positionBytes = `${line.start}-${stop}-`.length + line.chromTo - line.chromFrom + 1;
    const sizes: readonly (readonly [Utf8Builder, number])[] = [
      [this.#allele, alleleBytes],
      [this.#variant, this.#variantPrefix.length + positionBytes + alleleBytes],
      [this.#reference, line.refTo - line.refFrom],
      [this.#alternates.items, longestItemBytes(line.bytes, line.altFrom, line.altTo)],
      [this.#rowId, line.idTo - line.posTo - 1],
    ];
    return sizes.every(([builder, size]) => {
      const column = builder.column();
      const isString = column.type === 'string' || builder.wasConvertedToText;
      if (size <= budgets.stringBytes || !isString) return true;
      if (!report(column, size)) return false;
      builder.convertToTextType();
      return true;
    });
  }

  /**
   * Appends the values of the record of the allele `line.bytes[from..to)`, which ends at the position `stop`. Returns false when FILTER
   * has an item that is not a filter name; the caller rolls the record back.
   */
  appendRecord(line: VcfLine, row: number, stop: number, from: number, to: number): boolean {
    const { bytes, qual } = line;
    this.#build.padTo(row);
    this.#build.appendBytes(this.#buildName, 0, this.#buildName.length);
    this.#chromosome.appendBytes(bytes, line.chromFrom, line.chromTo);
    this.#start.append(line.start);
    this.#stop.append(stop);
    this.#coordinates.endObject();
    appendVariant(this.#variant, this.#variantPrefix, line, stop, from, to);
    this.#allele.appendBytes(bytes, from, to);
    appendIdentifier(this.#rowId, bytes, line.posTo + 1, line.idTo);
    this.#reference.appendBytes(bytes, line.refFrom, line.refTo);
    if (line.hasAlternate) appendSplit(this.#alternates.items, bytes, line.altFrom, line.altTo, 44);
    this.#alternates.endList();
    if (qual === qual) this.#qual.append(qual);
    else this.#qual.appendNull();
    return appendFilter(this.#filter, bytes, line.qualTo + 1, line.filterTo);
  }
}

/** Returns the size in bytes of the longest item of a list separated by commas. */
function longestItemBytes(bytes: Uint8Array, from: number, to: number): number {
  let longest = 0;
  for (let start = from, at = from; at <= to; at++) {
    if (at < to && bytes[at] !== 44) continue;
    longest = Math.max(longest, at - start);
    start = at + 1;
  }
  return longest;
}

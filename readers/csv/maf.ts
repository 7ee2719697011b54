import type { Column, GenomeBuild } from '../../engine/core/types.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { CoordinatesBuilder, coordinatesColumn } from '../coordinates.js';
import { buildsNamedIn } from '../genome-build.js';
import { parseInteger } from '../text/parse-numbers.js';
import { isBasesOrDash, variantColumn, VariantBuilder } from '../variant-builder.js';
import type { FastRowScanner } from './fast-rows.js';

/**
 * The names, in lower case, of the MAF columns that describe the position and the alleles of a variant, in the order of `MafHeader.cells`.
 */
const mafColumnNames = [
  'chromosome',
  'start_position',
  'end_position',
  'strand',
  'ncbi_build',
  'reference_allele',
  'tumor_seq_allele1',
  'tumor_seq_allele2',
];
const enum MafCellIndex {
  Chromosome,
  Start,
  End,
  Strand,
  Build,
  Reference,
  Allele1,
  Allele2,
}

/** The properties of a MAF file that every chunk needs; plain data. */
export interface MafHeader {
  /** For each of `mafColumnNames`, the index of its cell in a row; -1 if the file does not have the column. */
  readonly cells: readonly number[];
  /** The genome build of all rows, if the request specifies it; otherwise null. */
  readonly build: GenomeBuild | null;
  /** The genome build of rows whose NCBI_Build is missing; null if it is unknown. */
  readonly usualBuild: GenomeBuild | null;
  /** The name of the column of variants: `variant`, or `variant_2` and so on if the file has a column `variant`. */
  readonly variantFieldName: string;
  /** Whether coordinates are added; false if the file has a column `genomic_coordinates`, or columns that fill members of that field. */
  readonly hasCoordinates: boolean;
  /** Whether variants are added; false if the file has a column `variant`, and the dataset has that field but none of derived variants. */
  readonly hasVariants: boolean;
}

/** What `detectMaf` finds about a MAF file. */
export interface DetectedMaf {
  readonly header: MafHeader;
  /** The genome build that the request specifies, else that of the file; null if the first rows of the file have different builds. */
  readonly build: GenomeBuild | null;
  /** Warnings about the build and the columns. */
  readonly warnings: readonly string[];
}

/**
 * Returns the properties of a table that is a MAF file with a known genome build; null for other tables. `columns` are the names of the
 * columns that are read, `rows` the cells of its first rows, `comments` the comments before them.
 *
 * Choice: a delimited file with the columns Chromosome, Start_Position, Reference_Allele and Tumor_Seq_Allele2, in any letter case, is MAF.
 * Its records have `genomic_coordinates` and `variant` if the build is known: from the request, else from NCBI_Build (`37`, `hg19`,
 * `GRCh37` …), else from the comments if they name only one. The allele is Tumor_Seq_Allele2, or Tumor_Seq_Allele1 if only the latter
 * differs from the reference.
 */
export function detectMaf(
  columns: readonly (string | null)[],
  rows: readonly (readonly string[])[],
  comments: readonly string[],
  requestedBuild: GenomeBuild | undefined,
): DetectedMaf | null {
  const lowerNames = columns.map((name) => name?.toLowerCase());
  const cells = mafColumnNames.map((name) => lowerNames.indexOf(name));
  for (const kind of [
    MafCellIndex.Chromosome,
    MafCellIndex.Start,
    MafCellIndex.Reference,
    MafCellIndex.Allele2,
  ])
    if (cells[kind]! < 0) return null;
  const buildsInRows = new Set(
    rows.map((row) => buildOfCell(row[cells[MafCellIndex.Build]!] ?? '')),
  );
  buildsInRows.delete(null);
  const buildsInComments = new Set(comments.flatMap(buildsNamedIn));
  const usualBuild = buildsInComments.size === 1 ? [...buildsInComments][0]! : null;
  const fileBuild =
    buildsInRows.size === 0 ? usualBuild : buildsInRows.size === 1 ? [...buildsInRows][0]! : null;
  if (requestedBuild === undefined && fileBuild === null && buildsInRows.size === 0) return null;
  let variantName = 'variant';
  for (let n = 2; columns.includes(variantName); n++) variantName = `variant_${n}`;
  const warnings: string[] = [];
  const otherBuilds = [...buildsInRows].filter((build) => build !== requestedBuild);
  if (requestedBuild !== undefined && otherBuilds.length > 0)
    warnings.push(
      `NCBI_Build names ${otherBuilds.join(' and ')}, but ${requestedBuild} is asked for: positions are read as of ${requestedBuild}`,
    );
  if (variantName !== 'variant')
    warnings.push(
      `the file has a column variant: variants are named in ${variantName}, unless the dataset has a field variant and no ${variantName}`,
    );
  const hasCoordinates = !columns.includes('genomic_coordinates');
  if (!hasCoordinates)
    warnings.push('the file has a column genomic_coordinates: records have no others');
  const build = requestedBuild ?? null;
  const header = {
    cells,
    build,
    usualBuild,
    variantFieldName: variantName,
    hasCoordinates,
    hasVariants: true,
  };
  return { header, build: requestedBuild ?? fileBuild, warnings };
}

/** Returns the genome build that a cell of NCBI_Build names; null if it names none that is known, or several. */
function buildOfCell(cell: string): GenomeBuild | null {
  const namedBuilds = buildsNamedIn(cell);
  if (namedBuilds.length > 0) return namedBuilds.length === 1 ? namedBuilds[0]! : null;
  const [, buildDigits] = /^\s*(?:NCBI|build)?[\s_-]*(3[78])(?:\.\d+)?\s*$/i.exec(cell) ?? [];
  return buildDigits === undefined ? null : buildDigits === '37' ? 'GRCh37' : 'GRCh38';
}

/** Fills `genomic_coordinates` and `variant` from the cells of MAF rows. */
export class MafRowBuilder {
  readonly #header: MafHeader;
  readonly #coordinates: CoordinatesBuilder | null;
  readonly #variants: VariantBuilder | null;
  /** The cell for element i of `mafColumnNames` is `bytes[#from[i]..#to[i])`. */
  readonly #from = new Int32Array(mafColumnNames.length);
  readonly #to = new Int32Array(mafColumnNames.length);
  /** Copies of the cells of a row that is not part of a run. */
  #copiedBytes: Uint8Array = new Uint8Array(1024);
  #copiedEnd = 0;
  readonly #buildsByCellText = new Map<string, GenomeBuild | null>();
  /** The last cell of NCBI_Build; `#lastBuild` is its build. Nearly all rows have the same build. */
  #lastBuildCell: Uint8Array = new Uint8Array(0);
  #lastBuild: GenomeBuild | null = null;

  /** `addColumn` creates a column of the records. */
  constructor(header: MafHeader, addColumn: (column: Column) => ValueColumn) {
    this.#header = header;
    this.#lastBuild = header.usualBuild;
    this.#coordinates = header.hasCoordinates
      ? new CoordinatesBuilder(addColumn(coordinatesColumn), 'GRCh38')
      : null;
    this.#variants = header.hasVariants
      ? new VariantBuilder(addColumn({ ...variantColumn, name: header.variantFieldName }))
      : null;
  }

  /** Whether `addRun` may be called: false if the dataset has a field `genomic_coordinates` or `variant` with other types. */
  get acceptsRuns(): boolean {
    const isPlain = !this.#variants || this.#variants.column.builder instanceof Utf8Builder;
    return isPlain && (this.#coordinates === null || this.#coordinates.acceptsRuns);
  }

  /** Adds the coordinates and variants of a run of `count` rows, from `row` on. */
  addRun(
    { window: { bytes, rangeStarts, rangeEnds }, maxRows }: FastRowScanner,
    row: number,
    count: number,
  ): void {
    const { cells } = this.#header;
    for (let i = 0; i < count; i++) {
      for (let kind = 0; kind < cells.length; kind++) {
        const k = cells[kind]!;
        this.#from[kind] = k < 0 ? 0 : rangeStarts[k * maxRows + i]!;
        this.#to[kind] = k < 0 ? 0 : rangeEnds[k * maxRows + i]!;
      }
      this.#addRow(row + i, bytes);
    }
  }

  /** Begins a row whose cells are passed to `recordCell` one by one. */
  beginRow(): void {
    this.#copiedEnd = 0;
    this.#from.fill(0);
    this.#to.fill(0);
  }

  /** Records that the cell with the index `k` is `bytes[from..to)`. */
  recordCell(k: number, bytes: Uint8Array, from: number, to: number): void {
    const kind = this.#header.cells.indexOf(k);
    if (kind < 0) return;
    const start = this.#copiedEnd;
    const end = start + to - from;
    if (end > this.#copiedBytes.length) {
      const largerCopy = new Uint8Array(2 * end);
      largerCopy.set(this.#copiedBytes);
      this.#copiedBytes = largerCopy;
    }
    this.#copiedBytes.set(bytes.subarray(from, to), start);
    this.#from[kind] = start;
    this.#to[kind] = this.#copiedEnd = end;
  }

  /** Adds the coordinates and the variant of the row whose cells have been passed to `recordCell`. */
  endRow(row: number): void {
    this.#addRow(row, this.#copiedBytes);
  }

  #addRow(row: number, bytes: Uint8Array): void {
    const from = this.#from;
    const to = this.#to;
    const build = this.#header.build ?? this.#buildOf(bytes);
    const [chromFrom, chromTo] = [from[MafCellIndex.Chromosome]!, to[MafCellIndex.Chromosome]!];
    const start = parseInteger(bytes, from[MafCellIndex.Start]!, to[MafCellIndex.Start]!);
    if (build === null || !(start >= 1) || !mayNameChromosome(bytes, chromFrom, chromTo)) return;
    const [refFrom, refTo] = [from[MafCellIndex.Reference]!, to[MafCellIndex.Reference]!];
    const givenEnd = parseInteger(bytes, from[MafCellIndex.End]!, to[MafCellIndex.End]!);
    const stop = givenEnd >= start ? givenEnd : start + Math.max(1, refTo - refFrom) - 1;
    if (this.#coordinates !== null) {
      this.#coordinates.build = build;
      this.#coordinates.add(row, bytes, chromFrom, chromTo, start, stop);
    }
    if (this.#variants === null) return;
    const alleleIndex = this.#differsFromReference(MafCellIndex.Allele2, bytes)
      ? MafCellIndex.Allele2
      : this.#differsFromReference(MafCellIndex.Allele1, bytes)
        ? MafCellIndex.Allele1
        : MafCellIndex.Allele2;
    if (
      !isBasesOrDash(bytes, refFrom, refTo) ||
      !isBasesOrDash(bytes, from[alleleIndex]!, to[alleleIndex]!)
    )
      return;
    const { nextVariant } = this.#variants;
    nextVariant.build = build;
    nextVariant.bytes = bytes;
    nextVariant.from = chromFrom;
    nextVariant.to = chromTo;
    nextVariant.start = start;
    nextVariant.stop = stop;
    nextVariant.alleleFrom = from[alleleIndex]!;
    nextVariant.alleleTo = to[alleleIndex]!;
    nextVariant.isReverse =
      to[MafCellIndex.Strand]! > from[MafCellIndex.Strand]! &&
      bytes[from[MafCellIndex.Strand]!] === 45;
    this.#variants.addNextVariant(row);
  }

  /** Returns whether the cell contains an allele other than the reference. */
  #differsFromReference(kind: MafCellIndex, bytes: Uint8Array): boolean {
    const [from, to] = [this.#from[kind]!, this.#to[kind]!];
    const [referenceFrom, referenceTo] = [
      this.#from[MafCellIndex.Reference]!,
      this.#to[MafCellIndex.Reference]!,
    ];
    if (!isBasesOrDash(bytes, from, to)) return false;
    if (to - from !== referenceTo - referenceFrom) return true;
    for (let i = 0; i < to - from; i++)
      if ((bytes[from + i]! | 32) !== (bytes[referenceFrom + i]! | 32)) return true;
    return false;
  }

  #buildOf(bytes: Uint8Array): GenomeBuild | null {
    const [from, to] = [this.#from[MafCellIndex.Build]!, this.#to[MafCellIndex.Build]!];
    const lastCell = this.#lastBuildCell;
    let i = 0;
    while (i < lastCell.length && bytes[from + i] === lastCell[i]) i++;
    if (i === lastCell.length && i === to - from) return this.#lastBuild;
    this.#lastBuildCell = bytes.slice(from, to);
    const text = decoder.decode(this.#lastBuildCell);
    let cachedBuild = this.#buildsByCellText.get(text);
    if (cachedBuild === undefined) {
      // If the cell is empty or `.`, the row has the build that the comments name.
      cachedBuild = /^\.?$/.test(text) ? this.#header.usualBuild : buildOfCell(text);
      if (this.#buildsByCellText.size < 1000) this.#buildsByCellText.set(text, cachedBuild);
    }
    return (this.#lastBuild = cachedBuild);
  }
}

/** Returns whether the text may name a chromosome: one or more printable ASCII characters other than spaces, and not `.` alone. */
function mayNameChromosome(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to || (to - from === 1 && bytes[from] === 46)) return false;
  for (let at = from; at < to; at++) if (bytes[at]! <= 32 || bytes[at]! >= 127) return false;
  return true;
}

const decoder = new TextDecoder();

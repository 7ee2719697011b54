import type { Column, GenomeBuild } from '../../engine/core/types.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { Coordinates, coordinatesColumn } from '../coordinates.js';
import { buildsNamed } from '../genome-build.js';
import { integerAt } from '../text/numbers.js';
import { isBases, variantColumn, Variants } from '../variants.js';
import type { FastRows } from './fast-rows.js';

/** The columns of a MAF file that describe the position and the alleles of a variant, in lower case, in the order of `MafHeader.cells`. */
const names = [
  'chromosome',
  'start_position',
  'end_position',
  'strand',
  'ncbi_build',
  'reference_allele',
  'tumor_seq_allele1',
  'tumor_seq_allele2',
];
const enum Cell {
  Chromosome,
  Start,
  End,
  Strand,
  Build,
  Reference,
  Allele1,
  Allele2,
}

/** The properties of a MAF file that every chunk needs: plain data. */
export interface MafHeader {
  /** The indices of the cells of a row that `names` lists; -1 for a column that the file does not have. */
  readonly cells: readonly number[];
  /** The build of all rows, if the request asks for one. */
  readonly build: GenomeBuild | null;
  /** The build of rows that do not name a build. */
  readonly usualBuild: GenomeBuild | null;
  /** The name of the column of variants: `variant`, or another one if the file has a column `variant`. */
  readonly variant: string;
  /** Whether coordinates are added; false if the file has a column `genomic_coordinates`. */
  readonly hasCoordinates: boolean;
}

/** The header of a MAF file, null for other files, and warnings about its genome build. */
export interface FoundMaf {
  readonly header: MafHeader;
  readonly build: GenomeBuild | null;
  readonly warnings: readonly string[];
}

/**
 * Finds out whether a table is a MAF file whose genome build is known; null if not. `columns` are the names of the columns that are read,
 * `rows` the cells of its first rows, `comments` the lines before them.
 *
 * Choice: a delimited file with the columns Chromosome, Start_Position, Reference_Allele and Tumor_Seq_Allele2 is MAF, in any letter case; its
 * records have `genomic_coordinates` and `variant` where the build is known: from the request, else from NCBI_Build (`37`,
 * `hg19`, `GRCh37` …), else from the comments if they name a single one. The allele is Tumor_Seq_Allele2, or Tumor_Seq_Allele1
 * if only that differs from the reference.
 */
export function mafOf(
  columns: readonly (string | null)[],
  rows: readonly (readonly string[])[],
  comments: readonly string[],
  requested: GenomeBuild | undefined,
): FoundMaf | null {
  const lowerNames = columns.map((name) => name?.toLowerCase());
  const cells = names.map((name) => lowerNames.indexOf(name));
  for (const cell of [Cell.Chromosome, Cell.Start, Cell.Reference, Cell.Allele2])
    if (cells[cell]! < 0) return null;
  const inRows = new Set(rows.map((row) => buildIn(row[cells[Cell.Build]!] ?? '')));
  inRows.delete(null);
  const inComments = new Set(comments.flatMap(buildsNamed));
  const usualBuild = inComments.size === 1 ? [...inComments][0]! : null;
  const found = inRows.size === 0 ? usualBuild : inRows.size === 1 ? [...inRows][0]! : null;
  if (requested === undefined && found === null && inRows.size === 0) return null;
  let variant = 'variant';
  for (let n = 2; columns.includes(variant); n++) variant = `variant_${n}`;
  const warnings: string[] = [];
  const otherBuilds = [...inRows].filter((build) => build !== requested);
  if (requested !== undefined && otherBuilds.length > 0)
    warnings.push(
      `NCBI_Build names ${otherBuilds.join(' and ')}, but ${requested} is asked for: positions are read as of ${requested}`,
    );
  if (variant !== 'variant')
    warnings.push(`the file has a column variant: variants are named in ${variant}`);
  const hasCoordinates = !columns.includes('genomic_coordinates');
  if (!hasCoordinates)
    warnings.push('the file has a column genomic_coordinates: records have no others');
  const header = { cells, build: requested ?? null, usualBuild, variant, hasCoordinates };
  return { header, build: requested ?? found, warnings };
}

/** The genome build in a cell of NCBI_Build; null if the cell names no known build. */
function buildIn(cell: string): GenomeBuild | null {
  const buildNames = buildsNamed(cell);
  if (buildNames.length > 0) return buildNames.length === 1 ? buildNames[0]! : null;
  const [, number] = /^\s*(?:NCBI|build)?[\s_-]*(3[78])(?:\.\d+)?\s*$/i.exec(cell) ?? [];
  return number === undefined ? null : number === '37' ? 'GRCh37' : 'GRCh38';
}

/** Fills `genomic_coordinates` and `variant` from the cells of MAF rows. */
export class MafRows {
  readonly #header: MafHeader;
  readonly #coordinates: Coordinates | null;
  readonly #variants: Variants;
  /** The cell of each kind in the row is `bytes[from..to)`. */
  readonly #from = new Int32Array(names.length);
  readonly #to = new Int32Array(names.length);
  /** Copies of the cells of a row that is not part of a run. */
  #copied: Uint8Array = new Uint8Array(1024);
  #copiedEnd = 0;
  readonly #builds = new Map<string, GenomeBuild | null>();
  /** The last cell of NCBI_Build and its build, which is the same in nearly all rows. */
  #lastBuild: Uint8Array = new Uint8Array(0);
  #lastNamed: GenomeBuild | null = null;

  /** `add` creates a column of the records. */
  constructor(header: MafHeader, add: (column: Column) => ValueColumn) {
    this.#header = header;
    this.#lastNamed = header.usualBuild;
    this.#coordinates = header.hasCoordinates
      ? new Coordinates(add(coordinatesColumn), 'GRCh38')
      : null;
    this.#variants = new Variants(add({ ...variantColumn, name: header.variant }));
  }

  /** Whether `addRun` may be called: false if the dataset has fields with these names and other types. */
  get acceptsRuns(): boolean {
    const isPlain = this.#variants.column.builder instanceof Utf8Builder;
    return isPlain && (this.#coordinates === null || this.#coordinates.acceptsRuns);
  }

  /** Adds the variants of a run of `count` rows, from `row` on. */
  addRun({ window: { bytes, from, to }, maxRows }: FastRows, row: number, count: number): void {
    const { cells } = this.#header;
    for (let i = 0; i < count; i++) {
      for (let kind = 0; kind < cells.length; kind++) {
        const k = cells[kind]!;
        this.#from[kind] = k < 0 ? 0 : from[k * maxRows + i]!;
        this.#to[kind] = k < 0 ? 0 : to[k * maxRows + i]!;
      }
      this.#add(row + i, bytes);
    }
  }

  /** Begins a row whose cells are noted one by one. */
  begin(): void {
    this.#copiedEnd = 0;
    this.#from.fill(0);
    this.#to.fill(0);
  }

  /** Notes the cell `bytes[from..to)` with the index `k`. */
  note(k: number, bytes: Uint8Array, from: number, to: number): void {
    const kind = this.#header.cells.indexOf(k);
    if (kind < 0) return;
    const start = this.#copiedEnd;
    const end = start + to - from;
    if (end > this.#copied.length) {
      const larger = new Uint8Array(2 * end);
      larger.set(this.#copied);
      this.#copied = larger;
    }
    this.#copied.set(bytes.subarray(from, to), start);
    this.#from[kind] = start;
    this.#to[kind] = this.#copiedEnd = end;
  }

  /** Adds the variant of the row whose cells have been noted. */
  end(row: number): void {
    this.#add(row, this.#copied);
  }

  #add(row: number, bytes: Uint8Array): void {
    const from = this.#from;
    const to = this.#to;
    const build = this.#header.build ?? this.#buildOf(bytes);
    const [chromFrom, chromTo] = [from[Cell.Chromosome]!, to[Cell.Chromosome]!];
    const start = integerAt(bytes, from[Cell.Start]!, to[Cell.Start]!);
    if (build === null || !(start >= 1) || !isName(bytes, chromFrom, chromTo)) return;
    const [refFrom, refTo] = [from[Cell.Reference]!, to[Cell.Reference]!];
    const givenEnd = integerAt(bytes, from[Cell.End]!, to[Cell.End]!);
    const stop = givenEnd >= start ? givenEnd : start + Math.max(1, refTo - refFrom) - 1;
    if (this.#coordinates !== null) {
      this.#coordinates.build = build;
      this.#coordinates.add(row, bytes, chromFrom, chromTo, start, stop);
    }
    const allele = this.#differs(Cell.Allele2, bytes)
      ? Cell.Allele2
      : this.#differs(Cell.Allele1, bytes)
        ? Cell.Allele1
        : Cell.Allele2;
    if (!isBases(bytes, refFrom, refTo) || !isBases(bytes, from[allele]!, to[allele]!)) return;
    const { next } = this.#variants;
    next.build = build;
    next.bytes = bytes;
    next.from = chromFrom;
    next.to = chromTo;
    next.start = start;
    next.stop = stop;
    next.alleleFrom = from[allele]!;
    next.alleleTo = to[allele]!;
    next.isReverse = to[Cell.Strand]! > from[Cell.Strand]! && bytes[from[Cell.Strand]!] === 45;
    this.#variants.add(row);
  }

  /** Whether the cell holds an allele that is not the reference. */
  #differs(kind: Cell, bytes: Uint8Array): boolean {
    const [from, to] = [this.#from[kind]!, this.#to[kind]!];
    const [other, end] = [this.#from[Cell.Reference]!, this.#to[Cell.Reference]!];
    if (!isBases(bytes, from, to)) return false;
    if (to - from !== end - other) return true;
    for (let i = 0; i < to - from; i++)
      if ((bytes[from + i]! | 32) !== (bytes[other + i]! | 32)) return true;
    return false;
  }

  #buildOf(bytes: Uint8Array): GenomeBuild | null {
    const [from, to] = [this.#from[Cell.Build]!, this.#to[Cell.Build]!];
    const last = this.#lastBuild;
    let i = 0;
    while (i < last.length && bytes[from + i] === last[i]) i++;
    if (i === last.length && i === to - from) return this.#lastNamed;
    this.#lastBuild = bytes.slice(from, to);
    const text = decoder.decode(this.#lastBuild);
    let cachedBuild = this.#builds.get(text);
    if (cachedBuild === undefined) {
      // A row whose cell is empty or `.` has the build that the comments name.
      cachedBuild = /^\.?$/.test(text) ? this.#header.usualBuild : buildIn(text);
      if (this.#builds.size < 1000) this.#builds.set(text, cachedBuild);
    }
    return (this.#lastNamed = cachedBuild);
  }
}

/** Whether the text may name a chromosome: printable ASCII, and not `.`. */
function isName(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to || (to - from === 1 && bytes[from] === 46)) return false;
  for (let at = from; at < to; at++) if (bytes[at]! <= 32 || bytes[at]! >= 127) return false;
  return true;
}

const decoder = new TextDecoder();

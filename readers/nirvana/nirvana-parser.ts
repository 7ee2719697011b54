import type { BatchBuilder } from '../../engine/ingest/batch.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import type { Columns, GenomeBuild } from '../../engine/core/types.js';
import { CoordinatesBuilder, coordinatesColumn } from '../coordinates.js';
import { JsonlParser } from '../jsonl/jsonl-parser.js';
import { jsonBytes } from '../jsonl/scanner.js';
import { findLineEnd } from '../text/lines.js';
import type { Report } from '../reader.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/** Parses the lines of `"positions":[`, each an object and a comma, up to the closing bracket. */
export class NirvanaParser extends JsonlParser {
  readonly #out: BatchBuilder;
  readonly #build: GenomeBuild | null;
  #coordinates: CoordinatesBuilder | null = null;
  // Offsets of the values from which the coordinates of the current record are derived; -1 if a value is missing.
  #chromosomeAt = -1;
  #positionAt = -1;
  #svEndAt = -1;
  #refAlleleAt = -1;

  constructor(build: GenomeBuild | null, out: BatchBuilder, report: Report, columns: Columns) {
    super(out, report, columns);
    this.#out = out;
    this.#build = build;
  }

  protected override beginsRecord(): boolean {
    this.hasEnded = this.bytes[this.scanOffset] === jsonBytes.closeList;
    if (this.hasEnded) return false;
    this.#chromosomeAt = this.#positionAt = this.#svEndAt = this.#refAlleleAt = -1;
    if (this.#build !== null && this.#coordinates === null) {
      const column = this.fields.field(coordinatesColumn.name);
      if (column !== null) this.#coordinates = new CoordinatesBuilder(column, this.#build);
    }
    return true;
  }

  protected override beforeFieldValue(column: ValueColumn): void {
    switch (column.name) {
      case 'chromosome':
        this.#chromosomeAt = this.scanOffset;
        break;
      case 'position':
        this.#positionAt = this.scanOffset;
        break;
      case 'svEnd':
        this.#svEndAt = this.scanOffset;
        break;
      case 'refAllele':
        this.#refAlleleAt = this.scanOffset;
        break;
      default:
    }
  }

  protected override onRecordEnd(): void {
    this.#addCoordinates();
    let c = this.bytes[this.scanOffset];
    if (c === jsonBytes.comma) {
      this.scanOffset++;
      c = this.skipSpace();
    }
    if (c === jsonBytes.closeList) {
      this.hasEnded = true;
      this.scanOffset = findLineEnd(this.bytes, this.scanOffset);
    }
    super.onRecordEnd();
  }

  /** Adds the coordinates of the record that has just been read. */
  #addCoordinates(): void {
    const start = this.#integerAt(this.#positionAt);
    const hasChromosome = this.bytes[this.#chromosomeAt] === jsonBytes.quote;
    if (!hasChromosome || !(start >= 0)) {
      const message = 'a position of Nirvana has a "chromosome" and a whole number as "position"';
      return this.context.rejectUnlessLenient(
        codes.invalidValue,
        hasChromosome ? 'position' : 'chromosome',
        message,
      );
    }
    const row = this.#out.rows;
    const coordinates = this.#coordinates;
    if (coordinates === null || coordinates.column.length > row) return;
    // Choice: a Nirvana position ends at `svEnd` or, without it, with its reference allele, as a VCF record does.
    const svEnd = this.#integerAt(this.#svEndAt);
    const stop = svEnd >= start ? svEnd : start + Math.max(1, this.#countReferenceBases()) - 1;
    const recordEnd = this.scanOffset;
    this.scanOffset = this.#chromosomeAt;
    const { bytes, from, to } = this.scanString();
    coordinates.add(row, bytes, from, to, start, stop);
    this.scanOffset = recordEnd;
  }

  /** Returns the integer of up to 15 digits, without a sign, that begins at `from`; NaN if there is none. */
  #integerAt(from: number): number {
    if (from < 0) return NaN;
    let value = 0;
    let at = from;
    let c = this.bytes[at]!;
    for (; c >= 48 && c <= 57; c = this.bytes[++at]!) value = value * 10 + (c - 48);
    const isWhole = at > from && at - from <= 15 && c !== 46 && (c | 32) !== 101;
    return isWhole ? value : NaN;
  }

  #countReferenceBases(): number {
    if (this.bytes[this.#refAlleleAt] !== jsonBytes.quote) return 0;
    const from = this.#refAlleleAt + 1;
    return this.bytes.indexOf(jsonBytes.quote, from) - from;
  }
}

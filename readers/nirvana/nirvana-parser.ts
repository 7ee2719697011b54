import type { BatchBuilder } from '../../engine/ingest/batch.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import type { Columns, GenomeBuild } from '../../engine/core/types.js';
import { Coordinates, coordinatesColumn } from '../coordinates.js';
import { JsonlParser } from '../jsonl/jsonl-parser.js';
import { byte } from '../jsonl/scanner.js';
import { lineEnd } from '../text/lines.js';
import type { Report } from '../reader.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/** Parses the lines of `"positions":[`, each an object and a comma, up to the closing bracket. */
export class NirvanaParser extends JsonlParser {
  readonly #out: BatchBuilder;
  readonly #build: GenomeBuild | null;
  #coordinates: Coordinates | null = null;
  // Offsets of the values from which the coordinates of the current record are derived; -1 for a missing value.
  #chromosomeAt = -1;
  #positionAt = -1;
  #svEndAt = -1;
  #refAlleleAt = -1;

  constructor(build: GenomeBuild | null, out: BatchBuilder, report: Report, columns: Columns) {
    super(out, report, columns);
    this.#out = out;
    this.#build = build;
  }

  protected override isRecord(): boolean {
    this.hasEnded = this.bytes[this.at] === byte.closeList;
    if (this.hasEnded) return false;
    this.#chromosomeAt = this.#positionAt = this.#svEndAt = this.#refAlleleAt = -1;
    if (this.#build !== null && this.#coordinates === null) {
      const column = this.fields.field(coordinatesColumn.name);
      if (column !== null) this.#coordinates = new Coordinates(column, this.#build);
    }
    return true;
  }

  protected override onField(column: ValueColumn): void {
    switch (column.name) {
      case 'chromosome':
        this.#chromosomeAt = this.at;
        break;
      case 'position':
        this.#positionAt = this.at;
        break;
      case 'svEnd':
        this.#svEndAt = this.at;
        break;
      case 'refAllele':
        this.#refAlleleAt = this.at;
        break;
      default:
    }
  }

  protected override onRecordEnd(): void {
    this.#addCoordinates();
    let c = this.bytes[this.at];
    if (c === byte.comma) {
      this.at++;
      c = this.skipSpace();
    }
    if (c === byte.closeList) {
      this.hasEnded = true;
      this.at = lineEnd(this.bytes, this.at);
    }
    super.onRecordEnd();
  }

  /** Adds the coordinates of the record just read. */
  #addCoordinates(): void {
    const start = this.#integerAt(this.#positionAt);
    const isNamed = this.bytes[this.#chromosomeAt] === byte.quote;
    if (!isNamed || !(start >= 0)) {
      const message = 'a position of Nirvana has a "chromosome" and a whole number as "position"';
      return this.context.fault(codes.invalidValue, isNamed ? 'position' : 'chromosome', message);
    }
    const row = this.#out.rows;
    const coordinates = this.#coordinates;
    if (coordinates === null || coordinates.column.length > row) return;
    // Choice: a Nirvana position ends at `svEnd`, or else with its reference allele, as a VCF record does.
    const svEnd = this.#integerAt(this.#svEndAt);
    const stop = svEnd >= start ? svEnd : start + Math.max(1, this.#referenceBases()) - 1;
    const end = this.at;
    this.at = this.#chromosomeAt;
    const { bytes, from, to } = this.string();
    coordinates.add(row, bytes, from, to, start, stop);
    this.at = end;
  }

  /** The integer that begins at `from`; NaN when there is none. */
  #integerAt(from: number): number {
    if (from < 0) return NaN;
    let value = 0;
    let at = from;
    let c = this.bytes[at]!;
    for (; c >= 48 && c <= 57; c = this.bytes[++at]!) value = value * 10 + (c - 48);
    const isWhole = at > from && at - from <= 15 && c !== 46 && (c | 32) !== 101;
    return isWhole ? value : NaN;
  }

  #referenceBases(): number {
    if (this.bytes[this.#refAlleleAt] !== byte.quote) return 0;
    const from = this.#refAlleleAt + 1;
    return this.bytes.indexOf(byte.quote, from) - from;
  }
}

import { LongBuilder } from '../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../engine/ingest/utf8-builder.js';
import { ObjectColumn } from '../engine/ingest/object-column.js';
import type { ObjectFields, ValueColumn } from '../engine/ingest/value-column.js';
import { genomeBuilds, type Column, type GenomeBuild } from '../engine/core/types.js';
import type { ScanBuffer } from './text/scan-buffer.js';

/** The column of a record's position in the genome, which coordinate queries use (contract 10.6). */
export const coordinatesColumn: Column = {
  name: 'genomic_coordinates',
  physical: 'genomic_coordinates',
  type: 'object',
  isList: false,
  children: [
    { name: 'build', physical: 'build', type: 'string', isList: false },
    { name: 'chromosome', physical: 'chromosome', type: 'string', isList: false },
    { name: 'start', physical: 'start', type: 'long', isList: false },
    { name: 'stop', physical: 'stop', type: 'long', isList: false },
  ],
};

/**
 * Returns whether a chromosome name has the prefix `chr`, in any letter case, and more after it. `genomic_coordinates` and `variant` have
 * the name without the prefix.
 */
export function hasChrPrefix(bytes: Uint8Array, from: number, to: number): boolean {
  return (
    to - from > 3 &&
    (bytes[from]! | 32) === 99 &&
    (bytes[from + 1]! | 32) === 104 &&
    (bytes[from + 2]! | 32) === 114
  );
}

/** Fills `genomic_coordinates` for readers that create columns while they read. */
export class CoordinatesBuilder {
  readonly column: ValueColumn;
  #buildName: Uint8Array;
  #fields: ObjectFields | null = null;
  #runBuilders: CoordinateRunBuilders | null = null;
  #members: readonly (ValueColumn | null)[] = [];

  constructor(column: ValueColumn, build: GenomeBuild) {
    this.column = column;
    this.#buildName = encodedBuildNames[build];
  }

  /** Sets the build of the rows that are added next. */
  set build(build: GenomeBuild) {
    this.#buildName = encodedBuildNames[build];
  }

  /** Whether `addRun` may be called: false if the dataset has a field `genomic_coordinates` with other types. */
  get acceptsRuns(): boolean {
    return this.#findRunBuilders() !== null;
  }

  /**
   * Adds the coordinates of `count` rows from `row` on. Their chromosome names are the ranges `rangeStarts` to `rangeEnds` of the window;
   * `rangeStarts` is moved past `chr`.
   */
  addRun(
    row: number,
    count: number,
    window: ScanBuffer,
    starts: Float64Array,
    stops: Float64Array,
  ): void {
    const [buildBuilder, chromosomeBuilder, startBuilder, stopBuilder] = (this.#runBuilders ??=
      this.#findRunBuilders()!);
    for (const builder of [buildBuilder, chromosomeBuilder, startBuilder, stopBuilder])
      builder.padTo(row);
    this.column.padTo(row);
    for (let i = 0; i < count; i++) {
      this.column.beginObject();
      this.column.endObject();
      buildBuilder.appendBytes(this.#buildName, 0, this.#buildName.length);
      if (hasChrPrefix(window.bytes, window.rangeStarts[i]!, window.rangeEnds[i]!))
        window.rangeStarts[i]! += 3;
    }
    startBuilder.appendNumbers(starts.subarray(0, count));
    stopBuilder.appendNumbers(stops.subarray(0, count));
    const gatheredByteCount = window.gather(0, count);
    chromosomeBuilder.appendRun(
      window.gatheredBytes,
      gatheredByteCount,
      window.gatheredEnds,
      count,
    );
    for (const member of this.#members) member?.padTo(row + count);
  }

  /** Looks up the members, and returns the builders to which runs are appended; null if the dataset has other types. */
  #findRunBuilders(): CoordinateRunBuilders | null {
    if (!(this.column instanceof ObjectColumn)) return null;
    const { fields } = this.column;
    this.#fields = fields;
    this.#members = coordinatesColumn.children!.map(({ name }) => fields.field(name));
    const [buildBuilder, chromosomeBuilder, startBuilder, stopBuilder] = this.#members.map(
      (member) => member?.builder,
    );
    const isPlain =
      buildBuilder instanceof Utf8Builder &&
      chromosomeBuilder instanceof Utf8Builder &&
      startBuilder instanceof LongBuilder &&
      stopBuilder instanceof LongBuilder;
    return isPlain ? [buildBuilder, chromosomeBuilder, startBuilder, stopBuilder] : null;
  }

  /** Adds the coordinates of a row: 1-based inclusive start and stop, and the chromosome name `bytes[from..to)` with or without `chr`. */
  add(row: number, bytes: Uint8Array, from: number, to: number, start: number, stop: number): void {
    this.column.padTo(row);
    const fields = this.column.beginObject();
    // The dataset has another type for `genomic_coordinates`, which the column reports unless validation is off.
    if (fields === null) return;
    if (fields !== this.#fields) {
      this.#fields = fields;
      const { children } = coordinatesColumn;
      this.#members = children!.map(({ name }) => fields.field(name));
    }
    const [buildColumn, chromosomeColumn, startColumn, stopColumn] = this.#members;
    const { row: memberRow } = fields;
    buildColumn?.padTo(memberRow);
    buildColumn?.addString(this.#buildName, 0, this.#buildName.length);
    chromosomeColumn?.padTo(memberRow);
    chromosomeColumn?.addString(bytes, hasChrPrefix(bytes, from, to) ? from + 3 : from, to);
    startColumn?.padTo(memberRow);
    startColumn?.addInteger(start);
    stopColumn?.padTo(memberRow);
    stopColumn?.addInteger(stop);
    this.column.endObject();
  }
}

type CoordinateRunBuilders = readonly [Utf8Builder, Utf8Builder, LongBuilder, LongBuilder];

const encodedBuildNames = Object.fromEntries(
  genomeBuilds.map((build) => [build, new TextEncoder().encode(build)]),
) as Readonly<Record<GenomeBuild, Uint8Array>>;

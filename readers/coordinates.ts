import type { ObjectFields } from '../engine/ingest/object-column.js';
import type { ValueColumn } from '../engine/ingest/value-column.js';
import type { Column, GenomeBuild } from '../engine/types.js';

/** Where a record lies on the genome: the column that coordinate queries look into (contract 10.6). */
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

/** Whether the name begins with `chr`, which the platform leaves out. */
export function hasChrPrefix(bytes: Uint8Array, from: number, to: number): boolean {
  return (
    to - from > 3 &&
    (bytes[from]! | 32) === 99 &&
    (bytes[from + 1]! | 32) === 104 &&
    (bytes[from + 2]! | 32) === 114
  );
}

/** Fills `genomic_coordinates` for readers that find their columns as they go. */
export class Coordinates {
  readonly column: ValueColumn;
  readonly #build: Uint8Array;
  #fields: ObjectFields | null = null;
  #members: readonly (ValueColumn | null)[] = [];

  constructor(column: ValueColumn, build: GenomeBuild) {
    this.column = column;
    this.#build = encoder.encode(build);
  }

  /** The coordinates of a row: both ends count from 1 and belong to it; the chromosome comes with or without `chr`. */
  add(row: number, bytes: Uint8Array, from: number, to: number, start: number, stop: number): void {
    this.column.padTo(row);
    const fields = this.column.beginObject();
    if (fields === null) return; // the dataset has something else under this name, and has said so
    if (fields !== this.#fields) {
      this.#fields = fields;
      const { children } = coordinatesColumn;
      this.#members = children!.map(({ name }) => fields.field(name));
    }
    const [build, chromosome, first, last] = this.#members;
    const { row: at } = fields;
    build?.padTo(at);
    build?.addText(this.#build, 0, this.#build.length);
    chromosome?.padTo(at);
    chromosome?.addText(bytes, hasChrPrefix(bytes, from, to) ? from + 3 : from, to);
    first?.padTo(at);
    first?.addInteger(start);
    last?.padTo(at);
    last?.addInteger(stop);
    this.column.endObject();
  }
}

const encoder = new TextEncoder();

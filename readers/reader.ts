import type { BatchBuilder } from '../engine/ingest/batch.js';
import type { NewField } from '../engine/catalog/rows.js';
import type { Columns, GenomeBuild } from '../engine/types.js';

/** What a reader learns from the start of a source, once; plain data, sent to every thread. */
export interface Head<H> {
  readonly header: H;
  /** Decoded bytes and lines before the first record. */
  readonly bodyOffset: number;
  readonly bodyLine: number;
  /** Columns known before any record is read (VCF declares them); empty when they are found from the values. */
  readonly columns: Columns;
  /** What the format says about its fields beyond their types: titles, descriptions, entity types, order. */
  readonly fields: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  readonly warnings: readonly string[];
}

/** Decoded bytes from the start of a source, as many as asked for or as there are. */
export interface HeadSource {
  /** The file's name to people, for messages. */
  readonly name: string;
  bytes(atLeast: number): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }>;
}

/**
 * Bytes to columns. Adding a format is one file and one line in `index.ts`.
 * `read` is called once per chunk, in any thread; a chunk holds whole lines, and nothing may be kept between chunks.
 */
export interface Reader<P = unknown, H = unknown> {
  readonly name: string;
  readonly extensions: readonly string[];
  /** The only place where raw `reader_params` are looked at; throws `invalid('reader_params', …)`. */
  readonly params: (input: Readonly<Record<string, unknown>>) => P;
  readonly header: (head: HeadSource, params: P) => Promise<Head<H>>;
  readonly read: (chunk: Uint8Array, header: H, params: P, out: BatchBuilder) => void;
}

import type { ProjectedColumn } from './projection.js';

/** The layout of delimited text. */
export interface DelimitedLayout {
  readonly delimiter: ',' | '\t';
  readonly lineEnd: '\r\n' | '\n';
  /** True if a `'` precedes cells that a spreadsheet would run as formulas (threat D3). */
  readonly isFormulaSafe: boolean;
}

/** How the records of a page are encoded in the response. */
export type PageFormat =
  /** The JSON text of each record, as strings. */
  | { readonly kind: 'texts' }
  /** JSON as UTF-8, with `end` after each record. */
  | { readonly kind: 'json'; readonly end: ',' | '\n' }
  /** Lines of delimited text as UTF-8, without a header line. */
  | { readonly kind: 'delimited'; readonly layout: DelimitedLayout }
  /** A record batch as a message of an Arrow IPC stream. */
  | { readonly kind: 'arrow' };

/** The fields and the format of a page's records. */
export interface PageLayout<F extends PageFormat = PageFormat> {
  readonly projection: readonly ProjectedColumn[];
  readonly format: F;
}

/** The records of a page, or of a part of it, as bytes. */
export interface RecordBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The offset at which each record ends; empty for an Arrow message. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

/** Records in a format. They can be sent to another thread. */
export type PageRecords<F extends PageFormat = PageFormat> = F extends { readonly kind: 'texts' }
  ? readonly string[]
  : RecordBytes;

import type { Projected } from './projection.js';

/** The layout of delimited text. */
export interface DelimitedLayout {
  readonly delimiter: ',' | '\t';
  readonly lineEnd: '\r\n' | '\n';
  /** Cells that a spreadsheet would run as formulas get a `'` in front (threats D3). */
  readonly isFormulaSafe: boolean;
}

/** The format of the records of a page. */
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
  readonly projection: readonly Projected[];
  readonly format: F;
}

/** Encoded records. */
export interface RecordBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The end of each record; empty for an Arrow message. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

/** Records in a format. They can be sent to another thread. */
export type PageRecords<F extends PageFormat = PageFormat> = F extends { readonly kind: 'texts' }
  ? readonly string[]
  : RecordBytes;

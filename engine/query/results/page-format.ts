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
  /** The JSON text of each record. */
  | { readonly kind: 'texts' }
  /** JSON as UTF-8, with `end` after each record. */
  | { readonly kind: 'json'; readonly end: ',' | '\n' }
  /** Lines of delimited text as UTF-8, without a header line. */
  | { readonly kind: 'delimited'; readonly layout: DelimitedLayout }
  /** A record batch as a message of an Arrow IPC stream. */
  | { readonly kind: 'arrow' };

/** What the records of a page consist of, and their format. */
export interface PageLayout<F extends PageFormat = PageFormat> {
  readonly projection: readonly Projected[];
  readonly format: F;
}

/** The bytes of records. */
export interface RecordBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where each record ends; empty for an Arrow message. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

/** Records in a format. They can be sent to another thread. */
export type PageRecords<F extends PageFormat = PageFormat> = F extends { readonly kind: 'texts' }
  ? readonly string[]
  : RecordBytes;

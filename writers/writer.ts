/** One column of a file with columns. */
export interface WriterColumn {
  readonly name: string;
  readonly title: string;
}

/** What a request may ask of a writer. */
export interface WriterOptions {
  /** Cells that a spreadsheet would run as formulas get a quote in front (`csv_safe`). */
  readonly isFormulaSafe: boolean;
}

/** What a writer may use of its surroundings. */
export interface WriteContext {
  /** Packs one block into a gzip member of its own; several may run at once. */
  readonly gzip: (block: Uint8Array) => Promise<Uint8Array>;
  /** How many blocks may be packed at the same time. */
  readonly parallel: number;
  readonly options: WriterOptions;
}

/** Records to bytes. Adding a format is one file and one line in `index.ts`. */
export interface Writer {
  /** As requests name it, in lower case. */
  readonly format: string;
  /** Of the file, without the first dot: `json.gz`. */
  readonly extension: string;
  readonly mediaType: string;
  /** Whether a list column becomes one column per place in the list. */
  readonly expandsLists: boolean;
  /** What the engine makes of each record: one JSON text, or one text per column. */
  readonly shape: 'json' | 'csv';
  /**
   * The SQL expression of a record's text, given those of its cells. So the engine's threads do the work per cell, and
   * only one text per record comes over (20 columns: a fifth of the time of cells in JavaScript).
   */
  line(cells: readonly string[], options: WriterOptions): string;
  /** The file's bytes, in order; at most a few blocks are held at a time. `records` come in batches of their texts. */
  write(
    records: AsyncIterable<readonly string[]>,
    columns: readonly WriterColumn[],
    context: WriteContext,
  ): AsyncIterable<Uint8Array>;
}

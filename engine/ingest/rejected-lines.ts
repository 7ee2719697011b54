import type { RecordTexts } from './record-texts.js';

/** Receives the errors of a chunk one by one, while the findings keep only the first error of each code and field, and count the others. */
export interface RejectionSink {
  add(line: number, code: number, field: string | null, message: string): void;
  /** Discards all errors, because the reader starts the chunk again. */
  clear(): void;
}

/** An error of a rejected record. */
interface Rejection {
  readonly code: number;
  readonly field: string | null;
  readonly message: string;
}

/** The rejected records of one chunk: `records` JSON lines, in blocks of whole lines. */
interface RejectedBytes {
  readonly blocks: readonly Uint8Array[];
  readonly records: number;
}

/** Maximum number of errors of a record that are written after the first error; `errors` counts all of them. */
const maxFurtherErrors = 20;
const blockBytes = 1 << 20;

/** The errors of one record: the first ones, up to a maximum, and the number of all. */
export class RecordErrors {
  readonly firstErrors: Rejection[] = [];
  errorCount = 0;

  add(code: number, field: string | null, message: string): void {
    this.errorCount++;
    if (this.firstErrors.length <= maxFurtherErrors)
      this.firstErrors.push({ code, field, message });
  }
}

/**
 * Writes the rejected records of one chunk as JSON lines, each with its first errors and at most `maxTextBytes` of its text. Together,
 * the lines have at most `maxBytes`: the first record that does not fit, and all after it, are left out. Each line begins with
 * `{"line":<number in the chunk>`, which `shiftedLine` replaces when the chunks are joined. `add` is called with the errors of one record
 * one after the other.
 */
export class RejectedLines implements RejectionSink {
  readonly #texts: RecordTexts;
  readonly #maxBytes: number;
  readonly #maxTextBytes: number;
  #blocks: Uint8Array[] = [];
  /** JSON lines that are not yet part of a block. */
  #rows: Uint8Array[] = [];
  #rowBytes = 0;
  #bytes = 0;
  #recordCount = 0;
  #isFull = false;
  #line = -1;
  #errors = new RecordErrors();

  constructor(
    texts: RecordTexts,
    limits: { readonly maxBytes: number; readonly maxTextBytes: number },
  ) {
    this.#texts = texts;
    this.#maxBytes = limits.maxBytes;
    this.#maxTextBytes = limits.maxTextBytes;
  }

  /** Whether a record did not fit, so that all further ones are left out. */
  get isFull(): boolean {
    return this.#isFull;
  }

  add(line: number, code: number, field: string | null, message: string): void {
    if (line !== this.#line) {
      this.#flush();
      this.#line = line;
    }
    this.#errors.add(code, field, message);
  }

  /** Adds a record with all of its errors. */
  addRecord(
    line: number,
    { firstErrors: [first, ...more], errorCount: errors }: RecordErrors,
  ): void {
    if (first === undefined || this.#isFull) return;
    const { text, bytes } = this.#texts.textOf(line, this.#maxTextBytes);
    const row = { line, ...first, errors, more, text, text_bytes: bytes };
    const rowBytes = Buffer.from(`${JSON.stringify(row)}\n`);
    this.#isFull = this.#bytes + rowBytes.length > this.#maxBytes;
    if (this.#isFull) return;
    this.#rows.push(rowBytes);
    this.#rowBytes += rowBytes.length;
    this.#bytes += rowBytes.length;
    this.#recordCount++;
    if (this.#rowBytes >= blockBytes) this.#endBlock();
  }

  clear(): void {
    this.#blocks = [];
    this.#rows = [];
    this.#rowBytes = 0;
    this.#bytes = 0;
    this.#recordCount = 0;
    this.#isFull = false;
    this.#line = -1;
    this.#errors = new RecordErrors();
  }

  result(): RejectedBytes {
    this.#flush();
    this.#line = -1;
    this.#endBlock();
    return { blocks: this.#blocks, records: this.#recordCount };
  }

  #flush(): void {
    const errors = this.#errors;
    this.#errors = new RecordErrors();
    this.addRecord(this.#line, errors);
  }

  #endBlock(): void {
    if (this.#rows.length > 0) this.#blocks.push(Buffer.concat(this.#rows, this.#rowBytes));
    this.#rows = [];
    this.#rowBytes = 0;
  }
}

/** The errors of some records of a chunk, by the line number of the record. */
export class ErrorsByLine implements RejectionSink {
  readonly #errorsByLine = new Map<number, RecordErrors>();

  add(line: number, code: number, field: string | null, message: string): void {
    this.errorsOfLine(line).add(code, field, message);
  }

  clear(): void {
    this.#errorsByLine.clear();
  }

  errorsOfLine(line: number): RecordErrors {
    const errors = this.#errorsByLine.get(line) ?? new RecordErrors();
    this.#errorsByLine.set(line, errors);
    return errors;
  }

  /**
   * Adds all records to the rejected records of the chunk, in the order of their lines, and among them `others`, which have that order and
   * are taken one by one.
   */
  addTo(rejected: RejectedLines, others: Iterable<RejectedRecord>): void {
    const ownRecords = [...this.#errorsByLine].toSorted(([a], [b]) => a - b);
    let next = 0;
    for (const [line, errors] of others) {
      if (rejected.isFull) return;
      for (; next < ownRecords.length && ownRecords[next]![0] <= line; next++)
        rejected.addRecord(...ownRecords[next]!);
      rejected.addRecord(line, errors);
    }
    for (const record of ownRecords.slice(next)) rejected.addRecord(...record);
  }
}

/** The line of a record, and its errors. */
export type RejectedRecord = readonly [line: number, errors: RecordErrors];

const linePrefix = Buffer.from('{"line":');

/** Replaces the line number at the beginning of a JSON line of `RejectedLines` by the name of the file and the line number in the file. */
export function shiftedLine(row: Uint8Array, file: string, linesBefore: number): Uint8Array {
  const comma = row.indexOf(44, linePrefix.length);
  const line = Number(Buffer.from(row.subarray(linePrefix.length, comma)).toString()) + linesBefore;
  const head = Buffer.from(`{"file":${JSON.stringify(file)},"line":${line}`);
  return Buffer.concat([head, row.subarray(comma)]);
}

/** Receives the errors of a chunk one by one, in addition to the findings, which count them. */
export interface RejectionSink {
  add(line: number, code: number, field: string | null, message: string): void;
  /** Discards all errors: the reader starts the chunk again. */
  clear(): void;
}

/** One error of a rejected record. */
interface Rejection {
  readonly code: number;
  readonly field: string | null;
  readonly message: string;
}

/** The rejected records of one chunk: `records` lines of JSON, in blocks of whole lines. */
export interface RejectedBytes {
  readonly blocks: readonly Uint8Array[];
  readonly records: number;
}

/** Errors of a record that are written after the first; `errors` counts all. */
const maxFurtherErrors = 20;
const blockBytes = 1 << 20;

/**
 * Writes the rejected records of one chunk as lines of JSON, each with its errors and its text, up to `maxBytes` in all; the first record
 * that does not fit and all after it are left out. Each line begins with `{"line":<number in the chunk>`, which `shiftedLine` replaces
 * when the chunks are joined. The errors of one record must be added one after the other.
 */
export class RejectedLines implements RejectionSink {
  readonly #text: Uint8Array;
  readonly #maxBytes: number;
  readonly #maxTextBytes: number;
  readonly #endsAtReturn: boolean;
  #blocks: Uint8Array[] = [];
  /** Lines of JSON that are not part of a block yet. */
  #rows: Uint8Array[] = [];
  #rowBytes = 0;
  #bytes = 0;
  #records = 0;
  #isFull = false;
  #line = -1;
  #errors: Rejection[] = [];
  #count = 0;
  /** A line of the text whose start is known. */
  #known = { line: 1, at: 0 };

  constructor(
    text: Uint8Array,
    limits: { readonly maxBytes: number; readonly maxTextBytes: number },
    endsAtReturn: boolean,
  ) {
    this.#text = text;
    this.#maxBytes = limits.maxBytes;
    this.#maxTextBytes = limits.maxTextBytes;
    this.#endsAtReturn = endsAtReturn;
  }

  add(line: number, code: number, field: string | null, message: string): void {
    if (line !== this.#line) {
      this.#flush();
      this.#line = line;
    }
    this.#count++;
    if (this.#errors.length <= maxFurtherErrors) this.#errors.push({ code, field, message });
  }

  clear(): void {
    this.#blocks = [];
    this.#rows = [];
    this.#rowBytes = 0;
    this.#bytes = 0;
    this.#records = 0;
    this.#isFull = false;
    this.#line = -1;
    this.#errors = [];
    this.#count = 0;
  }

  result(): RejectedBytes {
    this.#flush();
    this.#line = -1;
    this.#endBlock();
    return { blocks: this.#blocks, records: this.#records };
  }

  #flush(): void {
    const [first, ...more] = this.#errors;
    const errors = this.#count;
    this.#errors = [];
    this.#count = 0;
    if (first === undefined || this.#isFull) return;
    const { text, bytes } = this.#textOf(this.#line);
    const row = { line: this.#line, ...first, errors, more, text, text_bytes: bytes };
    const written = Buffer.from(`${JSON.stringify(row)}\n`);
    this.#isFull = this.#bytes + written.length > this.#maxBytes;
    if (this.#isFull) return;
    this.#rows.push(written);
    this.#rowBytes += written.length;
    this.#bytes += written.length;
    this.#records++;
    if (this.#rowBytes >= blockBytes) this.#endBlock();
  }

  #endBlock(): void {
    if (this.#rows.length > 0) this.#blocks.push(Buffer.concat(this.#rows, this.#rowBytes));
    this.#rows = [];
    this.#rowBytes = 0;
  }

  /** The text of a line, up to `maxTextBytes`, and the size of the whole line in bytes. */
  #textOf(line: number): { readonly text: string; readonly bytes: number } {
    const from = this.#startOf(line);
    const end = this.#endOf(from);
    let to = Math.min(end, from + this.#maxTextBytes);
    // Do not cut within a character, whose continuation bytes are 10xxxxxx.
    while (to < end && to > from && (this.#text[to]! & 0xc0) === 0x80) to--;
    const text = new TextDecoder('utf-8', { ignoreBOM: true });
    return { text: text.decode(this.#text.subarray(from, to)), bytes: end - from };
  }

  #startOf(line: number): number {
    if (line < this.#known.line) this.#known = { line: 1, at: 0 };
    let { line: here, at } = this.#known;
    for (; here < line && at < this.#text.length; here++) at = this.#next(at);
    this.#known = { line: here, at };
    return at;
  }

  /** The start of the line after the one that starts at `at`. */
  #next(at: number): number {
    const end = this.#text.indexOf(10, at);
    const next = end < 0 ? this.#text.length : end + 1;
    if (!this.#endsAtReturn) return next;
    const carriageReturn = this.#text.subarray(at, next).indexOf(13);
    if (carriageReturn < 0) return next;
    const after = at + carriageReturn + 1;
    return this.#text[after] === 10 ? after + 1 : after;
  }

  /** The end of the line that starts at `from`, without its line end. */
  #endOf(from: number): number {
    let end = this.#next(from);
    if (end > from && this.#text[end - 1] === 10) end--;
    if (end > from && this.#text[end - 1] === 13) end--;
    return end;
  }
}

const opening = Buffer.from('{"line":');

/** Replaces the line number of a line of `RejectedLines` by the file's name and the line number in the file. */
export function shiftedLine(row: Uint8Array, file: string, linesBefore: number): Uint8Array {
  const comma = row.indexOf(44, opening.length);
  const line = Number(Buffer.from(row.subarray(opening.length, comma)).toString()) + linesBefore;
  const head = Buffer.from(`{"file":${JSON.stringify(file)},"line":${line}`);
  return Buffer.concat([head, row.subarray(comma)]);
}

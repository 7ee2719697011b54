/** Where a chunk's rejections are kept line by line, besides the findings, which count them. */
export interface RejectionSink {
  add(line: number, code: number, field: string | null, message: string): void;
  /** Forgets all: the reader begins the chunk again. */
  clear(): void;
}

/** One error of a rejected record. */
interface Rejection {
  readonly code: number;
  readonly field: string | null;
  readonly message: string;
}

/** The rejected records of one chunk as lines of JSON, in blocks. */
export interface RejectedBytes {
  readonly blocks: readonly Uint8Array[];
  readonly records: number;
}

/** Further errors of the same record that are written out; `errors` counts all. */
const shownErrors = 20;
const blockBytes = 1 << 20;

/**
 * The rejected records of one chunk, each with its reasons and its text, as lines of JSON up to `maxBytes`; the first that
 * does not fit and all after it are left out. Begins every line with `{"line":<number in the chunk>`: whoever joins the
 * chunks puts the file's number there (`shiftedLine`). Errors of one record have to come one after another.
 */
export class RejectedLines implements RejectionSink {
  readonly #text: Uint8Array;
  readonly #maxBytes: number;
  readonly #maxTextBytes: number;
  readonly #endsAtReturn: boolean;
  #blocks: Uint8Array[] = [];
  /** Rows that are not in a block yet. */
  #rows: Uint8Array[] = [];
  #rowBytes = 0;
  #bytes = 0;
  #records = 0;
  #isFull = false;
  #line = -1;
  #errors: Rejection[] = [];
  #count = 0;
  /** A place in the text that is known: where this line begins. */
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
    if (this.#errors.length <= shownErrors) this.#errors.push({ code, field, message });
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

  /** A line's text as far as the budget goes, and how many bytes the whole line has. */
  #textOf(line: number): { readonly text: string; readonly bytes: number } {
    const from = this.#startOf(line);
    const end = this.#endOf(from);
    let to = Math.min(end, from + this.#maxTextBytes);
    // Not in the middle of a character: its further bytes are 10xxxxxx.
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

  /** Where the line behind the one that begins at `at` begins. */
  #next(at: number): number {
    const end = this.#text.indexOf(10, at);
    const behind = end < 0 ? this.#text.length : end + 1;
    if (!this.#endsAtReturn) return behind;
    const back = this.#text.subarray(at, behind).indexOf(13);
    if (back < 0) return behind;
    return this.#text[at + back + 1] === 10 ? at + back + 2 : at + back + 1;
  }

  /** Where the text of the line that begins at `from` ends: before its line end. */
  #endOf(from: number): number {
    let end = this.#next(from);
    if (end > from && this.#text[end - 1] === 10) end--;
    if (end > from && this.#text[end - 1] === 13) end--;
    return end;
  }
}

const opening = Buffer.from('{"line":');

/** A line of `RejectedLines` with its file's name and its line in the file. */
export function shiftedLine(row: Uint8Array, file: string, linesBefore: number): Uint8Array {
  const comma = row.indexOf(44, opening.length);
  const line = Number(Buffer.from(row.subarray(opening.length, comma)).toString()) + linesBefore;
  const head = Buffer.from(`{"file":${JSON.stringify(file)},"line":${line}`);
  return Buffer.concat([head, row.subarray(comma)]);
}

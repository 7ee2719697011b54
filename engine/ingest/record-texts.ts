/** The texts of the records of a chunk, by their lines. */
export interface RecordTexts {
  /** The text of the record on a line, up to `maxBytes`, and the size of the whole text in bytes. */
  textOf(line: number, maxBytes: number): TextStart;
}

/** The beginning of a text, and the size of the whole text in bytes. */
export interface TextStart {
  readonly text: string;
  readonly bytes: number;
}

/** The texts of the records of a file, each of which begins on a line. */
export class RecordLines implements RecordTexts {
  readonly #text: Uint8Array;
  readonly #endsAtReturn: boolean;
  /** A line of the text whose start is known. */
  #known = { line: 1, at: 0 };

  /** `endsAtReturn`: a carriage return ends a line, too. */
  constructor(text: Uint8Array, endsAtReturn: boolean) {
    this.#text = text;
    this.#endsAtReturn = endsAtReturn;
  }

  textOf(line: number, maxBytes: number): TextStart {
    const from = this.#startOf(line);
    return textStart(this.#text.subarray(from, this.#endOf(from)), maxBytes);
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

/** The first `maxBytes` of a text in UTF-8, or a few less if they end within a character. */
export function textStart(text: Uint8Array, maxBytes: number): TextStart {
  let to = Math.min(text.length, maxBytes);
  // Do not cut within a character, whose continuation bytes are 10xxxxxx.
  while (to < text.length && to > 0 && (text[to]! & 0xc0) === 0x80) to--;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return { text: decoder.decode(text.subarray(0, to)), bytes: text.length };
}

/** The texts of the records of a chunk, by their lines. */
export interface RecordTexts {
  /** Returns the text of the record that begins on a line, up to `maxBytes`, and the size of the whole text in bytes. */
  textOf(line: number, maxBytes: number): TruncatedText;
}

/** The beginning of a text, and the size of the whole text in bytes. */
export interface TruncatedText {
  readonly text: string;
  readonly bytes: number;
}

/** The texts of the records of a chunk: for each, the line on which it begins. Further lines of a record are left out. */
export class RecordLines implements RecordTexts {
  readonly #text: Uint8Array;
  readonly #endsAtReturn: boolean;
  /** The line whose start was found last; the search for a later line continues there. */
  #knownStart = { line: 1, at: 0 };

  /** `endsAtReturn` says whether a carriage return ends a line, too. */
  constructor(text: Uint8Array, endsAtReturn: boolean) {
    this.#text = text;
    this.#endsAtReturn = endsAtReturn;
  }

  textOf(line: number, maxBytes: number): TruncatedText {
    const from = this.#startOf(line);
    return truncateText(this.#text.subarray(from, this.#endOf(from)), maxBytes);
  }

  #startOf(line: number): number {
    if (line < this.#knownStart.line) this.#knownStart = { line: 1, at: 0 };
    let { line: here, at } = this.#knownStart;
    for (; here < line && at < this.#text.length; here++) at = this.#next(at);
    this.#knownStart = { line: here, at };
    return at;
  }

  /** Returns the start of the line after the one that starts at `at`. */
  #next(at: number): number {
    const text = this.#text;
    if (!this.#endsAtReturn) {
      const lineFeed = text.indexOf(10, at);
      return lineFeed < 0 ? text.length : lineFeed + 1;
    }
    let end = at;
    while (end < text.length && text[end] !== 10 && text[end] !== 13) end++;
    return text[end] === 13 && text[end + 1] === 10 ? end + 2 : Math.min(end + 1, text.length);
  }

  /** Returns the end of the line that starts at `from`, without the line break. */
  #endOf(from: number): number {
    let end = this.#next(from);
    if (end > from && this.#text[end - 1] === 10) end--;
    if (end > from && this.#text[end - 1] === 13) end--;
    return end;
  }
}

/** Returns the first `maxBytes` of a text in UTF-8; fewer if the limit is within a character. */
export function truncateText(text: Uint8Array, maxBytes: number): TruncatedText {
  let to = Math.min(text.length, maxBytes);
  // The continuation bytes of a character are 10xxxxxx; the text is not cut before one of them.
  while (to < text.length && to > 0 && (text[to]! & 0xc0) === 0x80) to--;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return { text: decoder.decode(text.subarray(0, to)), bytes: text.length };
}

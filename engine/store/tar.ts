import { damagedFileError } from '../core/file-steps.js';

/*
 * Entries of a tar file: ustar (POSIX.1-1988, section 10.1.1), with a pax record of the size (POSIX.1-2001, "pax Extended Header") for
 * files of 8 GiB and more, whose size ustar cannot store. Every tar program reads both formats.
 */

/** A regular file in a tar file. */
export interface TarEntry {
  readonly path: string;
  readonly bytes: number;
  /** The bytes of the entry. They must be read before the next entry; unread bytes are skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

const blockBytes = 512;
/** From this size on, a size needs more than the eleven octal digits of ustar. */
const minPaxSizeBytes = 8 ** 11;
/** Maximum size of a pax header. Strandlake's pax headers have one short record; those of other programs also contain times and owners. */
const maxPaxBytes = 1 << 20;

/**
 * Returns the header for a file, whose bytes must follow it; `modifiedAt` is in milliseconds since 1970. Paths have at most 100 ASCII
 * characters.
 */
export function tarHeader(path: string, bytes: number, modifiedAt: number): Uint8Array {
  if (bytes < minPaxSizeBytes) return tarHeaderBlock('0', path, bytes, modifiedAt);
  const record = paxRecord('size', String(bytes));
  return Buffer.concat([
    tarHeaderBlock('x', 'pax', record.byteLength, modifiedAt),
    record,
    tarPadding(record.byteLength),
    tarHeaderBlock('0', path, minPaxSizeBytes - 1, modifiedAt),
  ]);
}

/** Returns the zeros that follow a file, up to the next full block. */
export function tarPadding(bytes: number): Uint8Array {
  return new Uint8Array((blockBytes - (bytes % blockBytes)) % blockBytes);
}

/** The end of a tar file: two blocks of zeros. */
export const tarEndBlocks: Uint8Array = new Uint8Array(2 * blockBytes);

/**
 * Yields the entries of a tar file in order. Throws `damaged`, with `name` in the message, for entries other than regular files and pax
 * headers, for an invalid header, and for a file without an end.
 */
export async function* parseTarEntries(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<TarEntry> {
  const input = new TarInput(pieces, name);
  let paxSize: number | undefined;
  for (;;) {
    const block = await input.readExactly(blockBytes);
    if (block.every((byte) => byte === 0)) return input.drain();
    if (readOctal(block, 148, 8) !== headerChecksum(block))
      throw damagedFileError(name, 'has a damaged header');
    const type = readHeaderText(block, 156, 1);
    const bytes = (type === 'x' ? undefined : paxSize) ?? readOctal(block, 124, 12);
    if (Number.isNaN(bytes)) throw damagedFileError(name, 'has a file without a size');
    if (type === 'x') {
      if (bytes > maxPaxBytes) throw damagedFileError(name, 'has a pax header without end');
      paxSize = parsePaxSize(Buffer.from(await input.readExactly(bytes)).toString());
    } else if (type === '0' || type === '') {
      paxSize = undefined;
      input.beginEntry(bytes);
      yield { path: readHeaderText(block, 0, 100), bytes, content: input.readEntryContent() };
      await input.finishEntry();
    } else {
      throw damagedFileError(name, `has an entry of the type ${type}`);
    }
    await input.readExactly(tarPadding(bytes).byteLength);
  }
}

/** Reads the bytes of a tar file in the sizes that its headers specify. */
class TarInput {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #name: string;
  #unreadPiece: Uint8Array = new Uint8Array();
  /** Number of bytes of the current entry that have not been read. */
  #entryBytesLeft = 0;

  constructor(pieces: AsyncIterable<Uint8Array>, name: string) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#name = name;
  }

  /** Returns the next `length` bytes, which belong to a header or to the padding after a file. */
  async readExactly(length: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let bytesLeft = length; bytesLeft > 0; bytesLeft -= pieces.at(-1)!.byteLength)
      pieces.push(await this.#take(bytesLeft));
    return Buffer.concat(pieces);
  }

  beginEntry(bytes: number): void {
    this.#entryBytesLeft = bytes;
  }

  /** Yields the content of the current entry, in pieces. */
  async *readEntryContent(): AsyncGenerator<Uint8Array> {
    while (this.#entryBytesLeft > 0) {
      const piece = await this.#take(this.#entryBytesLeft);
      this.#entryBytesLeft -= piece.byteLength;
      yield piece;
    }
  }

  /** Skips the unread bytes of the current entry. */
  async finishEntry(): Promise<void> {
    while (this.#entryBytesLeft > 0)
      this.#entryBytesLeft -= (await this.#take(this.#entryBytesLeft)).byteLength;
  }

  /** Reads the tar file to its end, so that the stream that produces it completes. */
  async drain(): Promise<void> {
    while ((await this.#pieces.next()).done !== true);
  }

  async #take(most: number): Promise<Uint8Array> {
    while (this.#unreadPiece.byteLength === 0) {
      const next = await this.#pieces.next();
      if (next.done === true) throw damagedFileError(this.#name, 'ends early');
      this.#unreadPiece = next.value;
    }
    const piece = this.#unreadPiece.subarray(0, most);
    this.#unreadPiece = this.#unreadPiece.subarray(piece.byteLength);
    return piece;
  }
}

function tarHeaderBlock(
  type: '0' | 'x',
  path: string,
  bytes: number,
  modifiedAt: number,
): Uint8Array {
  if (!/^[\x21-\x7e]{1,100}$/.test(path)) throw new Error(`${path} is no path of an archive`);
  const block = Buffer.alloc(blockBytes);
  block.write(path, 0, 'latin1');
  block.write('0000600\0', 100, 'latin1'); // file mode
  block.write('0000000\0', 108, 'latin1'); // owner's id
  block.write('0000000\0', 116, 'latin1'); // group's id
  block.write(`${octalDigits(bytes, 11)}\0`, 124, 'latin1');
  block.write(`${octalDigits(Math.trunc(modifiedAt / 1_000), 11)}\0`, 136, 'latin1');
  block.write(type, 156, 'latin1');
  block.write('ustar\u000000', 257, 'latin1'); // magic and version
  block.write(`${octalDigits(headerChecksum(block), 6)}\0 `, 148, 'latin1');
  return block;
}

function octalDigits(value: number, count: number): string {
  return value.toString(8).padStart(count, '0');
}

/** Returns a pax record: `<length> <key>=<value>\n`, where the length includes its own digits. */
function paxRecord(key: string, value: string): Uint8Array {
  const restOfRecord = ` ${key}=${value}\n`;
  let length = restOfRecord.length;
  while (String(length).length + restOfRecord.length !== length)
    length = String(length).length + restOfRecord.length;
  return Buffer.from(`${length}${restOfRecord}`);
}

function parsePaxSize(records: string): number | undefined {
  const [, size] = /^\d+ size=(\d+)$/m.exec(records) ?? [];
  return size === undefined ? undefined : Number(size);
}

/** Returns the sum of the bytes of a header, with blanks in place of the checksum itself. */
function headerChecksum(block: Uint8Array): number {
  return block.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 32 : byte), 0);
}

function readOctal(block: Uint8Array, from: number, length: number): number {
  const text = readHeaderText(block, from, length).trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

function readHeaderText(block: Uint8Array, from: number, length: number): string {
  const [text = ''] = Buffer.from(block.subarray(from, from + length))
    .toString('latin1')
    .split('\0', 1);
  return text;
}

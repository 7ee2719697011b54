import { InputError } from '../../engine/core/errors.js';
import { BlockDecoder, Damage, NeedsMore } from './bzip2-block.js';

/** Compressed bytes that are there when a block is begun; most blocks are smaller. */
const windowBytes = 1 << 20;
/** A block of 900,000 symbols of 20 bits and its tables cannot be larger. */
const mostBlockBytes = 4 << 20;
/** A block may stand for 46 MB, so it is handed out in pieces. */
const pieceBytes = 1 << 20;

const blockMark = 0x314159265359;
const endMark = 0x177245385090;

/**
 * The decoded pieces of a bzip2 file of one or many streams, checksums checked; zero bytes may follow the last one.
 * Memory is bounded by one block, whatever the file holds: whoever takes the pieces decides how fast it goes on.
 */
export async function* bunzip2(
  input: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const source = new Window(input);
  const decoder = new BlockDecoder();
  const fault = (message: string) => new InputError({ file: name, byte: source.offset }, message);
  try {
    for (let streams = 0; ; streams++) {
      await source.fill(windowBytes);
      if (source.bytes.length === 0) break;
      if (!isHeader(source.bytes)) {
        if (streams === 0) throw new Damage('no stream begins here');
        if (await source.isZeroToItsEnd()) break;
        throw fault('something other than bzip2 data follows the last bzip2 stream');
      }
      decoder.begin(source.bytes[3]! - 48);
      source.drop(4);
      yield* streamOf(source, decoder);
    }
  } catch (error) {
    if (error instanceof NeedsMore)
      throw fault('the compressed file ends early: it was cut off, fetch it again');
    if (error instanceof Damage)
      throw fault(`the compressed data is damaged (bzip2: ${error.message})`);
    throw error;
  }
}

/** The blocks of one stream, up to its checksum. */
async function* streamOf(source: Window, decoder: BlockDecoder): AsyncGenerator<Uint8Array> {
  for (;;) {
    await source.fill(windowBytes);
    const mark = await source.retried((bytes) => decoder.mark(bytes));
    if (mark === endMark) {
      source.drop(await source.retried((bytes) => decoder.end(bytes)));
      return;
    }
    if (mark !== blockMark) throw new Damage('no block begins where one should');
    // What follows the block in its last byte stays in the decoder.
    source.drop(await source.retried((bytes) => decoder.block(bytes)));
    for (let piece; (piece = decoder.text(pieceBytes)) !== null;) yield piece;
  }
}

function isHeader(bytes: Uint8Array): boolean {
  const [b, z, h, level = 0] = bytes;
  return b === 0x42 && z === 0x5a && h === 0x68 && level >= 49 && level <= 57;
}

/** The bytes of a stream that have been read and not been used yet. */
class Window {
  bytes: Uint8Array = new Uint8Array(0);
  /** Where they begin in the file. */
  offset = 0;
  readonly #input: AsyncIterator<Uint8Array>;
  #hasEnded = false;

  constructor(input: AsyncIterable<Uint8Array>) {
    this.#input = input[Symbol.asyncIterator]();
  }

  /** Reads until there are so many bytes, or all. */
  async fill(least: number): Promise<void> {
    const pieces = [this.bytes];
    let size = this.bytes.length;
    while (size < least && !this.#hasEnded) {
      const { value, done } = await this.#input.next();
      if (done) this.#hasEnded = true;
      else {
        pieces.push(value);
        size += value.length;
      }
    }
    if (pieces.length > 1) this.bytes = Buffer.concat(pieces, size);
  }

  /** What `use` makes of the bytes; with more of them when they do not suffice. */
  async retried<T>(use: (bytes: Uint8Array) => T): Promise<T> {
    for (let size = windowBytes * 2; ; size *= 2) {
      try {
        return use(this.bytes);
      } catch (error) {
        if (!(error instanceof NeedsMore) || this.#hasEnded || size > mostBlockBytes) throw error;
        await this.fill(size);
      }
    }
  }

  drop(count: number): void {
    this.bytes = this.bytes.subarray(count);
    this.offset += count;
  }

  async isZeroToItsEnd(): Promise<boolean> {
    for (;;) {
      if (this.bytes.some((byte) => byte !== 0)) return false;
      this.drop(this.bytes.length);
      await this.fill(windowBytes);
      if (this.bytes.length === 0) return true;
    }
  }
}

import { InputError } from '../../engine/core/errors.js';
import { BlockDecoder, InvalidBzip2, NeedsMoreInput } from './bzip2-block.js';

/** Compressed bytes read before a block is decoded; most blocks are smaller. */
const windowBytes = 1 << 20;
/** Upper bound of the size of a block: 900,000 symbols of 20 bits, and the tables. */
const maxBlockBytes = 4 << 20;
/** Size of the pieces of text; the text of one block can have 46 MB. */
const pieceBytes = 1 << 20;

const blockMagic = 0x314159265359;
const streamEndMagic = 0x177245385090;

/**
 * Decompresses a bzip2 file of one or more streams, in pieces, and verifies its checksums; zero bytes may follow the last stream. Memory
 * is bounded by one block, whatever the file holds. Throws InputError with the byte offset for damage.
 */
export async function* bunzip2(
  input: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const window = new Window(input);
  const decoder = new BlockDecoder();
  const fault = (message: string) => new InputError({ file: name, byte: window.offset }, message);
  try {
    for (let streams = 0; ; streams++) {
      await window.fill(windowBytes);
      if (window.bytes.length === 0) break;
      if (!isHeader(window.bytes)) {
        if (streams === 0) throw new InvalidBzip2('no stream begins here');
        if (await window.isZeroToTheEnd()) break;
        throw fault('something other than bzip2 data follows the last bzip2 stream');
      }
      decoder.startStream(window.bytes[3]! - 48);
      window.drop(4);
      yield* readStream(window, decoder);
    }
  } catch (error) {
    if (error instanceof NeedsMoreInput)
      throw fault('the compressed file ends early: it was cut off, fetch it again');
    if (error instanceof InvalidBzip2)
      throw fault(`the compressed data is damaged (bzip2: ${error.message})`);
    throw error;
  }
}

/** Decodes the blocks of one stream up to and including its end. */
async function* readStream(window: Window, decoder: BlockDecoder): AsyncGenerator<Uint8Array> {
  for (;;) {
    await window.fill(windowBytes);
    const magic = await window.withEnough((bytes) => decoder.peekMagic(bytes));
    if (magic === streamEndMagic) {
      window.drop(await window.withEnough((bytes) => decoder.readStreamEnd(bytes)));
      return;
    }
    if (magic !== blockMagic) throw new InvalidBzip2('no block begins where one should');
    // The decoder keeps the bits that follow the block in its last byte.
    window.drop(await window.withEnough((bytes) => decoder.readBlock(bytes)));
    for (let piece; (piece = decoder.text(pieceBytes)) !== null;) yield piece;
  }
}

function isHeader(bytes: Uint8Array): boolean {
  const [b, z, h, level = 0] = bytes;
  return b === 0x42 && z === 0x5a && h === 0x68 && level >= 49 && level <= 57;
}

/** The compressed bytes that have been read and not consumed. */
class Window {
  bytes: Uint8Array = new Uint8Array(0);
  /** Offset of `bytes` in the file. */
  offset = 0;
  readonly #input: AsyncIterator<Uint8Array>;
  #hasEnded = false;

  constructor(input: AsyncIterable<Uint8Array>) {
    this.#input = input[Symbol.asyncIterator]();
  }

  /** Reads until the window has at least `minBytes` bytes or the input ends. */
  async fill(minBytes: number): Promise<void> {
    const pieces = [this.bytes];
    let size = this.bytes.length;
    while (size < minBytes && !this.#hasEnded) {
      const { value, done } = await this.#input.next();
      if (done) this.#hasEnded = true;
      else {
        pieces.push(value);
        size += value.length;
      }
    }
    if (pieces.length > 1) this.bytes = Buffer.concat(pieces, size);
  }

  /** Returns the result of `decode`, which is repeated with more bytes while it throws `NeedsMoreInput`. */
  async withEnough<T>(decode: (bytes: Uint8Array) => T): Promise<T> {
    for (let size = windowBytes * 2; ; size *= 2) {
      try {
        return decode(this.bytes);
      } catch (error) {
        if (!(error instanceof NeedsMoreInput) || this.#hasEnded || size > maxBlockBytes)
          throw error;
        await this.fill(size);
      }
    }
  }

  /** Consumes `count` bytes. */
  drop(count: number): void {
    this.bytes = this.bytes.subarray(count);
    this.offset += count;
  }

  /** Consumes the rest of the input; returns whether all of it is zero. */
  async isZeroToTheEnd(): Promise<boolean> {
    for (;;) {
      if (this.bytes.some((byte) => byte !== 0)) return false;
      this.drop(this.bytes.length);
      await this.fill(windowBytes);
      if (this.bytes.length === 0) return true;
    }
  }
}

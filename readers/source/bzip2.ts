import { InputError } from '../../engine/core/errors.js';
import { Bzip2BlockDecoder, InvalidBzip2, NeedsMoreInput } from './bzip2-block.js';

/** Number of compressed bytes that are read before a block is decoded; most blocks are smaller. */
const minWindowBytes = 1 << 20;
/** Upper bound of the size of a compressed block in bytes: it has at most 900,001 symbols of 20 bits, and the tables. */
const maxBlockBytes = 4 << 20;
/** Maximum size in bytes of the pieces of decompressed text; the text of one block can have 46 MB. */
const outputPieceBytes = 1 << 20;

const blockMagic = 0x314159265359;
const streamEndMagic = 0x177245385090;

/**
 * Decompresses a bzip2 file of one or more streams, in pieces, and verifies its checksums; zero bytes may follow the last stream. Memory is
 * bounded by one block, whatever the file contains. Throws InputError with the byte offset if the file is damaged.
 */
export async function* decompressBzip2(
  input: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const window = new CompressedWindow(input);
  const decoder = new Bzip2BlockDecoder();
  const inputError = (message: string) =>
    new InputError({ file: name, byte: window.offset }, message);
  try {
    for (let streamCount = 0; ; streamCount++) {
      await window.fill(minWindowBytes);
      if (window.bytes.length === 0) break;
      if (!isStreamHeader(window.bytes)) {
        if (streamCount === 0) throw new InvalidBzip2('no stream begins here');
        if (await window.isRestZero()) break;
        throw inputError('something other than bzip2 data follows the last bzip2 stream');
      }
      decoder.startStream(window.bytes[3]! - 48);
      window.consume(4);
      yield* readStream(window, decoder);
    }
  } catch (error) {
    if (error instanceof NeedsMoreInput)
      throw inputError('the compressed file ends early: it was cut off, fetch it again');
    if (error instanceof InvalidBzip2)
      throw inputError(`the compressed data is damaged (bzip2: ${error.message})`);
    throw error;
  }
}

/** Decodes the blocks of one stream, including its end. */
async function* readStream(
  window: CompressedWindow,
  decoder: Bzip2BlockDecoder,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    await window.fill(minWindowBytes);
    const magic = await window.decodeWithEnoughInput((bytes) => decoder.peekMagic(bytes));
    if (magic === streamEndMagic) {
      window.consume(await window.decodeWithEnoughInput((bytes) => decoder.readStreamEnd(bytes)));
      return;
    }
    if (magic !== blockMagic) throw new InvalidBzip2('no block begins where one should');
    // Bits after the block in its last byte are kept by the decoder, so that byte can be dropped.
    window.consume(await window.decodeWithEnoughInput((bytes) => decoder.readBlock(bytes)));
    for (let piece; (piece = decoder.readText(outputPieceBytes)) !== null;) yield piece;
  }
}

function isStreamHeader(bytes: Uint8Array): boolean {
  const [b, z, h, level = 0] = bytes;
  return b === 0x42 && z === 0x5a && h === 0x68 && level >= 49 && level <= 57;
}

/** The compressed bytes that have been read from the file but not consumed yet. */
class CompressedWindow {
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

  /**
   * Returns the result of `decode`, which is called again with more bytes while it throws `NeedsMoreInput`, until the input ends or the
   * window has `maxBlockBytes`.
   */
  async decodeWithEnoughInput<T>(decode: (bytes: Uint8Array) => T): Promise<T> {
    for (let wantedBytes = minWindowBytes * 2; ; wantedBytes *= 2) {
      try {
        return decode(this.bytes);
      } catch (error) {
        if (!(error instanceof NeedsMoreInput) || this.#hasEnded || wantedBytes > maxBlockBytes)
          throw error;
        await this.fill(wantedBytes);
      }
    }
  }

  /** Removes `count` bytes from the start of the window. */
  consume(count: number): void {
    this.bytes = this.bytes.subarray(count);
    this.offset += count;
  }

  /** Returns whether all of the remaining input is zero; consumes it up to the part that is not. */
  async isRestZero(): Promise<boolean> {
    for (;;) {
      if (this.bytes.some((byte) => byte !== 0)) return false;
      this.consume(this.bytes.length);
      await this.fill(minWindowBytes);
      if (this.bytes.length === 0) return true;
    }
  }
}

import { crc32 } from 'node:zlib';
import { AppError } from './errors.js';

/**
 * Bytes of a file that have a checksum of their own. A page of a column takes 10 to 20 kB in its file, and what is read of a block beyond it
 * costs time; a gigabyte has 32,768 blocks, whose checksums take 175 kB in the log.
 */
export const blockBytes = 32 << 10;

/** Computes the checksums of a file's blocks, CRC-32 of 4 bytes each, while the file is written. */
export class BlockChecksums {
  readonly #done: number[] = [];
  #crc = 0;
  #filled = 0;

  update(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const to = Math.min(bytes.length, from + blockBytes - this.#filled);
      this.#crc = crc32(bytes.subarray(from, to), this.#crc);
      this.#filled += to - from;
      from = to;
      if (this.#filled === blockBytes) this.#next();
    }
  }

  /** The checksums of all blocks as plain data, in base64; the last block may be shorter. */
  finish(): string {
    if (this.#filled > 0) this.#next();
    const bytes = Buffer.allocUnsafe(4 * this.#done.length);
    for (const [i, crc] of this.#done.entries()) bytes.writeUInt32LE(crc, 4 * i);
    return bytes.toString('base64');
  }

  #next(): void {
    this.#done.push(this.#crc);
    this.#crc = 0;
    this.#filled = 0;
  }
}

/** A file, and the checksums of its blocks (`BlockChecksums`); absent if nobody has computed them. */
export interface CheckedFile {
  readonly path: string;
  readonly blockChecksums?: string | undefined;
}

/** Reads exactly `into.length` bytes at `from`. */
type ReadInto = (into: Uint8Array, from: number) => void;

/** A block of which only a part is wanted is read into this. */
const wholeBlock = Buffer.allocUnsafeSlow(blockBytes);

/** Compares each block of a file with its checksum when a part of it is first read. */
export class VerifiedBlocks {
  readonly #checksums: Buffer;
  readonly #bytes: number;
  /** 1 for each block that has been compared. */
  readonly #isVerified: Uint8Array;
  readonly #altered: () => AppError;

  /** `checksums` are in the form of `BlockChecksums`, `bytes` is the size of the file; `altered` makes the error for a block that differs. */
  constructor(checksums: string, bytes: number, altered: () => AppError) {
    this.#checksums = Buffer.from(checksums, 'base64');
    this.#bytes = bytes;
    this.#altered = altered;
    const blocks = Math.ceil(bytes / blockBytes);
    if (this.#checksums.length !== 4 * blocks) throw altered();
    this.#isVerified = new Uint8Array(blocks);
  }

  /** Fills `into` with the bytes from `from` on. What it returns has been verified. */
  read(into: Uint8Array, from: number, readInto: ReadInto): void {
    const to = from + into.length;
    if (to > this.#bytes) throw this.#altered();
    /** The first block from `block` on that has not been compared and is not wholly wanted. */
    const partialStart = (block: number): number => {
      while (block * blockBytes < to && (this.#isVerified[block] === 1 || this.#isWithin(block, from, to))) block++; // prettier-ignore
      return block;
    };
    for (let at = from; at < to;) {
      const block = Math.floor(at / blockBytes);
      const next = partialStart(block);
      if (next > block) {
        const end = Math.min(to, next * blockBytes);
        readInto(into.subarray(at - from, end - from), at);
        for (let each = block; each < next; each++)
          if (this.#isVerified[each] === 0) this.verify(each, into.subarray(each * blockBytes - from, this.#endOf(each) - from)); // prettier-ignore
        at = end;
      } else {
        const begin = block * blockBytes;
        const wholeBytes = wholeBlock.subarray(0, this.#endOf(block) - begin);
        readInto(wholeBytes, begin);
        this.verify(block, wholeBytes);
        const end = Math.min(to, this.#endOf(block));
        into.set(wholeBytes.subarray(at - begin, end - begin), at - from);
        at = end;
      }
    }
  }

  #endOf(block: number): number {
    return Math.min(this.#bytes, (block + 1) * blockBytes);
  }

  #isWithin(block: number, from: number, to: number): boolean {
    return block * blockBytes >= from && this.#endOf(block) <= to;
  }

  /** Compares consecutive blocks of the file, the first of which is `block`; the last block of the file may be shorter. */
  verifyAll(block: number, bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; from += blockBytes)
      this.verify(block++, bytes.subarray(from, from + blockBytes));
  }

  /** Compares the bytes of a whole block with its checksum; throws if they differ. */
  verify(block: number, bytes: Uint8Array): void {
    if (crc32(bytes) !== this.#checksums.readUInt32LE(4 * block)) throw this.#altered();
    this.#isVerified[block] = 1;
  }
}

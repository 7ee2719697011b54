import { crc32 } from 'node:zlib';
import { AppError } from './errors.js';

/**
 * The number of bytes of a file that one checksum covers. Smaller blocks save time, because a block has to be read as a whole, and a
 * page of a column takes only 10 to 20 kB in the file. Larger blocks save space: the checksums of the 32,768 blocks of a gigabyte take 175
 * kB in the log.
 */
export const blockBytes = 32 << 10;

/** Computes the checksums of a file's blocks, CRC-32 of 4 bytes each, while the file is written. */
export class BlockChecksums {
  readonly #checksums: number[] = [];
  #crc = 0;
  #filledBytes = 0;

  update(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const to = Math.min(bytes.length, from + blockBytes - this.#filledBytes);
      this.#crc = crc32(bytes.subarray(from, to), this.#crc);
      this.#filledBytes += to - from;
      from = to;
      if (this.#filledBytes === blockBytes) this.#endBlock();
    }
  }

  /** Returns the checksums of all blocks as plain data, in base64; the last block may be shorter. */
  finish(): string {
    if (this.#filledBytes > 0) this.#endBlock();
    const bytes = Buffer.allocUnsafe(4 * this.#checksums.length);
    for (const [i, crc] of this.#checksums.entries()) bytes.writeUInt32LE(crc, 4 * i);
    return bytes.toString('base64');
  }

  #endBlock(): void {
    this.#checksums.push(this.#crc);
    this.#crc = 0;
    this.#filledBytes = 0;
  }
}

/** A file, and the checksums of its blocks (`BlockChecksums`); absent if they were never computed. */
export interface ChecksummedFile {
  readonly path: string;
  readonly blockChecksums?: string | undefined;
}

/** Reads exactly `into.length` bytes at `from`. */
type ReadInto = (into: Uint8Array, from: number) => void;

/** The buffer into which a block is read if the caller wants only a part of it. */
const blockBuffer = Buffer.allocUnsafeSlow(blockBytes);

/** Compares each block of a file with its checksum when a part of it is first read. */
export class VerifiedBlocks {
  readonly #checksums: Buffer;
  readonly #bytes: number;
  /** For each block, 1 if it has been compared with its checksum. */
  readonly #isVerified: Uint8Array;
  readonly #altered: () => AppError;

  /**
   * `checksums` have the form of `BlockChecksums`, `bytes` is the size of the file; `altered` returns the error for a block that differs
   * from its checksum.
   */
  constructor(checksums: string, bytes: number, altered: () => AppError) {
    this.#checksums = Buffer.from(checksums, 'base64');
    this.#bytes = bytes;
    this.#altered = altered;
    const blockCount = Math.ceil(bytes / blockBytes);
    if (this.#checksums.length !== 4 * blockCount) throw altered();
    this.#isVerified = new Uint8Array(blockCount);
  }

  /** Fills `into` with the bytes from `from` on; all these bytes have been compared with their checksums. */
  read(into: Uint8Array, from: number, readInto: ReadInto): void {
    const to = from + into.length;
    if (to > this.#bytes) throw this.#altered();
    /**
     * Returns the first block from `block` on that has not been compared and of which only a part is wanted; if there is none, the first
     * block after the wanted bytes.
     */
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
        const wholeBytes = blockBuffer.subarray(0, this.#endOf(block) - begin);
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

  /**
   * Compares consecutive blocks of the file with their checksums; throws if one differs. `bytes` begins with block number `block`; the last
   * block of the file may be shorter.
   */
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

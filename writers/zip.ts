import { crc32, deflateRawSync, constants } from 'node:zlib';

/** A piece of the content of an entry, compressed on its own: pieces that follow one another are one deflate stream. */
export interface DeflatedPiece {
  readonly deflated: Uint8Array;
  /** CRC-32 of the plain bytes. */
  readonly crc: number;
  /** Number of plain bytes. */
  readonly bytes: number;
}

/** Compresses a piece. It ends at a byte (Z_SYNC_FLUSH), and refers to no piece before it. */
export function deflatedPiece(plain: Uint8Array): DeflatedPiece {
  const options = { level: deflateLevel, finishFlush: constants.Z_SYNC_FLUSH };
  return { deflated: deflateRawSync(plain, options), crc: crc32(plain), bytes: plain.length };
}

/** Half of the default level's time, and a fifth more bytes (200,000 rows of ten columns). */
const deflateLevel = 1;

/** An entry that has been written, as the central directory describes it. */
interface ZipEntry {
  readonly name: Buffer;
  readonly offset: number;
  crc: number;
  deflatedBytes: number;
  bytes: number;
}

/**
 * Writes a ZIP file (PKWARE APPNOTE 6.3) as a stream: the sizes of an entry follow its content in a data descriptor, so that nothing is kept
 * but the central directory. Sizes and offsets from 4 GiB on are those of ZIP64, and only those. Every function returns the next bytes of
 * the file.
 */
export class ZipWriter {
  readonly #entries: ZipEntry[] = [];
  #offset = 0;

  /** Begins an entry; `name` has no backslash. */
  begin(name: string): Uint8Array {
    const entry = { name: Buffer.from(name), offset: this.#offset, crc: 0, deflatedBytes: 0, bytes: 0 }; // prettier-ignore
    this.#entries.push(entry);
    const header = Buffer.alloc(30);
    header.writeUInt32LE(localHeader, 0);
    header.writeUInt16LE(versionNeeded, 4);
    header.writeUInt16LE(flags, 6);
    header.writeUInt16LE(deflate, 8);
    header.writeUInt16LE(firstDay, 12);
    header.writeUInt16LE(entry.name.length, 26);
    return this.#put(Buffer.concat([header, entry.name]));
  }

  /** Adds a piece to the entry. */
  add({ deflated, crc, bytes }: DeflatedPiece): Uint8Array {
    const entry = this.#entries.at(-1)!;
    entry.crc = joinedCrc(entry.crc, crc, bytes);
    entry.deflatedBytes += deflated.length;
    entry.bytes += bytes;
    return this.#put(deflated);
  }

  /** Ends the entry. */
  end(): Uint8Array {
    const entry = this.#entries.at(-1)!;
    entry.deflatedBytes += endOfStream.length;
    const isLarge = entry.bytes > maxUint32 || entry.deflatedBytes > maxUint32;
    const sizeBytes = isLarge ? 8 : 4;
    const descriptor = Buffer.alloc(8 + 2 * sizeBytes);
    descriptor.writeUInt32LE(dataDescriptor, 0);
    descriptor.writeUInt32LE(entry.crc, 4);
    writeSize(descriptor, 8, entry.deflatedBytes, sizeBytes);
    writeSize(descriptor, 8 + sizeBytes, entry.bytes, sizeBytes);
    return this.#put(Buffer.concat([endOfStream, descriptor]));
  }

  /** A whole entry. */
  entry(name: string, plain: Uint8Array): Uint8Array {
    return Buffer.concat([this.begin(name), this.add(deflatedPiece(plain)), this.end()]);
  }

  /** The central directory, which ends the file. */
  finish(): Uint8Array {
    const from = this.#offset;
    const records = Buffer.concat(this.#entries.map(centralRecord));
    const count = this.#entries.length;
    const isLarge = from + records.length > maxUint32;
    const end = Buffer.alloc(22);
    end.writeUInt32LE(endOfCentralDirectory, 0);
    end.writeUInt16LE(count, 8);
    end.writeUInt16LE(count, 10);
    end.writeUInt32LE(Math.min(records.length, maxUint32), 12);
    end.writeUInt32LE(Math.min(from, maxUint32), 16);
    const wide = isLarge ? zip64End(count, records.length, from) : noBytes;
    return this.#put(Buffer.concat([records, wide, end]));
  }

  #put(bytes: Uint8Array): Uint8Array {
    this.#offset += bytes.length;
    return bytes;
  }
}

const localHeader = 0x04034b50;
const dataDescriptor = 0x08074b50;
const centralHeader = 0x02014b50;
const endOfCentralDirectory = 0x06054b50;
const zip64EndOfCentralDirectory = 0x06064b50;
const zip64Locator = 0x07064b50;
const versionNeeded = 20;
const zip64Version = 45;
/** Sizes follow the content; names are UTF-8. */
const flags = 0x0808;
const deflate = 8;
/** 1 January 1980, the first day that a ZIP file can name: the same records make the same file. */
const firstDay = 0x21;
const maxUint32 = 0xffffffff;
const noBytes = Buffer.alloc(0);
/** An empty last block. */
const endOfStream = deflateRawSync('');

function centralRecord({ name, offset, crc, deflatedBytes, bytes }: ZipEntry): Buffer {
  const large = [bytes, deflatedBytes, offset].filter((size) => size >= maxUint32);
  const extra = Buffer.alloc(large.length === 0 ? 0 : 4 + 8 * large.length);
  if (large.length > 0) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(8 * large.length, 2);
    for (const [i, size] of large.entries()) writeSize(extra, 4 + 8 * i, size, 8);
  }
  const record = Buffer.alloc(46);
  const version = large.length === 0 ? versionNeeded : zip64Version;
  record.writeUInt32LE(centralHeader, 0);
  record.writeUInt16LE(version, 4);
  record.writeUInt16LE(version, 6);
  record.writeUInt16LE(flags, 8);
  record.writeUInt16LE(deflate, 10);
  record.writeUInt16LE(firstDay, 14);
  record.writeUInt32LE(crc, 16);
  record.writeUInt32LE(Math.min(deflatedBytes, maxUint32), 20);
  record.writeUInt32LE(Math.min(bytes, maxUint32), 24);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt16LE(extra.length, 30);
  record.writeUInt32LE(Math.min(offset, maxUint32), 42);
  return Buffer.concat([record, name, extra]);
}

/** The end record of ZIP64, and its locator. */
function zip64End(count: number, bytes: number, from: number): Buffer {
  const end = Buffer.alloc(56 + 20);
  end.writeUInt32LE(zip64EndOfCentralDirectory, 0);
  writeSize(end, 4, 44, 8);
  end.writeUInt16LE(zip64Version, 12);
  end.writeUInt16LE(zip64Version, 14);
  for (const [i, size] of [count, count, bytes, from].entries())
    writeSize(end, 24 + 8 * i, size, 8);
  end.writeUInt32LE(zip64Locator, 56);
  writeSize(end, 64, from + bytes, 8);
  end.writeUInt32LE(1, 72);
  return end;
}

function writeSize(target: Buffer, at: number, size: number, bytes: 4 | 8): void {
  if (bytes === 4) target.writeUInt32LE(size, at);
  else target.writeBigUInt64LE(BigInt(size), at);
}

/**
 * The CRC-32 of two pieces from theirs (zlib's crc32_combine): appending a zero bit to a message is a linear map over GF(2), which is squared
 * for 2, 4, 8 and more bits.
 */
export function joinedCrc(first: number, second: number, secondBytes: number): number {
  let crc = first;
  let map = Uint32Array.from({ length: 32 }, (_, bit) => (bit === 0 ? 0xedb88320 : 1 << (bit - 1)));
  // From one bit to eight.
  for (let i = 0; i < 3; i++) map = squareMap(map);
  for (let rest = secondBytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) crc = multiplyVector(map, crc);
    map = squareMap(map);
  }
  return (crc ^ second) >>> 0;
}

function multiplyVector(map: Uint32Array, vector: number): number {
  let sum = 0;
  for (let bit = 0, rest = vector; rest !== 0; bit++, rest >>>= 1)
    if ((rest & 1) === 1) sum ^= map[bit]!;
  return sum >>> 0;
}

function squareMap(map: Uint32Array): Uint32Array<ArrayBuffer> {
  return Uint32Array.from(map, (column) => multiplyVector(map, column));
}

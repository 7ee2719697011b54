/** Thrown when the input ends within the structure being read. */
export class NeedsMoreInput extends Error {}

/** Thrown when the input is not valid bzip2; the message says what is wrong. */
export class InvalidBzip2 extends Error {}

const maxCodeLength = 20;
/** Number of consecutive symbols in a block that share a Huffman table. */
const symbolsPerGroup = 50;
const maxSymbols = 258;

/**
 * Decodes the blocks of bzip2 streams, one after the other, in the format that bzip2 1.0 writes; the only specification is its source code.
 * Each method continues at the bit at which the last successful call ended: pass the input without the bytes that earlier calls reported as
 * consumed. A call that throws `NeedsMoreInput` may be repeated with more input.
 */
export class Bzip2BlockDecoder {
  #level = 0;
  #streamChecksum = 0;
  /** The unread bits of the last consumed byte, in the low bits; `#unreadCount` is their number. */
  #unreadBits = 0;
  #unreadCount = 0;

  // The bits that have been read from the input but not used yet are the low `#bitCount` bits of `#bits`. They precede `#input[#at]`.
  #input: Uint8Array = new Uint8Array(0);
  #at = 0;
  #bits = 0;
  #bitCount = 0;

  /**
   * The current block. Each entry has a byte of the text in its low 8 bits, and in its upper 24 bits the index of the entry that follows in
   * the text.
   */
  #links = new Uint32Array(0);
  /** Number of entries that have not been decoded into text yet. */
  #entriesLeft = 0;
  /** The index of the next entry to decode. */
  #nextEntry = 0;
  #previousByte = -1;
  /** Number of consecutive equal bytes so far, up to 4; after four, a repeat count follows. */
  #runLength = 0;
  /** Number of times that `#previousByte` must still be repeated. */
  #repeatsLeft = 0;
  #checksum = 0;
  #expectedChecksum = 0;

  /** Starts a stream. A block of level 1 to 9 has up to `level` * 100,000 entries. */
  startStream(level: number): void {
    this.#level = level;
    this.#streamChecksum = 0;
    this.#unreadBits = this.#unreadCount = 0;
    if (this.#links.length < level * 100_000) this.#links = new Uint32Array(level * 100_000);
  }

  /** Returns the 48-bit magic number of the next block or of the end of the stream, without consuming it. */
  peekMagic(input: Uint8Array): number {
    this.#startReading(input);
    return this.#readBits(24) * 2 ** 24 + this.#readBits(24);
  }

  /** Reads the end of the stream, including its magic number, and verifies the checksum. Returns the number of bytes consumed. */
  readStreamEnd(input: Uint8Array): number {
    this.peekMagic(input);
    const expectedChecksum = (this.#readBits(16) << 16) | this.#readBits(16);
    if (expectedChecksum !== this.#streamChecksum)
      throw new InvalidBzip2('the checksum of the stream is wrong');
    this.#unreadCount = 0; // a stream starts at a byte boundary
    return this.#at;
  }

  /**
   * Reads a block, including its magic number. Returns the number of bytes consumed; afterwards, `readText` returns the text of the block.
   */
  readBlock(input: Uint8Array): number {
    this.peekMagic(input);
    const expectedChecksum = (this.#readBits(16) << 16) | this.#readBits(16);
    if (this.#readBits(1) === 1)
      throw new InvalidBzip2('randomised blocks, which only versions before 0.9.5 wrote');
    const origin = this.#readBits(24);
    const usedBytes = this.#readUsedBytes();
    const entryCount = this.#readSymbols(usedBytes);
    if (origin >= entryCount) throw new InvalidBzip2('the origin of a block lies outside of it');
    this.#invertTransform(entryCount);
    this.#nextEntry = this.#links[origin]! >>> 8;
    this.#entriesLeft = entryCount;
    this.#previousByte = -1;
    this.#runLength = this.#repeatsLeft = 0;
    this.#checksum = -1;
    this.#expectedChecksum = expectedChecksum;
    this.#unreadBits = this.#bits;
    this.#unreadCount = this.#bitCount;
    return this.#at;
  }

  /** Returns up to `maxBytes` further bytes of the block's text; null after the last one. Verifies the block's checksum at its end. */
  readText(maxBytes: number): Uint8Array | null {
    if (this.#entriesLeft === 0 && this.#repeatsLeft === 0) return null;
    const out = new Uint8Array(maxBytes);
    const links = this.#links;
    let checksum = this.#checksum;
    let nextEntry = this.#nextEntry;
    let previous = this.#previousByte;
    let runLength = this.#runLength;
    let repeatsLeft = this.#repeatsLeft;
    let entriesLeft = this.#entriesLeft;
    let size = 0;
    while (size < maxBytes) {
      if (repeatsLeft > 0) repeatsLeft--;
      else if (entriesLeft === 0) break;
      else {
        const link = links[nextEntry]!;
        nextEntry = link >>> 8;
        entriesLeft--;
        const byte = link & 255;
        if (runLength === 4) {
          // After four equal bytes, a byte gives the number of further equal bytes.
          runLength = 0;
          repeatsLeft = byte;
          continue;
        }
        runLength = byte === previous ? runLength + 1 : 1;
        previous = byte;
      }
      out[size++] = previous;
      checksum = (checksum << 8) ^ crcTable[(checksum >>> 24) ^ previous]!;
    }
    this.#checksum = checksum;
    this.#nextEntry = nextEntry;
    this.#previousByte = previous;
    this.#runLength = runLength;
    this.#repeatsLeft = repeatsLeft;
    this.#entriesLeft = entriesLeft;
    if (entriesLeft === 0 && repeatsLeft === 0) this.#finishBlock();
    return size === 0 ? null : out.subarray(0, size);
  }

  #finishBlock(): void {
    const checksum = ~this.#checksum;
    if (checksum !== this.#expectedChecksum)
      throw new InvalidBzip2('the checksum of a block is wrong');
    this.#streamChecksum = checksum ^ ((this.#streamChecksum << 1) | (this.#streamChecksum >>> 31));
  }

  #startReading(input: Uint8Array): void {
    this.#input = input;
    this.#at = 0;
    this.#bits = this.#unreadBits;
    this.#bitCount = this.#unreadCount;
  }

  /** Reads `count` bits, at most 24, most significant bit first. */
  #readBits(count: number): number {
    while (this.#bitCount < count) {
      if (this.#at >= this.#input.length) throw new NeedsMoreInput();
      this.#bits = (this.#bits << 8) | this.#input[this.#at++]!;
      this.#bitCount += 8;
    }
    this.#bitCount -= count;
    return (this.#bits >>> this.#bitCount) & ((1 << count) - 1);
  }

  /**
   * Reads the set of bytes that occur in the block, ascending. It is stored as one bit for each range of 16 bytes, then one bit for each
   * byte of the ranges in use.
   */
  #readUsedBytes(): readonly number[] {
    const byteValues: number[] = [];
    const rangeFlags = this.#readBits(16);
    for (let range = 0; range < 16; range++) {
      if ((rangeFlags & (0x8000 >> range)) === 0) continue;
      const byteFlags = this.#readBits(16);
      for (let i = 0; i < 16; i++)
        if ((byteFlags & (0x8000 >> i)) !== 0) byteValues.push(range * 16 + i);
    }
    if (byteValues.length === 0) throw new InvalidBzip2('a block uses no byte');
    return byteValues;
  }

  /** Reads the Huffman-coded symbols of the block and undoes run lengths and move-to-front. Returns the number of bytes in `#links`. */
  #readSymbols(usedBytes: readonly number[]): number {
    const tableCount = this.#readBits(3);
    if (tableCount < 2 || tableCount > 6)
      throw new InvalidBzip2(`a block has ${tableCount} Huffman tables`);
    const selectors = this.#readSelectors(tableCount);
    const tables = Array.from({ length: tableCount }, () => this.#readTable(usedBytes.length + 2));
    const maxEntries = this.#level * 100_000;
    const links = this.#links;
    const recentBytes = Uint8Array.from(usedBytes);
    const endOfBlock = usedBytes.length + 1;
    let entryCount = 0;
    let pendingRun = 0;
    let digitWeight = 1;
    for (let group = 0; ; group++) {
      if (group >= selectors.length) throw new InvalidBzip2('a block has no end symbol');
      const table = tables[selectors[group]!]!;
      for (let i = 0; i < symbolsPerGroup; i++) {
        const symbol = this.#readSymbol(table);
        if (symbol < 2) {
          // The symbols 0 and 1 are the digits 1 and 2 of a run length in bijective base 2, least significant digit first.
          pendingRun += digitWeight << symbol;
          digitWeight <<= 1;
          if (pendingRun > maxEntries) throw new InvalidBzip2('a run is longer than a block');
          continue;
        }
        if (pendingRun > 0) {
          if (entryCount + pendingRun > maxEntries) throw new InvalidBzip2('a block is too long');
          links.fill(recentBytes[0]!, entryCount, entryCount + pendingRun);
          entryCount += pendingRun;
          pendingRun = 0;
          digitWeight = 1;
        }
        if (symbol === endOfBlock) return entryCount;
        if (entryCount === maxEntries) throw new InvalidBzip2('a block is too long');
        const byte = recentBytes[symbol - 1]!;
        recentBytes.copyWithin(1, 0, symbol - 1);
        recentBytes[0] = byte;
        links[entryCount++] = byte;
      }
    }
  }

  /** Reads the index of the Huffman table of each group of symbols. */
  #readSelectors(tableCount: number): Uint8Array {
    const selectorCount = this.#readBits(15);
    if (selectorCount === 0) throw new InvalidBzip2('a block selects no Huffman table');
    const recentTables = Array.from({ length: tableCount }, (_, i) => i);
    const selectors = new Uint8Array(selectorCount);
    for (let i = 0; i < selectorCount; i++) {
      let recency = 0;
      while (this.#readBits(1) === 1)
        if (++recency >= tableCount)
          throw new InvalidBzip2('a block selects an unknown Huffman table');
      const [tableIndex] = recentTables.splice(recency, 1);
      recentTables.unshift(tableIndex!);
      selectors[i] = tableIndex!;
    }
    return selectors;
  }

  /** Reads the code length of each symbol, which is stored as a difference from the previous one, and returns the Huffman table. */
  #readTable(symbolCount: number): HuffmanTable {
    const lengths = new Uint8Array(symbolCount);
    let length = this.#readBits(5);
    for (let i = 0; i < symbolCount; i++) {
      for (;;) {
        if (length < 1 || length > maxCodeLength)
          throw new InvalidBzip2(`a Huffman code of ${length} bits`);
        if (this.#readBits(1) === 0) break;
        length += this.#readBits(1) === 0 ? 1 : -1;
      }
      lengths[i] = length;
    }
    return buildHuffmanTable(lengths);
  }

  #readSymbol({ minLength, limits, offsets, symbols }: HuffmanTable): number {
    let code = this.#readBits(minLength);
    for (let length = minLength; length <= maxCodeLength; length++) {
      if (code < limits[length]!) {
        const symbol = symbols[code - offsets[length]!];
        if (symbol === undefined) break;
        return symbol;
      }
      code = (code << 1) | this.#readBits(1);
    }
    throw new InvalidBzip2('an unknown Huffman code');
  }

  /** Inverts the Burrows-Wheeler transform: links each byte in `#links` to the byte that follows it in the text. */
  #invertTransform(count: number): void {
    const links = this.#links;
    const positions = new Uint32Array(257); // for each byte value, the next index in sorted order
    for (let i = 0; i < count; i++) positions[links[i]! + 1]!++;
    for (let i = 1; i < 257; i++) positions[i]! += positions[i - 1]!;
    for (let i = 0; i < count; i++) {
      const position = positions[links[i]! & 255]!++;
      links[position] = (links[position]! & 255) | (i << 8);
    }
  }
}

/**
 * A canonical Huffman code: codes of the same length are consecutive. Those of length n are below `limits[n]`, and the code c of length n
 * stands for `symbols[c - offsets[n]]`.
 */
interface HuffmanTable {
  readonly minLength: number;
  readonly limits: Int32Array;
  readonly offsets: Int32Array;
  readonly symbols: Uint16Array;
}

function buildHuffmanTable(lengths: Uint8Array): HuffmanTable {
  const limits = new Int32Array(maxCodeLength + 1);
  const offsets = new Int32Array(maxCodeLength + 1);
  const symbols = new Uint16Array(Math.min(lengths.length, maxSymbols));
  let symbolCount = 0;
  let code = 0;
  for (let length = 1; length <= maxCodeLength; length++) {
    code <<= 1;
    offsets[length] = code - symbolCount;
    for (let i = 0; i < lengths.length; i++) {
      if (lengths[i] !== length) continue;
      symbols[symbolCount++] = i;
      code++;
    }
    limits[length] = code;
  }
  return { minLength: Math.min(...lengths), limits, offsets, symbols };
}

/** The table of the CRC-32 with polynomial 0x04c11db7, most significant bit first. */
const crcTable = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  return crc;
});

/** The bytes end before the block does. */
export class NeedsMore extends Error {}

/** The bytes are no bzip2 data; the message says why. */
export class Damage extends Error {}

const mostCodeBits = 20;
const groupSymbols = 50;
const mostSymbols = 258;

/**
 * Decodes the blocks of a stream one after the other (the format is as bzip2 1.0 writes it; nothing but its source describes it).
 * Each method begins where the last one that came to its end stopped, within a byte at times; one that throws has changed
 * nothing, and may be called again with more bytes.
 */
export class BlockDecoder {
  #level = 0;
  #streamSum = 0;
  /** Bits of the last byte that belong to what comes next. */
  #kept = 0;
  #keptBits = 0;

  // The bits that are being read.
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #bits = 0;
  #count = 0;

  // The block that is being handed out: a symbol in the low byte of each, above it the place of the next.
  #links = new Uint32Array(0);
  #left = 0;
  #place = 0;
  #previous = -1;
  #run = 0;
  #repeats = 0;
  #sum = 0;
  #wantedSum = 0;

  /** A stream begins; its level says how large its blocks may be. */
  begin(level: number): void {
    this.#level = level;
    this.#streamSum = 0;
    this.#kept = this.#keptBits = 0;
    if (this.#links.length < level * 100_000) this.#links = new Uint32Array(level * 100_000);
  }

  /** The 48 bits that tell what comes next; they are not used up. */
  mark(bytes: Uint8Array): number {
    this.#start(bytes);
    return this.#read(24) * 2 ** 24 + this.#read(24);
  }

  /** The end of the stream, its mark included: how many bytes it takes. */
  end(bytes: Uint8Array): number {
    this.mark(bytes);
    const sum = (this.#read(16) << 16) | this.#read(16);
    if (sum !== this.#streamSum) throw new Damage('the checksum of the stream is wrong');
    this.#keptBits = 0; // streams begin with a byte
    return this.#at;
  }

  /** A block, its mark included: how many bytes it takes. Its text is then asked for. */
  block(bytes: Uint8Array): number {
    this.mark(bytes);
    const sum = (this.#read(16) << 16) | this.#read(16);
    if (this.#read(1) === 1) throw new Damage('a block is randomised, as before version 0.9.5');
    const origin = this.#read(24);
    const symbols = this.#symbolsUsed();
    const count = this.#symbolsOf(symbols);
    if (origin >= count) throw new Damage('a block begins outside of itself');
    this.#link(count);
    this.#place = this.#links[origin]! >>> 8;
    this.#left = count;
    this.#previous = -1;
    this.#run = this.#repeats = 0;
    this.#sum = -1;
    this.#wantedSum = sum;
    this.#kept = this.#bits;
    this.#keptBits = this.#count;
    return this.#at;
  }

  /** The next piece of the block's text, `most` bytes or fewer; null behind the last one. Checks the block's sum at its end. */
  text(most: number): Uint8Array | null {
    if (this.#left === 0 && this.#repeats === 0) return null;
    const out = new Uint8Array(most);
    const links = this.#links;
    let { sum, place, previous, run, repeats, left } = this.#state();
    let size = 0;
    while (size < most) {
      if (repeats > 0) repeats--;
      else if (left === 0) break;
      else {
        const link = links[place]!;
        place = link >>> 8;
        left--;
        const symbol = link & 255;
        if (run === 4) {
          // Behind four equal bytes stands how many more there are.
          run = 0;
          repeats = symbol;
          continue;
        }
        run = symbol === previous ? run + 1 : 1;
        previous = symbol;
      }
      out[size++] = previous;
      sum = (sum << 8) ^ sums[(sum >>> 24) ^ previous]!;
    }
    this.#sum = sum;
    this.#place = place;
    this.#previous = previous;
    this.#run = run;
    this.#repeats = repeats;
    this.#left = left;
    if (left === 0 && repeats === 0) this.#finishBlock();
    return size === 0 ? null : out.subarray(0, size);
  }

  #state() {
    return {
      sum: this.#sum,
      place: this.#place,
      previous: this.#previous,
      run: this.#run,
      repeats: this.#repeats,
      left: this.#left,
    };
  }

  #finishBlock(): void {
    const sum = ~this.#sum;
    if (sum !== this.#wantedSum) throw new Damage('the checksum of a block is wrong');
    this.#streamSum = sum ^ ((this.#streamSum << 1) | (this.#streamSum >>> 31));
  }

  #start(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#at = 0;
    this.#bits = this.#kept;
    this.#count = this.#keptBits;
  }

  /** The next `count` bits, 24 at most. */
  #read(count: number): number {
    while (this.#count < count) {
      if (this.#at >= this.#bytes.length) throw new NeedsMore();
      this.#bits = (this.#bits << 8) | this.#bytes[this.#at++]!;
      this.#count += 8;
    }
    this.#count -= count;
    return (this.#bits >>> this.#count) & ((1 << count) - 1);
  }

  /** Which bytes the block holds, in order: a bit for each sixteen, then a bit for each. */
  #symbolsUsed(): readonly number[] {
    const used: number[] = [];
    const groups = this.#read(16);
    for (let group = 0; group < 16; group++) {
      if ((groups & (0x8000 >> group)) === 0) continue;
      const members = this.#read(16);
      for (let i = 0; i < 16; i++) if ((members & (0x8000 >> i)) !== 0) used.push(group * 16 + i);
    }
    if (used.length === 0) throw new Damage('a block uses no byte');
    return used;
  }

  /** Reads the block's symbols into `#links`; returns how many there are. */
  #symbolsOf(used: readonly number[]): number {
    const tables = this.#read(3);
    if (tables < 2 || tables > 6) throw new Damage(`${tables} code tables`);
    const selectors = this.#selectors(tables);
    const codes = Array.from({ length: tables }, () => this.#code(used.length + 2));
    const most = this.#level * 100_000;
    const links = this.#links;
    const recent = Uint8Array.from(used);
    const endOfBlock = used.length + 1;
    let count = 0;
    let repeat = 0;
    let weight = 1;
    for (let group = 0; ; group++) {
      if (group >= selectors.length) throw new Damage('a block does not end');
      const code = codes[selectors[group]!]!;
      for (let i = 0; i < groupSymbols; i++) {
        const symbol = this.#symbol(code);
        if (symbol < 2) {
          // Runs of the last byte are counted in a base of two with the digits 1 and 2.
          repeat += weight << symbol;
          weight <<= 1;
          if (repeat > most) throw new Damage('a run is longer than a block');
          continue;
        }
        if (repeat > 0) {
          if (count + repeat > most) throw new Damage('a block is too long');
          links.fill(recent[0]!, count, count + repeat);
          count += repeat;
          repeat = 0;
          weight = 1;
        }
        if (symbol === endOfBlock) return count;
        if (count === most) throw new Damage('a block is too long');
        const byte = recent[symbol - 1]!;
        recent.copyWithin(1, 0, symbol - 1);
        recent[0] = byte;
        links[count++] = byte;
      }
    }
  }

  /** Which table each fifty symbols are coded with. */
  #selectors(tables: number): Uint8Array {
    const count = this.#read(15);
    if (count === 0) throw new Damage('a block without code tables');
    const recent = Array.from({ length: tables }, (_, i) => i);
    const selectors = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      let at = 0;
      while (this.#read(1) === 1) if (++at >= tables) throw new Damage('an unknown code table');
      const [table] = recent.splice(at, 1);
      recent.unshift(table!);
      selectors[i] = table!;
    }
    return selectors;
  }

  /** A prefix code: the lengths of its words are given as differences. */
  #code(symbols: number): Code {
    const lengths = new Uint8Array(symbols);
    let length = this.#read(5);
    for (let i = 0; i < symbols; i++) {
      for (;;) {
        if (length < 1 || length > mostCodeBits) throw new Damage(`a code word of ${length} bits`);
        if (this.#read(1) === 0) break;
        length += this.#read(1) === 0 ? 1 : -1;
      }
      lengths[i] = length;
    }
    return codeOf(lengths);
  }

  #symbol({ least, limits, offsets, ordered }: Code): number {
    let word = this.#read(least);
    for (let length = least; length <= mostCodeBits; length++) {
      if (word < limits[length]!) {
        const symbol = ordered[word - offsets[length]!];
        if (symbol === undefined) break;
        return symbol;
      }
      word = (word << 1) | this.#read(1);
    }
    throw new Damage('an unknown code word');
  }

  /** Undoes the sorting: links each symbol to the one that follows it. */
  #link(count: number): void {
    const links = this.#links;
    const places = new Uint32Array(257);
    for (let i = 0; i < count; i++) places[links[i]! + 1]!++;
    for (let i = 1; i < 257; i++) places[i]! += places[i - 1]!;
    for (let i = 0; i < count; i++) {
      const place = places[links[i]! & 255]!++;
      links[place] = (links[place]! & 255) | (i << 8);
    }
  }
}

/** Words of one length are consecutive: those below `limits[length]`, and `offsets` leads from them to their symbols. */
interface Code {
  readonly least: number;
  readonly limits: Int32Array;
  readonly offsets: Int32Array;
  readonly ordered: Uint16Array;
}

function codeOf(lengths: Uint8Array): Code {
  const limits = new Int32Array(mostCodeBits + 1);
  const offsets = new Int32Array(mostCodeBits + 1);
  const ordered = new Uint16Array(Math.min(lengths.length, mostSymbols));
  let symbols = 0;
  let word = 0;
  for (let length = 1; length <= mostCodeBits; length++) {
    word <<= 1;
    offsets[length] = word - symbols;
    for (let i = 0; i < lengths.length; i++) {
      if (lengths[i] !== length) continue;
      ordered[symbols++] = i;
      word++;
    }
    limits[length] = word;
  }
  return { least: Math.min(...lengths), limits, offsets, ordered };
}

/** The checksum's table: CRC-32 with the most significant bit first. */
const sums = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 24;
  for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  return sum;
});

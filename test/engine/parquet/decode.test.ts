import { describe, expect, test } from '@jest/globals';
import { ByteSource } from '../../../engine/parquet/byte-source.js';
import { readDeltaDoubles, readDeltaInts } from '../../../engine/parquet/decode-delta.js';
import { readValues } from '../../../engine/parquet/decode-values.js';
import { encodingId } from '../../../engine/parquet/page-encodings.js';
import { physicalType } from '../../../engine/parquet/parquet-schema.js';
import { readConstant, readHybrid, unpackBits } from '../../../engine/parquet/decode-hybrid.js';
import { HybridCursor } from '../../../engine/parquet/hybrid-cursor.js';
import { writeDeltas } from '../../../engine/parquet/delta.js';
import {
  bitWidth,
  maxBitNumberBase,
  writeBitNumbers,
  writeRleBitPacked,
} from '../../../engine/parquet/hybrid.js';
import { ByteSink } from '../../../engine/parquet/byte-sink.js';
import { random } from '../store/random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);

/** Returns a source of the bytes that `write` writes. */
function byteSourceOf(write: (sink: ByteSink) => void): ByteSource {
  const sink = new ByteSink(64);
  write(sink);
  const bytes = sink.writtenBytes().slice();
  sink.release();
  return new ByteSource(bytes);
}

describe('packed bits', () => {
  test.each(Array.from({ length: 33 }, (_, width) => width))(
    `of width %i are what the bits of one large number say (seed ${seed})`,
    (width) => {
      const next = random(seed + width);
      for (const count of [0, 1, 7, 8, 9, 33, 100]) {
        const begin = Math.floor(next() * 4);
        const bytes = Uint8Array.from({ length: begin + Math.ceil((count * width) / 8) }, () =>
          Math.floor(next() * 256),
        );
        let allBits = 0n;
        for (let i = bytes.length - 1; i >= begin; i--)
          allBits = (allBits << 8n) | BigInt(bytes[i]!);
        const mask = (1n << BigInt(width)) - 1n;
        const expected = Array.from({ length: count }, (_, i) =>
          Number(BigInt.asIntN(32, (allBits >> BigInt(i * width)) & mask)),
        );
        const out = new Int32Array(count + 2).fill(-7);
        unpackBits(new ByteSource(bytes), begin, width, count, out, 1);
        expect([...out]).toEqual([-7, ...expected, -7]);
      }
    },
  );
});

describe('runs and packed numbers', () => {
  test(`are decoded as they were written, after existing values (seed ${seed})`, () => {
    const next = random(seed);
    for (let round = 0; round < 300; round++) {
      const width = 1 + Math.floor(next() * 31);
      const limit = 2 ** width;
      const change = next() ** 3;
      let value = 0;
      const values = Int32Array.from({ length: 1 + Math.floor(next() * 500) }, () => {
        if (next() < change) value = Math.floor(next() * limit);
        return value;
      });
      const source = byteSourceOf((sink) =>
        writeRleBitPacked(sink, values, 0, values.length, width),
      );
      const out = new Int32Array(values.length + 2).fill(-7);
      const constant = readConstant(source, width, values.length);
      if (constant === undefined) readHybrid(source, width, values.length, out, 1);
      else out.fill(constant, 1, values.length + 1);
      expect([...out]).toEqual([-7, ...values, -7]);
      expect(source.readOffset).toBe(source.bytes.length);
    }
  });

  test(`from a bitmap are decoded as a number and its bit (seed ${seed})`, () => {
    const next = random(seed + 2);
    for (let round = 0; round < 500; round++) {
      const base = Math.floor(next() * (maxBitNumberBase + 1));
      const width = bitWidth(base + 1);
      const from = Math.floor(next() * 20);
      const to = from + Math.floor(next() * 400);
      const firstBit = Math.floor(next() * 20);
      const change = next() ** 3;
      let bit = next() < 0.5;
      const end = firstBit + to;
      const bits = new Uint8Array(Math.ceil(end / 8) + Math.floor(next() * 2));
      const expected: number[] = [];
      for (let i = 0; i < 8 * bits.length; i++) {
        if (next() < change) bit = !bit;
        if (bit) bits[i >> 3]! |= 1 << (i & 7);
        if (i >= firstBit + from && i < end) expected.push(base + Number(bit));
      }
      const source = byteSourceOf((sink) =>
        writeBitNumbers(sink, { base, bits, firstBit }, from, to, width),
      );
      const out = new Int32Array(expected.length);
      readHybrid(source, width, expected.length, out);
      expect([...out]).toEqual(expected);
      expect(source.readOffset).toBe(source.bytes.length);
    }
  });

  test(`are counted and found without being unpacked (seed ${seed})`, () => {
    const next = random(seed + 3);
    const randomBelow = (limit: number): number => Math.floor(next() * limit);
    for (let round = 0; round < 600; round++) {
      const width = 1 + randomBelow(round % 2 === 0 ? 5 : 32);
      const limit = 2 ** Math.min(width, 1 + randomBelow(32));
      const change = next() ** 3;
      let value = 0;
      const values = Int32Array.from({ length: 1 + randomBelow(500) }, () => {
        if (next() < change) value = randomBelow(limit);
        return value;
      });
      const { length } = values;
      const source = byteSourceOf((sink) => writeRleBitPacked(sink, values, 0, length, width));
      const cursor = new HybridCursor(source, width, length);
      const equalTo = (wanted: number, from: number, to: number): number =>
        values.subarray(from, to).filter((each) => each === wanted).length;
      for (let at = 0; at < length;) {
        const wanted = values[randomBelow(length)]!;
        expect(cursor.peek()).toBe(values[at]);
        if (next() < 0.2) {
          expect(cursor.next()).toBe(values[at++]);
        } else if (next() < 0.5) {
          const to = at + randomBelow(Math.min(length - at, 60) + 1);
          expect(cursor.rank(to, wanted)).toBe(equalTo(wanted, at, to));
          at = to;
        } else {
          const skippedCount = randomBelow(20);
          let end = at;
          for (let passed = 0; end < length; end++)
            if (values[end] === wanted && passed++ === skippedCount) break;
          expect(cursor.select(skippedCount, wanted)).toBe(equalTo(wanted, at, end));
          at = end;
        }
        expect(cursor.index).toBe(at);
      }
      cursor.finish();
      expect(source.readOffset).toBe(source.bytes.length);
    }
  });

  test('are refused if they do not end with their page', () => {
    const values = new Int32Array(40).fill(3);
    const runSource = byteSourceOf((sink) => writeRleBitPacked(sink, values, 0, 40, 2));
    expect(() => readHybrid(runSource, 2, 39, new Int32Array(40))).toThrow('longer than its page');
    runSource.readOffset = 0;
    expect(() => new HybridCursor(runSource, 2, 39).finish()).toThrow('longer than its page');
    const longerSource = new ByteSource(Uint8Array.of(...runSource.bytes, 0));
    expect(() => new HybridCursor(longerSource, 2, 40).finish()).toThrow('do not have the length');
    const packedSource = byteSourceOf((sink) => writeRleBitPacked(sink, values, 0, 7, 2));
    const cutSource = new ByteSource(packedSource.bytes.subarray(0, packedSource.bytes.length - 1));
    expect(() => readHybrid(cutSource, 2, 7, new Int32Array(40))).toThrow(RangeError);
  });
});

describe('differences', () => {
  test(`are decoded as the numbers, in 32 bits and in doubles (seed ${seed})`, () => {
    const next = random(seed + 1);
    for (let round = 0; round < 300; round++) {
      const count = Math.floor(next() * 400);
      const spread = 2 ** Math.floor(next() * 31);
      const isRising = next() < 0.5;
      let at = 0;
      const distances = Int32Array.from({ length: count }, () => {
        at = isRising ? Math.min(at + Math.floor(next() * 9), 2 ** 31 - 1) : 0;
        return isRising ? at : Math.floor(next() * spread);
      });
      const bases = [0, -5, 1_700_000_000_000_000, -(2 ** 52), 2 ** 40];
      const base = bases[Math.floor(next() * bases.length)]!;
      const encodeFrom = (from: number) =>
        byteSourceOf((sink) => writeDeltas(sink, distances, 0, count, from));
      const doubles = new Float64Array(count + 1);
      readDeltaDoubles(encodeFrom(base), count, doubles, 1);
      expect([...doubles]).toEqual([0, ...Array.from(distances, (value) => base + value)]);
      const ints = new Int32Array(count + 1);
      const low = -(2 ** 31);
      readDeltaInts(encodeFrom(low), count, ints, 1);
      expect([...ints]).toEqual([0, ...Array.from(distances, (value) => low + value)]);
    }
  });

  test('are refused when there are more or fewer than values', () => {
    const encodeDifferences = () =>
      byteSourceOf((sink) => writeDeltas(sink, Int32Array.from([1, 2, 3]), 0, 3, 0));
    expect(() => readDeltaInts(encodeDifferences(), 2, new Int32Array(4), 0)).toThrow(
      'a page with 2 values has 3 differences',
    );
    expect(() => readDeltaDoubles(encodeDifferences(), 4, new Float64Array(4), 0)).toThrow(
      'a page with 4 values',
    );
  });
});

describe('values of a dictionary', () => {
  test.each([
    ['int32s', physicalType.int32, { kind: 'int32s', int32s: Int32Array.of(7, 8, 9) }],
    ['int64s', physicalType.int64, { kind: 'int64s', int32s: Int32Array.of(7, 0, 8, 0, 9, 0) }],
  ] as const)('of %s are its entries, and an index beyond them is an error', (_, physical, dictionary) => {
    const read = (...indices: readonly number[]) =>
      readValues(
        byteSourceOf((sink) => {
          sink.writeByte(2);
          writeRleBitPacked(sink, Int32Array.from(indices), 0, indices.length, 2);
        }),
        physical,
        encodingId.rleDictionary,
        indices.length,
        dictionary,
      );
    const { length } = dictionary.int32s;
    expect(read(2, 0)).toEqual({ ...dictionary, int32s: length === 3 ? Int32Array.of(9, 7) : Int32Array.of(9, 0, 7, 0) });
    expect(() => read(0, 3)).toThrow('an index is outside the dictionary');
  }); // prettier-ignore
});

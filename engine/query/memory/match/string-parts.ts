import type { Utf8Strings } from './column.js';
import type { RangeEnd, Predicate } from '../../predicate/predicate.js';
import type { ValueTest } from './row-test.js';
import { startsWithBytes, containsBytes, scanForPrefix, scanContaining } from './string-scan.js';
import { perEntryTest, filterSparse, stringTest } from './string-test.js';

/** Returns the test that selects the strings that contain `substring`. */
export function stringContainsTest(substring: string): ValueTest {
  const text = substring.toWellFormed();
  const part = Buffer.from(text);
  return stringTest({
    entries: perEntryTest((entry) => entry.includes(text)),
    testStrings: (values, count, within) => {
      const { bytes, offsets } = values;
      return (
        filterSparse(within, (value) =>
          containsBytes(bytes, offsets[value]!, offsets[value + 1]!, part),
        ) ?? scanContaining(values, count, part)
      );
    },
  });
}

/** Returns the test that selects the strings that start with `prefix`. */
export function stringPrefixTest(prefix: string): ValueTest {
  const text = prefix.toWellFormed();
  const start = Buffer.from(text);
  return stringTest({
    entries: perEntryTest((entry) => entry.startsWith(text)),
    testStrings: (values, count, within) => {
      const { bytes, offsets } = values;
      return (
        filterSparse(within, (value) =>
          startsWithBytes(bytes, offsets[value]!, offsets[value + 1]!, start),
        ) ?? scanForPrefix(values, count, start)
      );
    },
  });
}

/**
 * Returns the test that selects the strings in a range. They are ordered by code points, which is also the order of their bytes in UTF-8.
 */
export function stringRangeTest({ low, high }: Extract<Predicate, { kind: 'range' }>): ValueTest {
  const [from, to] = [low && boundBytes(low), high && boundBytes(high)];
  const isIn = (bytes: Buffer, start: number, end: number): boolean => {
    if (from && !isInsideBound(compareBytes(bytes, start, end, from), low!)) return false;
    return !to || isInsideBound(-compareBytes(bytes, start, end, to), high!);
  };
  return stringTest({
    entries: perEntryTest((entry) => {
      const bytes = Buffer.from(entry);
      return isIn(bytes, 0, bytes.length);
    }),
    testStrings: ({ bytes, offsets }: Utf8Strings, count, within) => {
      const sparseSelection = filterSparse(within, (value) =>
        isIn(bytes, offsets[value]!, offsets[value + 1]!),
      );
      if (sparseSelection !== undefined) return sparseSelection;
      const mask = new Uint8Array(count);
      for (let value = 0; value < count; value++)
        mask[value] = isIn(bytes, offsets[value]!, offsets[value + 1]!) ? 1 : 0;
      return mask;
    },
  });
}

/** Returns the bytes of a range's end. A lone surrogate becomes U+FFFD, as in a parameter of the SQL executor. */
function boundBytes({ value }: RangeEnd): Buffer {
  return Buffer.from((value as string).toWellFormed());
}

function isInsideBound(order: number, { inclusive }: RangeEnd): boolean {
  return order > 0 || (order === 0 && inclusive);
}

function compareBytes(bytes: Buffer, start: number, end: number, other: Buffer): number {
  const length = Math.min(end - start, other.length);
  for (let i = 0; i < length; i++) {
    const difference = bytes[start + i]! - other[i]!;
    if (difference !== 0) return difference;
  }
  return end - start - other.length;
}

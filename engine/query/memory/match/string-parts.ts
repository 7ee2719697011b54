import type { Utf8Strings } from '../column.js';
import type { RangeEnd, Predicate } from '../../predicate/predicate.js';
import type { ValueTest } from './row-test.js';
import { begins, holds, scanBeginning, scanContaining } from './string-scan.js';
import { eachEntry, someOf, stringTest } from './string-test.js';

/** Selects strings that contain another. */
export function stringContains(wanted: string): ValueTest {
  const text = wanted.toWellFormed();
  const part = Buffer.from(text);
  return stringTest({
    entries: eachEntry((entry) => entry.includes(text)),
    strings: (values, count, within) => {
      const { bytes, offsets } = values;
      return (
        someOf(within, (value) => holds(bytes, offsets[value]!, offsets[value + 1]!, part)) ??
        scanContaining(values, count, part)
      );
    },
  });
}

/** Selects strings that start with another. */
export function stringPrefix(wanted: string): ValueTest {
  const text = wanted.toWellFormed();
  const start = Buffer.from(text);
  return stringTest({
    entries: eachEntry((entry) => entry.startsWith(text)),
    strings: (values, count, within) => {
      const { bytes, offsets } = values;
      return (
        someOf(within, (value) => begins(bytes, offsets[value]!, offsets[value + 1]!, start)) ??
        scanBeginning(values, count, start)
      );
    },
  });
}

/** Selects the strings of a range, in the order of their code points, which is the order of their bytes in UTF-8. */
export function stringRange({ low, high }: Extract<Predicate, { kind: 'range' }>): ValueTest {
  const [from, to] = [low && bytesOf(low), high && bytesOf(high)];
  const isIn = (bytes: Buffer, start: number, end: number): boolean => {
    if (from && !isBeyond(compare(bytes, start, end, from), low!)) return false;
    return !to || isBeyond(-compare(bytes, start, end, to), high!);
  };
  return stringTest({
    entries: eachEntry((entry) => {
      const bytes = Buffer.from(entry);
      return isIn(bytes, 0, bytes.length);
    }),
    strings: ({ bytes, offsets }: Utf8Strings, count, within) => {
      const some = someOf(within, (value) => isIn(bytes, offsets[value]!, offsets[value + 1]!));
      if (some !== undefined) return some;
      const mask = new Uint8Array(count);
      for (let value = 0; value < count; value++)
        mask[value] = isIn(bytes, offsets[value]!, offsets[value + 1]!) ? 1 : 0;
      return mask;
    },
  });
}

/** A lone surrogate becomes U+FFFD, as in a parameter of the SQL executor. */
function bytesOf({ value }: RangeEnd): Buffer {
  return Buffer.from((value as string).toWellFormed());
}

function isBeyond(order: number, { inclusive }: RangeEnd): boolean {
  return order > 0 || (order === 0 && inclusive);
}

function compare(bytes: Buffer, start: number, end: number, other: Buffer): number {
  const length = Math.min(end - start, other.length);
  for (let i = 0; i < length; i++) {
    const difference = bytes[start + i]! - other[i]!;
    if (difference !== 0) return difference;
  }
  return end - start - other.length;
}

import type { Texts } from '../column.js';
import type { Bound, Predicate } from '../../predicate/predicate.js';
import { costs, type ValueTest } from './field-test.js';
import { begins, holds, scanBeginning, scanContaining } from './text-scan.js';
import { eachEntry, someOf, textTest } from './text-test.js';

/** Texts that hold another. */
export function textContains(wanted: string): ValueTest {
  const text = wanted.toWellFormed();
  const part = Buffer.from(text);
  return textTest({
    cost: costs.scan,
    entries: eachEntry((entry) => entry.includes(text)),
    texts: (values, count, within) => {
      const { bytes, offsets } = values;
      return (
        someOf(within, (value) => holds(bytes, offsets[value]!, offsets[value + 1]!, part)) ??
        scanContaining(values, count, part)
      );
    },
  });
}

/** Texts that begin with another. */
export function textPrefix(wanted: string): ValueTest {
  const text = wanted.toWellFormed();
  const start = Buffer.from(text);
  return textTest({
    cost: costs.bytes,
    entries: eachEntry((entry) => entry.startsWith(text)),
    texts: (values, count, within) => {
      const { bytes, offsets } = values;
      return (
        someOf(within, (value) => begins(bytes, offsets[value]!, offsets[value + 1]!, start)) ??
        scanBeginning(values, count, start)
      );
    },
  });
}

/** Texts from one to another in the order of their code points, which is that of their bytes. */
export function textRange({ low, high }: Extract<Predicate, { kind: 'range' }>): ValueTest {
  const [from, to] = [low && bytesOf(low), high && bytesOf(high)];
  const isIn = (bytes: Buffer, start: number, end: number): boolean => {
    if (from && !isBeyond(compare(bytes, start, end, from), low!)) return false;
    return !to || isBeyond(-compare(bytes, start, end, to), high!);
  };
  return textTest({
    cost: costs.scan,
    entries: eachEntry((entry) => {
      const bytes = Buffer.from(entry);
      return isIn(bytes, 0, bytes.length);
    }),
    texts: ({ bytes, offsets }: Texts, count, within) => {
      const some = someOf(within, (value) => isIn(bytes, offsets[value]!, offsets[value + 1]!));
      if (some !== undefined) return some;
      const mask = new Uint8Array(count);
      for (let value = 0; value < count; value++)
        mask[value] = isIn(bytes, offsets[value]!, offsets[value + 1]!) ? 1 : 0;
      return mask;
    },
  });
}

/** What is not a whole character is bound as U+FFFD, as it is by the SQL engine's driver. */
function bytesOf({ value }: Bound): Buffer {
  return Buffer.from((value as string).toWellFormed());
}

function isBeyond(order: number, { inclusive }: Bound): boolean {
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

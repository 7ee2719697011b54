import { ascendingOrder } from '../../core/sorted-sets.js';
import { entryOverheadBytes, type AdmissionCache } from './admission-cache.js';
import type { SegmentView } from './match/column.js';
import { rowIdKey } from './top-rows.js';

/**
 * Returns the rows of a segment in the order of their row ids, which `column` reads; undefined if they ascend or are not stored as numbers.
 * The order is cached under a key that contains `name`, because pages of an interleaved snapshot need it again: 100,000 rows take 2 ms.
 */
export function cachedRowOrder(
  cache: AdmissionCache,
  name: string,
  column: SegmentView['column'],
): Int32Array | undefined {
  const key = `order\n${name}`;
  const cachedOrder = cache.get(key) as Int32Array | 'ascending' | undefined;
  if (cachedOrder !== undefined) return cachedOrder === 'ascending' ? undefined : cachedOrder;
  const values = column(rowIdKey.field)?.values;
  const order = values?.kind === 'numbers' ? ascendingOrder(values.numbers) : undefined;
  cache.set(key, order ?? 'ascending', (order?.byteLength ?? 0) + entryOverheadBytes);
  return order;
}

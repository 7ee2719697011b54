import type { StoredType } from '../../core/types.js';
import { physicalType } from '../../parquet/parquet-schema.js';
import { physicalOfStored } from '../../store/arrow-columns.js';
import { ByteSink } from '../../parquet/byte-sink.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';
import { LeafValues } from './leaf-values.js';
import { plainTextWriters } from './scalar-text.js';

/** Types of columns whose values are scalars. */
export type ScalarType = Exclude<StoredType, 'object'>;

/**
 * Converts the values of a leaf to the type of its column. A segment that was written before its column became wider has the narrower type:
 * integers become longs, floats or doubles, longs and floats become doubles, and every type becomes a string. Throws a `RangeError` for any
 * other pair of types.
 */
export function convertLeafValues(
  values: LeafValues,
  leaf: SegmentLeaf,
  type: ScalarType | undefined,
): LeafValues {
  if (type === undefined || storesType(leaf, type)) return values;
  const storedType = storedScalarType(leaf);
  if (physicalOfStored(type) === physicalType.byteArray)
    return convertToStrings(values, storedType);
  const numbers = storedNumbers(values, storedType);
  if (type === 'double' && numbers !== undefined)
    return new LeafValues({
      kind: 'int64s',
      int32s: new Int32Array(Float64Array.from(numbers).buffer),
    });
  if (type === 'float' && storedType === 'integer')
    return new LeafValues({
      kind: 'int32s',
      int32s: new Int32Array(Float32Array.from(numbers!).buffer),
    });
  if (type === 'long' && storedType === 'integer')
    return new LeafValues({ kind: 'int64s', int32s: Int32Array.from({ length: 2 * values.count }, (_, i) => values.int32s[i >> 1]! >> (i % 2 === 1 ? 31 : 0)) }); // prettier-ignore
  throw new RangeError(
    `column ${leaf.key} holds values of type ${storedType}, which are no ${type}`,
  );
}

/** Returns true if the leaf stores values as columns of this type do, so that they need no conversion. */
export function storesType({ physical, isDate }: SegmentLeaf, type: ScalarType): boolean {
  return physical === physicalOfStored(type) && isDate === (type === 'date');
}

function storedScalarType({ physical, isDate }: SegmentLeaf): ScalarType {
  switch (physical) {
    case physicalType.boolean:
      return 'boolean';
    case physicalType.int32:
      return 'integer';
    case physicalType.int64:
      return isDate ? 'date' : 'long';
    case physicalType.float:
      return 'float';
    case physicalType.double:
      return 'double';
    default:
      return 'string';
  }
}

function storedNumbers(
  { int32s, floats, count }: LeafValues,
  storedType: ScalarType,
): ArrayLike<number> | undefined {
  if (storedType === 'integer') return int32s;
  if (storedType === 'float') return floats;
  if (storedType !== 'long') return undefined;
  return Float64Array.from({ length: count }, (_, i) =>
    Number((BigInt(int32s[2 * i + 1]!) << 32n) | BigInt(int32s[2 * i]! >>> 0)),
  );
}

function convertToStrings(values: LeafValues, storedType: ScalarType): LeafValues {
  const out = new ByteSink(1024);
  try {
    const offsets = new Int32Array(values.count + 1);
    for (let i = 0; i < values.count; i++) {
      plainTextWriters[storedType](out, values, i);
      offsets[i + 1] = out.endOffset;
    }
    return new LeafValues({ kind: 'strings', bytes: out.writtenBytes().slice(), offsets });
  } finally {
    out.release();
  }
}

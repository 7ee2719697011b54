import { overflowError, valueError } from '../values/expression-errors.js';
import { mantissaAndPower } from '../values/float-text.js';
import { asInt, bitLength, toInt } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { exactArguments, nativeTable } from '../values/native.js';
import { Float, PyDict, PyList, PyRange, PySet, PyTuple } from '../values/python-values.js';
import type { Native, PyValue } from '../values/python-values.js';
import { dictMethods } from './mappings.js';
import { listMethods, rangeMethods, tupleMethods } from './sequences.js';
import { frozenSetMethods, setMethods } from './set-methods.js';
import { caseMethods } from './text-case.js';
import { strTransformMethods } from './text-change.js';
import { searchMethods } from './text-search.js';
import { splitMethods } from './text-split.js';

function floatRatio(value: number): PyTuple {
  if (Number.isNaN(value)) throw valueError('cannot convert NaN to integer ratio');
  if (!Number.isFinite(value)) throw overflowError('cannot convert Infinity to integer ratio');
  const parts = mantissaAndPower(Math.abs(value));
  let { mantissa, power } = parts;
  if (mantissa === 0n) return new PyTuple([0, 1]);
  while (power < 0 && (mantissa & 1n) === 0n) {
    mantissa >>= 1n;
    power += 1;
  }
  const numerator = power > 0 ? mantissa << BigInt(power) : mantissa;
  const denominator = power < 0 ? 1n << BigInt(-power) : 1n;
  return new PyTuple([toInt(value < 0 ? -numerator : numerator), toInt(denominator)]);
}

function bitCount(value: PyInt): number {
  const size = BigInt(value) < 0n ? -BigInt(value) : BigInt(value);
  return size.toString(2).replaceAll('0', '').length;
}

const intMethods = nativeTable(
  {
    bit_length: exactArguments(0, (_runtime, value: PyInt | boolean) => bitLength(asInt(value)!)),
    bit_count: exactArguments(0, (_runtime, value: PyInt | boolean) => bitCount(asInt(value)!)),
    as_integer_ratio: exactArguments(
      0,
      (_runtime, value: PyInt | boolean) => new PyTuple([toInt(BigInt(value)), 1]),
    ),
  },
  'int',
);

const methodsByType: Readonly<Record<string, ReadonlyMap<string, Native>>> = {
  str: nativeTable(
    { ...caseMethods, ...strTransformMethods, ...searchMethods, ...splitMethods },
    'str',
  ),
  list: nativeTable(listMethods, 'list'),
  tuple: nativeTable(tupleMethods, 'tuple'),
  dict: nativeTable(dictMethods, 'dict'),
  set: nativeTable(setMethods, 'set'),
  frozenset: nativeTable(frozenSetMethods, 'frozenset'),
  range: nativeTable(rangeMethods, 'range'),
  int: intMethods,
  bool: intMethods,
  float: nativeTable(
    {
      is_integer: exactArguments(0, (_runtime, { value }: Float) => Number.isInteger(value)),
      as_integer_ratio: exactArguments(0, (_runtime, { value }: Float) => floatRatio(value)),
    },
    'float',
  ),
};

const noMethods: ReadonlyMap<string, Native> = new Map();

/** Returns the methods of a type by name; none for a type that has no methods. */
export function methodsOfType(type: string): ReadonlyMap<string, Native> {
  return Object.hasOwn(methodsByType, type) ? methodsByType[type]! : noMethods;
}

/** Returns a method of a type; undefined if the type does not have it. */
export function methodOfType(type: string, name: string): Native | undefined {
  return methodsOfType(type).get(name);
}

/** Returns the methods of a value by name; undefined for a value of a type without methods. */
export function methodsOf(value: PyValue): ReadonlyMap<string, Native> | undefined {
  if (typeof value === 'string') return methodsByType['str'];
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return intMethods;
  if (value instanceof PyDict) return methodsByType['dict'];
  if (value instanceof PyList) return methodsByType['list'];
  if (value instanceof PyTuple) return methodsByType['tuple'];
  if (value instanceof PySet) return methodsByType[value.isFrozen ? 'frozenset' : 'set'];
  if (value instanceof Float) return methodsByType['float'];
  if (value instanceof PyRange) return methodsByType['range'];
  return undefined;
}

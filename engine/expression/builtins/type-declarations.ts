import { overflowError, typeError, valueError } from '../values/expression-errors.js';
import { codePointLength } from '../values/code-points.js';
import { setItem, setOf } from '../values/dict.js';
import { asInt, toIndex, toSize } from '../values/integers.js';
import { copyItems, itemsIn } from '../values/iteration.js';
import {
  exactArguments,
  namedArguments,
  argumentRange,
  variadicArguments,
} from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { asciiOf, reprOf, strOf } from '../values/repr.js';
import { isTruthy } from '../values/truth.js';
import { typeName } from '../values/type-name.js';
import {
  Float,
  Native,
  PyDict,
  PyList,
  PyRange,
  PySet,
  PySlice,
  PyTuple,
  PyType,
} from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { formatValue } from '../formatting/format-value.js';
import { addItems, fromKeys } from '../methods/mappings.js';
import { methodsOfType } from '../methods/tables.js';
import { makeTranslation } from '../methods/text-change.js';
import { iteratorFunctions, lengthOf } from './iterators.js';
import { makeFloat, makeInt, numberFunctions } from './number-types.js';

function makeRange(
  _runtime: Runtime,
  first: PyValue,
  second: PyValue | undefined,
  third: PyValue | undefined,
): PyRange {
  const start = second === undefined ? 0 : toSize(first);
  const stop = toSize(second ?? first);
  const step = third === undefined ? 1 : toSize(third);
  if (step === 0) throw valueError('range() arg 3 must not be zero');
  return new PyRange(start, stop, step);
}

function makeSet(isFrozen: boolean): NativeDeclaration {
  return argumentRange(0, 1, (runtime, values) => {
    if (values === undefined) return new PySet(isFrozen);
    const items = itemsIn(runtime, values);
    runtime.budget.chargeElements(items.length);
    return setOf(items, isFrozen);
  });
}

const makeDict: NativeDeclaration = variadicArguments((runtime, args, keywords) => {
  if (args.length > 1) throw typeError(`dict expected at most 1 argument, got ${args.length}`);
  const dict = new PyDict();
  for (const source of args) addItems(runtime, dict, source);
  for (const [name, value] of keywords ?? []) setItem(dict, name, value);
  return dict;
});

const makeSlice: NativeDeclaration = argumentRange(
  1,
  3,
  (_runtime, first: PyValue, second, third) =>
    second === undefined
      ? new PySlice(null, first, null)
      : new PySlice(first, second, third ?? null),
);

/** A type: how its values are created, and which values it includes. */
interface TypeDeclaration {
  readonly construct: NativeDeclaration;
  readonly includes: (value: PyValue) => boolean;
  readonly statics?: Readonly<Record<string, NativeDeclaration>>;
}

const typeDeclarations: Readonly<Record<string, TypeDeclaration>> = {
  bool: {
    construct: argumentRange(0, 1, (_runtime, value) => value !== undefined && isTruthy(value)),
    includes: (value) => typeof value === 'boolean',
  },
  dict: {
    construct: makeDict,
    includes: (value) => value instanceof PyDict,
    statics: { fromkeys: fromKeys },
  },
  float: { construct: argumentRange(0, 1, makeFloat), includes: (value) => value instanceof Float },
  frozenset: {
    construct: makeSet(true),
    includes: (value) => value instanceof PySet && value.isFrozen,
  },
  int: {
    construct: namedArguments(0, 2, ['', 'base'], makeInt),
    includes: (value) => asInt(value) !== undefined,
  },
  list: {
    construct: argumentRange(
      0,
      1,
      (runtime, values) => new PyList(values === undefined ? [] : copyItems(runtime, values)),
    ),
    includes: (value) => value instanceof PyList,
  },
  range: {
    construct: argumentRange(1, 3, makeRange),
    includes: (value) => value instanceof PyRange,
  },
  set: {
    construct: makeSet(false),
    includes: (value) => value instanceof PySet && !value.isFrozen,
  },
  slice: { construct: makeSlice, includes: (value) => value instanceof PySlice },
  str: {
    construct: namedArguments(0, 1, ['object'], (runtime, value) =>
      value === undefined ? '' : strOf(runtime, value),
    ),
    includes: (value) => typeof value === 'string',
    statics: { maketrans: argumentRange(1, 3, makeTranslation) },
  },
  tuple: {
    construct: argumentRange(0, 1, (runtime, values) => {
      if (values instanceof PyTuple) return values;
      return new PyTuple(values === undefined ? [] : copyItems(runtime, values));
    }),
    includes: (value) => value instanceof PyTuple,
  },
};

function makeType(name: string, { construct, includes, statics }: TypeDeclaration): PyType {
  const members = Object.entries(statics ?? {}).map(
    ([member, declare]) => [member, declare(member)] as const,
  );
  return new PyType(name, construct(name), methodsOfType(name), new Map(members), includes);
}

function isInstance(value: PyValue, type: PyValue): boolean {
  if (type instanceof PyType) return type.includes(value);
  if (type instanceof PyTuple) return type.items.some((one) => isInstance(value, one));
  throw typeError('isinstance() arg 2 must be a type, a tuple of types, or a union');
}

function codePointOf(value: PyValue): number {
  if (typeof value !== 'string')
    throw typeError(`ord() expected string of length 1, but ${typeName(value)} found`);
  const length = codePointLength(value);
  if (length !== 1)
    throw typeError(`ord() expected a character, but string of length ${length} found`);
  return value.codePointAt(0)!;
}

function characterOf(value: PyValue): string {
  const code = toIndex(value);
  if (typeof code === 'bigint' || code !== (code | 0))
    throw overflowError('Python int too large to convert to C int');
  if (code < 0 || code > 0x10ffff) throw valueError('chr() arg not in range(0x110000)');
  return String.fromCodePoint(code);
}

const textFunctions: Readonly<Record<string, NativeDeclaration>> = {
  ascii: exactArguments(1, (runtime, value: PyValue) => asciiOf(runtime, value)),
  chr: exactArguments(1, (_runtime, value: PyValue) => characterOf(value)),
  format: argumentRange(1, 2, (runtime, value: PyValue, spec) => {
    if (spec === undefined) return strOf(runtime, value);
    if (typeof spec !== 'string')
      throw typeError(`format() argument 2 must be str, not ${typeName(spec)}`);
    return formatValue(runtime, value, spec);
  }),
  isinstance: argumentRange(2, 2, (_runtime, value: PyValue, type: PyValue) =>
    isInstance(value, type),
  ),
  len: exactArguments(1, (_runtime, value: PyValue) => lengthOf(value, codePointLength)),
  ord: exactArguments(1, (_runtime, value: PyValue) => codePointOf(value)),
  repr: exactArguments(1, (runtime, value: PyValue) => reprOf(runtime, value)),
};

/** The built-in functions and types of the language by name. */
export const builtins: ReadonlyMap<string, Native | PyType> = new Map<string, Native | PyType>([
  ...Object.entries(typeDeclarations).map(
    ([name, declaration]) => [name, makeType(name, declaration)] as const,
  ),
  ...Object.entries({ ...numberFunctions, ...iteratorFunctions, ...textFunctions }).map(
    ([name, declare]) => [name, declare(name)] as const,
  ),
]);

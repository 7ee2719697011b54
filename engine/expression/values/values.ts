import type { PackedTexts } from '../../core/packed-texts.js';
import type { Budget } from './limits.js';

/**
 * A value of the expression language. None is null; a bool is a boolean; an int is a `number` up to 2^53 - 1 in size (never -0) and a
 * bigint beyond; a str is a string, whose positions count code points. A float is boxed, which keeps 1.0 apart from 1.
 */
export type PyValue = null | boolean | number | bigint | string | PyObject;

/** The values that are objects. There is no other object, so nothing of the host can be reached. */
export type PyObject =
  | Float
  | PyList
  | PyTuple
  | PyDict
  | PySet
  | PyRange
  | PySlice
  | PyIterator
  | DictView
  | PyLambda
  | Native
  | BoundMethod
  | PyType;

/** A float. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A list. */
export class PyList {
  readonly items: PyValue[];
  constructor(items: PyValue[]) {
    this.items = items;
  }
}

/** A tuple. */
export class PyTuple {
  readonly items: readonly PyValue[];
  constructor(items: readonly PyValue[]) {
    this.items = items;
  }
}

/** A key of a Map in which two keys are one exactly if they are equal in Python; see `mapKey`. */
export type MapKey = null | number | bigint | string | object;

/**
 * A dict in insertion order. `originals` has the keys that differ from their map key: floats, bools, tuples and the like. The record
 * itself is a dict with `isRecord`.
 */
export class PyDict {
  readonly map = new Map<MapKey, PyValue>();
  originals: Map<MapKey, PyValue> | undefined;
  isRecord = false;
}

/** A set or frozenset in insertion order. */
export class PySet {
  readonly map = new Map<MapKey, PyValue>();
  readonly isFrozen: boolean;
  constructor(isFrozen: boolean) {
    this.isFrozen = isFrozen;
  }
}

/** A range; all numbers are safe integers. */
export class PyRange {
  readonly start: number;
  readonly stop: number;
  readonly step: number;
  readonly length: number;
  constructor(start: number, stop: number, step: number) {
    this.start = start;
    this.stop = stop;
    this.step = step;
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }
}

/** A slice object. */
export class PySlice {
  readonly start: PyValue;
  readonly stop: PyValue;
  readonly step: PyValue;
  constructor(start: PyValue, stop: PyValue, step: PyValue) {
    this.start = start;
    this.stop = stop;
    this.step = step;
  }
}

/** An iterator. `next` returns undefined at the end and ever after. */
export class PyIterator {
  readonly typeName: string;
  readonly next: () => PyValue | undefined;
  constructor(typeName: string, next: () => PyValue | undefined) {
    this.typeName = typeName;
    this.next = next;
  }
}

/** The result of a dict's `keys()`, `values()` or `items()`: a view that follows the dict. */
export class DictView {
  readonly dict: PyDict;
  readonly part: 'keys' | 'values' | 'items';
  constructor(dict: PyDict, part: 'keys' | 'values' | 'items') {
    this.dict = dict;
    this.part = part;
  }
}

/** The variables of one activation: the expression itself, a call of a lambda, a generator. */
export class ActivationFrame {
  readonly slots: (PyValue | undefined)[];
  readonly up: ActivationFrame | undefined;
  constructor(slots: (PyValue | undefined)[], up: ActivationFrame | undefined) {
    this.slots = slots;
    this.up = up;
  }
}

/** A node compiled to a closure. */
export type Code = (frame: ActivationFrame) => PyValue;

/** A parameter list. Slots 0, 1, … of a call's frame hold the parameters in this order, then `*args`, then `**kwargs`. */
export interface LambdaParameters {
  readonly names: readonly string[];
  readonly positionalOnly: number;
  readonly keywordOnly: readonly string[];
  readonly hasRest: boolean;
  readonly hasKeywords: boolean;
}

/** The compiled part of a lambda. */
export interface LambdaCode {
  readonly parameters: LambdaParameters;
  readonly frameSize: number;
  readonly body: Code;
  readonly cost: number;
}

/** A lambda with the frame that it was made in. `defaults` are in the order of names and keyword-only names. */
export class PyLambda {
  readonly code: LambdaCode;
  readonly up: ActivationFrame;
  readonly defaults: readonly (PyValue | undefined)[];
  constructor(code: LambdaCode, up: ActivationFrame, defaults: readonly (PyValue | undefined)[]) {
    this.code = code;
    this.up = up;
    this.defaults = defaults;
  }
}

/** Keyword arguments of a call, in order. */
export type Keywords = ReadonlyMap<string, PyValue>;

/**
 * The code of a built-in function: arguments by position, undefined where not given. A method gets its value as the first one, and may
 * declare it with its own type, since the caller has checked it.
 */
export type NativeCode = {
  bivariant(runtime: Runtime, ...args: (PyValue | undefined)[]): PyValue;
}['bivariant'];

/** The code of a built-in function with any number of arguments. */
export type VariadicCode = (
  runtime: Runtime,
  args: readonly PyValue[],
  keywords: Keywords | undefined,
) => PyValue;

/** How CPython words a wrong number of arguments, which depends on how it implements the function. */
export type ArityWording = 'exact' | 'range' | 'clinic';

/** The parameters of a built-in function. */
export interface NativeShape {
  readonly min: number;
  /** The greatest number of positional arguments. */
  readonly max: number;
  /** Names by position, `''` for positional-only ones; names after `max` are keyword-only. */
  readonly names: readonly string[];
  readonly wording: ArityWording;
}

/** A built-in function or method. In a method, `shape` does not count the value itself. */
export class Native {
  readonly name: string;
  readonly shape: NativeShape;
  readonly code: NativeCode;
  readonly variadic: VariadicCode | undefined;
  /** The name of the type whose method it is. */
  readonly owner: string | undefined;
  constructor(
    name: string,
    shape: NativeShape,
    code: NativeCode,
    variadic?: VariadicCode,
    owner?: string,
  ) {
    this.name = name;
    this.shape = shape;
    this.code = code;
    this.variadic = variadic;
    this.owner = owner;
  }
}

/** A method together with its value. */
export class BoundMethod {
  readonly self: PyValue;
  readonly native: Native;
  constructor(self: PyValue, native: Native) {
    this.self = self;
    this.native = native;
  }
}

/** A type: callable, usable in `isinstance`, and the owner of unbound methods. */
export class PyType {
  readonly name: string;
  readonly construct: Native;
  readonly methods: ReadonlyMap<string, Native>;
  /** Methods that are called on the type itself, as `dict.fromkeys`. */
  readonly statics: ReadonlyMap<string, Native>;
  readonly includes: (value: PyValue) => boolean;
  constructor(
    name: string,
    construct: Native,
    methods: ReadonlyMap<string, Native>,
    statics: ReadonlyMap<string, Native>,
    includes: (value: PyValue) => boolean,
  ) {
    this.name = name;
    this.construct = construct;
    this.methods = methods;
    this.statics = statics;
    this.includes = includes;
  }
}

/** The functions and data that an expression gets from its caller; each is optional. */
export interface ExpressionHost {
  /** The time in milliseconds since 1970 that `now()` and `today()` show; fixed once per task. */
  readonly now?: number;
  /** Returns the authenticated user. */
  readonly user?: () => { readonly name: string; readonly email: string };
  /** Functions of the host by name; arguments as values in the order of the declaration, undefined where not given. */
  readonly functions?: ReadonlyMap<string, HostFunction>;
  /** Collects calls that are answered together; set while an evaluation runs only to find its calls. */
  readonly ahead?: CallsAhead;
}

/** Calls of dataset functions that evaluations are about to make, answered together. */
export interface CallsAhead {
  /**
   * The host for evaluations whose results are discarded: dataset functions return known answers; for other calls they note the call and return an
   * empty value.
   */
  readonly host: ExpressionHost;
  /** The number of empty values returned so far: an evaluation in which it stays 0 has its final result. */
  readonly missed: number;
  /**
   * The call for which a function returned this empty value, if it is the last one that did: an evaluation that gives nothing but the value of a
   * call has its result as soon as the call is answered. Undefined for any other value.
   */
  missedCall(value: PyValue): MissedCall | undefined;
  /** Has the noted calls answered, as far as they can be together; false if there were none. */
  answer(): boolean;
  /**
   * The calls that have other texts in the place of one, which stands in the only call that was noted, and which is forgotten. Undefined if
   * none was, or more than one, or if the text does not stand there once.
   */
  uniformCalls(placeholder: string): UniformCalls | undefined;
}

/** The calls of a function whose arguments differ in one text alone. */
export interface UniformCalls {
  /** The key of a call; equal calls have equal keys. */
  readonly key: string;
  /** Has the calls answered together whose texts some texts of a column are, by their numbers there. */
  answers(texts: PackedTexts, some: readonly number[]): UniformAnswers;
}

/** The answers to `UniformCalls`. */
export interface UniformAnswers {
  /** The JSON text of each answer; an empty one for a call that has to be made alone. */
  readonly texts: PackedTexts;
  /** The answer at an index, as the answered call that a `MissedCall` becomes. */
  call(at: number): MissedCall;
}

/** A call that is not answered yet. */
export interface MissedCall {
  /** The value that the call returns; undefined if it is too long to be kept or not known yet: the caller then makes the call. */
  value(runtime: Runtime): PyValue | undefined;
  /** Keeps the answer, because the value is of no use and the call will be made. */
  keep(): void;
}

/** The most characters of the JSON text of a value of a `MissedCall`. */
export const longestMissedValue = 1000;

/** A function that the host implements. An `ExpressionError` that it throws is shown as it is. */
export type HostFunction = (runtime: Runtime, args: readonly (PyValue | undefined)[]) => PyValue;

/** The state of an evaluation that built-in functions need. */
export interface Runtime {
  readonly budget: Budget;
  readonly host: ExpressionHost;
}

import type { PackedStrings } from '../../core/packed-strings.js';
import type { Budget } from './expression-limits.js';

/**
 * A value of the expression language. None is null; a bool is a boolean; an int is a `number` up to an absolute value of 2^53 - 1 (never
 * -0) and a bigint beyond; a str is a string, whose positions count code points. A float is boxed, to distinguish 1.0 from 1.
 */
export type PyValue = null | boolean | number | bigint | string | PyObject;

/** The values that are objects. An expression can reach no other object, and therefore nothing of the host. */
type PyObject =
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

/** A float; it is an object, to distinguish 1.0 from 1. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A list, whose `items` change in place. */
export class PyList {
  readonly items: PyValue[];
  constructor(items: PyValue[]) {
    this.items = items;
  }
}

/** A tuple, whose items never change. */
export class PyTuple {
  readonly items: readonly PyValue[];
  constructor(items: readonly PyValue[]) {
    this.items = items;
  }
}

/** A key in the Map of a dict or set. Two keys are the same exactly if their values are equal in Python; see `mapKey`. */
export type MapKey = null | number | bigint | string | object;

/**
 * A dict in insertion order. `originals` has the keys that differ from their map key, such as floats, bools and tuples. The record is a
 * dict with `isRecord`.
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

/** A slice object; a part that is not given is None. */
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

/** An iterator. `next` returns undefined at the end, and in all calls after that. */
export class PyIterator {
  readonly typeName: string;
  readonly next: () => PyValue | undefined;
  constructor(typeName: string, next: () => PyValue | undefined) {
    this.typeName = typeName;
    this.next = next;
  }
}

/** The result of a dict's `keys()`, `values()` or `items()`: a view that shows later changes of the dict. */
export class DictView {
  readonly dict: PyDict;
  readonly part: 'keys' | 'values' | 'items';
  constructor(dict: PyDict, part: 'keys' | 'values' | 'items') {
    this.dict = dict;
    this.part = part;
  }
}

/** The variables of one activation: of the expression, of a call of a lambda, or of a comprehension that has a frame of its own. */
export class ActivationFrame {
  readonly slots: (PyValue | undefined)[];
  readonly up: ActivationFrame | undefined;
  constructor(slots: (PyValue | undefined)[], up: ActivationFrame | undefined) {
    this.slots = slots;
    this.up = up;
  }
}

/** A node compiled to a closure. */
export type CompiledNode = (frame: ActivationFrame) => PyValue;

/** A parameter list. The first slots of the frame of a call hold `names`, then `keywordOnly`, then `*args` and `**kwargs`, if present. */
interface LambdaParameters {
  readonly names: readonly string[];
  readonly positionalOnlyCount: number;
  readonly keywordOnly: readonly string[];
  readonly hasRest: boolean;
  readonly hasKeywords: boolean;
}

/** The compiled part of a lambda. */
interface LambdaCode {
  readonly parameters: LambdaParameters;
  readonly frameSize: number;
  readonly body: CompiledNode;
  readonly cost: number;
}

/** A lambda with the frame in which it was created. `defaults` are in the order of names and keyword-only names. */
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
 * The code of a built-in function: it gets the arguments by position, undefined for one that is not given. A method gets the
 * value on which it is called as the first argument, and may declare it with its specific type, because the caller has checked the type.
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

/** The form of CPython's message about a wrong number of arguments, which depends on how CPython implements the function. */
export type ArityWording = 'exact' | 'range' | 'clinic';

/** The parameters of a built-in function. */
export interface NativeShape {
  readonly min: number;
  /** The maximum number of positional arguments. */
  readonly max: number;
  /** The names of the arguments by position, `''` for positional-only ones; names after `max` are keyword-only. */
  readonly names: readonly string[];
  readonly wording: ArityWording;
}

/** A built-in function or method. In a method, `shape` does not count the value itself. */
export class Native {
  readonly name: string;
  readonly shape: NativeShape;
  readonly code: NativeCode;
  readonly variadic: VariadicCode | undefined;
  /** For a method, the name of its type; otherwise undefined. */
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

/** A method together with the value on which it is called. */
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
  /** Methods that are called on the type itself, such as `dict.fromkeys`. */
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
  /** The time in milliseconds since 1970 that `now()` and `today()` return; the same during a whole request or task. */
  readonly now?: number;
  /** Returns the authenticated user. */
  readonly user?: () => { readonly name: string; readonly email: string };
  /** Functions of the host by name. The arguments are values in the order of the declaration, undefined for one that is not given. */
  readonly functions?: ReadonlyMap<string, HostFunction>;
  /** Collects calls that are to be answered together; absent in `callPrefetcher.host` itself. */
  readonly callPrefetcher?: CallPrefetcher;
}

/** Collects the calls of dataset functions that evaluations are about to make, so that they are answered together. */
export interface CallPrefetcher {
  /**
   * The host for evaluations ahead: a dataset function returns the answer if it is known; otherwise it returns an empty value, and the call
   * is noted if it can be answered together with others.
   */
  readonly host: ExpressionHost;
  /**
   * The number of calls of host functions that have returned an empty value so far, because their answer is not known yet. An evaluation
   * during which it stays the same has its final result.
   */
  readonly missedCallCount: number;
  /**
   * Returns the noted call for which a function has returned this empty value, if this was the last empty value and is an empty list;
   * otherwise undefined. If the result of an evaluation is just the value of a call, it is known as soon as the call is answered.
   */
  missedCall(value: PyValue): PendingCall | undefined;
  /** Answers the noted calls, together as far as possible; returns false if there were none. */
  answer(): boolean;
  /**
   * Returns the calls that result if the placeholder in the only noted call is replaced by other texts; the noted call is forgotten.
   * Returns undefined if not exactly one call was noted, or if `placeholder` does not occur in it exactly once.
   */
  callsSharingTemplate(placeholder: string): CallsSharingTemplate | undefined;
}

/** Calls of a function that share a template: their arguments differ in only one text. */
export interface CallsSharingTemplate {
  /** The key of the template; equal templates have equal keys. */
  readonly key: string;
  /** Answers the calls that have certain texts of a column, given by their indices in `some`. */
  answers(texts: PackedStrings, some: readonly number[]): TemplateCallAnswers;
}

/** The answers to `CallsSharingTemplate`. */
export interface TemplateCallAnswers {
  /** The JSON text of each answer; empty for a call that has to be answered separately. */
  readonly texts: PackedStrings;
  /** Returns the answer at an index, in the form of an answered `PendingCall`. */
  call(at: number): PendingCall;
}

/** A call that was noted instead of answered, or that was answered together with others of its template. */
export interface PendingCall {
  /**
   * Returns the value of the call. Undefined if the answer is not known, or has more than `maxPendingValueLength` characters: the
   * evaluation then has to execute the call.
   */
  value(runtime: Runtime): PyValue | undefined;
  /** Stores the answer, if it is known, for a later evaluation that executes the call; needed if `value` is not used. */
  keep(): void;
}

/** The maximum number of characters of JSON text that a `PendingCall` can have as its value. */
export const maxPendingValueLength = 1000;

/** A function that the host implements. An `ExpressionError` that it throws is shown unchanged. */
export type HostFunction = (runtime: Runtime, args: readonly (PyValue | undefined)[]) => PyValue;

/** The state of an evaluation, as far as built-in functions need it. */
export interface Runtime {
  readonly budget: Budget;
  readonly host: ExpressionHost;
}

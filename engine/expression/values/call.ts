import { suggestSimilar, typeError } from './expression-errors.js';
import { setItem } from './dict.js';
import { typeName } from './type-name.js';
import {
  BoundMethod,
  ActivationFrame,
  Native,
  PyDict,
  PyLambda,
  PyTuple,
  PyType,
} from './python-values.js';
import type { Keywords, PyValue, Runtime } from './python-values.js';

/** Calls a value with positional and keyword arguments; throws a TypeError if the value is not callable. */
export function callValue(
  runtime: Runtime,
  callee: PyValue,
  args: readonly PyValue[],
  keywords?: Keywords,
): PyValue {
  if (callee instanceof PyLambda) return callLambda(runtime, callee, args, keywords);
  if (callee instanceof Native) return callNative(runtime, callee, args, keywords);
  if (callee instanceof BoundMethod)
    return callMethod(runtime, callee.self, callee.native, args, keywords);
  if (callee instanceof PyType) return callNative(runtime, callee.construct, args, keywords);
  throw typeError(`'${typeName(callee)}' object is not callable`);
}

/** Calls a value with one argument. For a lambda with one plain parameter, no array of arguments is created. */
export function callWithOneArgument(runtime: Runtime, callee: PyValue, arg: PyValue): PyValue {
  if (callee instanceof PyLambda && hasPlainParameters(callee, 1)) {
    const frame = enterLambda(runtime, callee);
    frame.slots[0] = arg;
    return leaveLambda(runtime, callee, frame);
  }
  return callValue(runtime, callee, [arg]);
}

function hasPlainParameters(lambda: PyLambda, count: number): boolean {
  const { names, keywordOnly, hasRest, hasKeywords } = lambda.code.parameters;
  return names.length === count && !hasRest && !hasKeywords && keywordOnly.length === 0;
}

function enterLambda(runtime: Runtime, { code, up }: PyLambda): ActivationFrame {
  runtime.budget.enterCall(code.cost);
  const slots: (PyValue | undefined)[] = [];
  for (let i = 0; i < code.frameSize; i++) slots.push(undefined);
  return new ActivationFrame(slots, up);
}

function leaveLambda(runtime: Runtime, { code }: PyLambda, frame: ActivationFrame): PyValue {
  const result = code.body(frame);
  runtime.budget.depth -= 1;
  return result;
}

function callLambda(
  runtime: Runtime,
  lambda: PyLambda,
  args: readonly PyValue[],
  keywords: Keywords | undefined,
): PyValue {
  const frame = enterLambda(runtime, lambda);
  bindParameters(lambda, frame.slots, args, keywords);
  return leaveLambda(runtime, lambda, frame);
}

/** Stores the arguments of a call in the slots of its frame. */
function bindParameters(
  { code: { parameters }, defaults }: PyLambda,
  slots: (PyValue | undefined)[],
  args: readonly PyValue[],
  keywords: Keywords | undefined,
): void {
  const { names, keywordOnly, hasRest, hasKeywords, positionalOnlyCount } = parameters;
  const count = names.length;
  for (let i = 0; i < Math.min(count, args.length); i++) slots[i] = args[i]!;
  const extra = new PyDict();
  for (const [name, value] of keywords ?? []) {
    const at = names.indexOf(name, positionalOnlyCount);
    const keywordOnlyAt = at < 0 ? keywordOnly.indexOf(name) : -1;
    if (at >= 0) {
      if (slots[at] !== undefined)
        throw typeError(`<lambda>() got multiple values for argument '${name}'`);
      slots[at] = value;
    } else if (keywordOnlyAt >= 0) slots[count + keywordOnlyAt] = value;
    else if (hasKeywords) setItem(extra, name, value);
    else if (names.includes(name))
      throw typeError(
        `<lambda>() got some positional-only arguments passed as keyword arguments: '${name}'`,
      );
    else
      throw typeError(
        `<lambda>() got an unexpected keyword argument '${name}'`,
        suggestSimilar(name, () => names.concat(keywordOnly)),
      );
  }
  if (args.length > count && !hasRest)
    throw tooManyArgumentsError(parameters.names, defaults, args.length);
  const totalCount = count + keywordOnly.length;
  const missingNames: string[] = [];
  for (let i = 0; i < count; i++) {
    if (slots[i] === undefined) slots[i] = defaults[i];
    if (slots[i] === undefined) missingNames.push(names[i]!);
  }
  if (missingNames.length > 0) throw missingArgumentsError(missingNames, 'positional');
  for (let i = count; i < totalCount; i++) {
    if (slots[i] === undefined) slots[i] = defaults[i];
    if (slots[i] === undefined) missingNames.push(keywordOnly[i - count]!);
  }
  if (missingNames.length > 0) throw missingArgumentsError(missingNames, 'keyword-only');
  if (hasRest) slots[totalCount] = new PyTuple(args.slice(count));
  if (hasKeywords) slots[totalCount + (hasRest ? 1 : 0)] = extra;
}

function tooManyArgumentsError(
  names: readonly string[],
  defaults: readonly (PyValue | undefined)[],
  given: number,
): Error {
  const maxArguments = names.length;
  const minArguments = names.filter((_, i) => defaults[i] === undefined).length;
  const countText =
    minArguments === maxArguments ? `${maxArguments}` : `from ${minArguments} to ${maxArguments}`;
  const plural = maxArguments === 1 && minArguments === maxArguments ? '' : 's';
  return typeError(
    `<lambda>() takes ${countText} positional argument${plural} but ${given} ${given === 1 ? 'was' : 'were'} given`,
  );
}

function missingArgumentsError(names: readonly string[], kind: string): Error {
  const quotedNames = names.map((name) => `'${name}'`);
  const last = quotedNames.pop()!;
  const comma = quotedNames.length > 1 ? ',' : '';
  const list = quotedNames.length > 0 ? `${quotedNames.join(', ')}${comma} and ${last}` : last;
  const plural = names.length === 1 ? '' : 's';
  return typeError(
    `<lambda>() missing ${names.length} required ${kind} argument${plural}: ${list}`,
  );
}

/** Calls a built-in function or an unbound method; the first argument of a method is the value on which it is called. */
export function callNative(
  runtime: Runtime,
  native: Native,
  args: readonly PyValue[],
  keywords?: Keywords,
): PyValue {
  if (native.owner !== undefined) {
    const [self] = args;
    if (self === undefined)
      throw typeError(`unbound method ${native.owner}.${native.name}() needs an argument`);
    const isOwn =
      typeName(self) === native.owner || (native.owner === 'int' && typeof self === 'boolean');
    if (!isOwn)
      throw typeError(
        `descriptor '${native.name}' for '${native.owner}' objects doesn't apply to a '${typeName(self)}' object`,
      );
    return callMethod(runtime, self, native, args.slice(1), keywords);
  }
  runtime.budget.charge(1);
  if (native.variadic) return native.variadic(runtime, args, keywords);
  return native.code(runtime, ...bindArguments(native, args, keywords));
}

/** Calls a method on `self`, whose type is not checked; `args` are the other arguments. */
export function callMethod(
  runtime: Runtime,
  self: PyValue,
  native: Native,
  args: readonly PyValue[],
  keywords?: Keywords,
): PyValue {
  runtime.budget.charge(1);
  if (native.variadic) return native.variadic(runtime, [self].concat(args), keywords);
  return native.code(runtime, self, ...bindArguments(native, args, keywords));
}

/** Returns the arguments of a call by position; missing ones are undefined. */
function bindArguments(
  native: Native,
  args: readonly PyValue[],
  keywords: Keywords | undefined,
): (PyValue | undefined)[] {
  const { shape } = native;
  if (keywords === undefined || keywords.size === 0) {
    checkArgumentCount(native, args.length);
    return args.slice();
  }
  if (shape.names.length === 0)
    throw typeError(`${qualifiedName(native)}() takes no keyword arguments`);
  const givenCount = args.length + keywords.size;
  if (givenCount > shape.names.length || args.length > shape.max)
    throw typeError(
      `${native.name}() takes at most ${shape.names.length} ${args.length === 0 ? 'keyword ' : ''}argument${shape.names.length === 1 ? '' : 's'} (${givenCount} given)`,
    );
  const bound: (PyValue | undefined)[] = args.slice();
  for (const [name, value] of keywords) {
    const at = shape.names.indexOf(name);
    if (at < 0 || name === '') throw invalidKeywordError(name, native.name, shape.names);
    if (at < args.length)
      throw typeError(
        `argument for ${native.name}() given by name ('${name}') and position (${at + 1})`,
      );
    bound[at] = value;
  }
  for (let i = 0; i < shape.min; i++)
    if (bound[i] === undefined) throw missingNativeArgumentError(native, i);
  return bound;
}

/** Returns the TypeError for a keyword argument that a function does not have. */
export function invalidKeywordError(name: string, of: string, names: readonly string[]): Error {
  return typeError(
    `'${name}' is an invalid keyword argument for ${of}()`,
    suggestSimilar(name, () => names),
  );
}

function missingNativeArgumentError(native: Native, at: number): Error {
  const name = native.shape.names[at] ?? '';
  return name === ''
    ? typeError(
        `${native.name}() takes at least ${native.shape.min} positional arguments (${at} given)`,
      )
    : typeError(`${native.name}() missing required argument '${name}' (pos ${at + 1})`);
}

function qualifiedName(native: Native): string {
  return native.owner === undefined ? native.name : `${native.owner}.${native.name}`;
}

/** Throws the TypeError of CPython for a wrong number of positional arguments. */
function checkArgumentCount(native: Native, given: number): void {
  const { min, max, wording, names } = native.shape;
  if (given >= min && given <= max) return;
  const plural = (count: number) => (count === 1 ? '' : 's');
  if (wording === 'exact') {
    const wantedText =
      min === 0 ? 'no arguments' : min === 1 ? 'exactly one argument' : `exactly ${min} arguments`;
    throw typeError(`${qualifiedName(native)}() takes ${wantedText} (${given} given)`);
  }
  if (wording === 'range') {
    const wantedText =
      min === max
        ? `${min} argument${plural(min)}`
        : given < min
          ? `at least ${min} argument${plural(min)}`
          : `at most ${max} argument${plural(max)}`;
    throw typeError(`${native.name} expected ${wantedText}, got ${given}`);
  }
  if (given < min) throw missingNativeArgumentError(native, given);
  const kind = max < names.length ? 'positional argument' : 'argument';
  const bound = min === max && max < names.length ? 'exactly' : 'at most';
  throw typeError(`${native.name}() takes ${bound} ${max} ${kind}${plural(max)} (${given} given)`);
}

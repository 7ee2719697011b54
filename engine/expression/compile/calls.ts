import { compileGet, compilePath } from './compile-access.js';
import { getAttribute } from '../methods/get-attribute.js';
import { methodOfType } from '../methods/tables.js';
import type { Argument, SyntaxNode } from '../syntax/syntax-tree.js';
import { callMethod, callNative, callValue } from '../values/call.js';
import { typeError } from '../values/expression-errors.js';
import { originalKey } from '../values/dict.js';
import { itemsIn } from '../values/iteration.js';
import { typeName } from '../values/type-name.js';
import {
  BoundMethod,
  DictView,
  Native,
  PyDict,
  PyIterator,
  PyLambda,
  PyList,
  PyType,
} from '../values/python-values.js';
import { PyRange, PySet, PyTuple } from '../values/python-values.js';
import type { CompiledNode, ActivationFrame, Keywords, PyValue } from '../values/python-values.js';
import type { EvaluationState, NodeCompiler, NameScope } from './scope.js';

/**
 * Compiles a call. If a built-in function, or a method of a text or dict, that is not variadic is called with a valid number of arguments,
 * at most three and all by position, no array of arguments is created.
 */
export function compileCall(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'call' },
  scope: NameScope,
): CompiledNode {
  const { callee, args } = node;
  if (callee.kind === 'attribute') {
    const general = compileMethodCall(compiler, callee, args, scope);
    return compileGet(compiler, node, scope, general);
  }
  if (callee.kind === 'name') {
    const meaning = compiler.resolveName(callee.name, scope);
    if (meaning.kind === 'builtin') {
      const path = compilePath(compiler, node, scope);
      if (path !== undefined) return path;
      const native = meaning.value instanceof PyType ? meaning.value.construct : meaning.value;
      return compileNativeCall(compiler, native, args, scope);
    }
  }
  const { state } = compiler;
  const calleeCode = compiler.compile(callee, scope);
  const plainArgs = plainArguments(compiler, args, scope);
  if (plainArgs !== undefined)
    return (frame) => {
      const target = calleeCode(frame);
      return callValue(
        state,
        target,
        plainArgs.map((code) => code(frame)),
      );
    };
  const positional = compilePositional(compiler, args, scope);
  const keywords = compileKeywords(compiler, args, scope);
  return (frame) => {
    const target = calleeCode(frame);
    const values = positional(frame);
    return callValue(state, target, values, keywords(frame, target));
  };
}

/** Returns the codes of the arguments if all are positional and none is unpacked; otherwise undefined. */
function plainArguments(
  compiler: NodeCompiler,
  args: readonly Argument[],
  scope: NameScope,
): readonly CompiledNode[] | undefined {
  if (!args.every(({ kind }) => kind === 'positional')) return undefined;
  return args.map(({ value }) => compiler.compile(value, scope));
}

function acceptsArgumentCount(native: Native | undefined, count: number): native is Native {
  return (
    native !== undefined &&
    native.variadic === undefined &&
    count >= native.shape.min &&
    count <= native.shape.max
  );
}

function compileNativeCall(
  compiler: NodeCompiler,
  native: Native,
  args: readonly Argument[],
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  const plainArgs = plainArguments(compiler, args, scope);
  if (plainArgs !== undefined && acceptsArgumentCount(native, plainArgs.length)) {
    const { code } = native;
    const [a, b, c] = plainArgs;
    if (a === undefined) return () => code(state);
    if (b === undefined) return (frame) => code(state, a(frame));
    if (c === undefined) return (frame) => code(state, a(frame), b(frame));
    if (plainArgs.length === 3) return (frame) => code(state, a(frame), b(frame), c(frame));
  }
  if (plainArgs !== undefined) {
    const { variadic } = native;
    const values = (frame: ActivationFrame) => plainArgs.map((code) => code(frame));
    if (variadic !== undefined) return (frame) => variadic(state, values(frame), undefined);
    return (frame) => callNative(state, native, values(frame));
  }
  const byName = compileInParameterOrder(compiler, native, args, scope);
  if (byName !== undefined) return (frame) => native.code(state, ...byName(frame));
  const positional = compilePositional(compiler, args, scope);
  const keywords = compileKeywords(compiler, args, scope);
  return (frame) => {
    const values = positional(frame);
    return callNative(state, native, values, keywords(frame, native));
  };
}

/**
 * Compiles arguments, some of which are given by name, to a function that returns their values in the order of the parameters. Returns
 * undefined for a variadic function, and if arguments are unpacked or do not fit the parameters; the call itself then assigns them.
 */
function compileInParameterOrder(
  compiler: NodeCompiler,
  native: Native,
  args: readonly Argument[],
  scope: NameScope,
): ((frame: ActivationFrame) => (PyValue | undefined)[]) | undefined {
  if (native.variadic !== undefined) return undefined;
  const { names, min, max } = native.shape;
  const count = args.filter(({ kind }) => kind === 'positional').length;
  if (count > max) return undefined;
  const positions: number[] = [];
  for (const [i, argument] of args.entries()) {
    if (argument.kind === 'positional') positions.push(i);
    else if (argument.kind === 'keyword') {
      const at = names.indexOf(argument.name);
      if (at < count || positions.includes(at)) return undefined;
      positions.push(at);
    } else return undefined;
  }
  for (let i = 0; i < min; i++) if (!positions.includes(i)) return undefined;
  const codes = args.map(({ value }) => compiler.compile(value, scope));
  const size = Math.max(...positions) + 1;
  return (frame) => {
    const values: (PyValue | undefined)[] = [];
    for (let i = 0; i < size; i++) values.push(undefined);
    for (let i = 0; i < codes.length; i++) values[positions[i]!] = codes[i]!(frame);
    return values;
  };
}

function compileMethodCall(
  compiler: NodeCompiler,
  callee: SyntaxNode & { readonly kind: 'attribute' },
  args: readonly Argument[],
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  const { name } = callee;
  const object = compiler.compile(callee.object, scope);
  const plainArgs = plainArguments(compiler, args, scope);
  const positional = plainArgs ? undefined : compilePositional(compiler, args, scope);
  const keywords = plainArgs ? undefined : compileKeywords(compiler, args, scope);
  const slow = (self: PyValue, frame: ActivationFrame) => {
    const method = getAttribute(self, name);
    const values = plainArgs ? plainArgs.map((code) => code(frame)) : positional!(frame);
    const keywordArgs = keywords?.(frame, method);
    return method instanceof BoundMethod
      ? callMethod(state, method.self, method.native, values, keywordArgs)
      : callValue(state, method, values, keywordArgs);
  };
  if (plainArgs === undefined || plainArgs.length > 3) return (frame) => slow(object(frame), frame);
  const ofText = methodOfType('str', name);
  const ofDict = methodOfType('dict', name);
  const fastText = acceptsArgumentCount(ofText, plainArgs.length) ? ofText.code : undefined;
  const fastDict = acceptsArgumentCount(ofDict, plainArgs.length) ? ofDict.code : undefined;
  const fast = (self: PyValue) =>
    typeof self === 'string' ? fastText : self instanceof PyDict ? fastDict : undefined;
  const [a, b, c] = plainArgs;
  if (a === undefined)
    return (frame) => {
      const self = object(frame);
      const code = fast(self);
      return code ? code(state, self) : slow(self, frame);
    };
  if (b === undefined)
    return (frame) => {
      const self = object(frame);
      const code = fast(self);
      return code ? code(state, self, a(frame)) : slow(self, frame);
    };
  if (c === undefined)
    return (frame) => {
      const self = object(frame);
      const code = fast(self);
      return code ? code(state, self, a(frame), b(frame)) : slow(self, frame);
    };
  return (frame) => {
    const self = object(frame);
    const code = fast(self);
    return code ? code(state, self, a(frame), b(frame), c(frame)) : slow(self, frame);
  };
}

function compilePositional(
  compiler: NodeCompiler,
  args: readonly Argument[],
  scope: NameScope,
): (frame: ActivationFrame) => PyValue[] {
  const { state } = compiler;
  const compiledArguments = args
    .filter(({ kind }) => kind === 'positional' || kind === 'unpacked')
    .map(({ kind, value }) => ({ kind, code: compiler.compile(value, scope) }));
  return (frame) => {
    const values: PyValue[] = [];
    for (const { kind, code } of compiledArguments) {
      const value = code(frame);
      if (kind === 'positional') {
        values.push(value);
        continue;
      }
      const items = valuesToUnpack(state, value);
      state.budget.chargeElements(items.length);
      for (const item of items) values.push(item);
    }
    return values;
  };
}

/** Returns the items of a value that is unpacked by `*` in a call or a display. */
export function valuesToUnpack(state: EvaluationState, value: PyValue): readonly PyValue[] {
  const isIterable =
    typeof value === 'string' ||
    value instanceof PyList ||
    value instanceof PyTuple ||
    value instanceof PyDict ||
    value instanceof PySet ||
    value instanceof PyRange ||
    value instanceof DictView ||
    value instanceof PyIterator;
  if (!isIterable) throw typeError(`Value after * must be an iterable, not ${typeName(value)}`);
  return itemsIn(state, value);
}

function compileKeywords(
  compiler: NodeCompiler,
  args: readonly Argument[],
  scope: NameScope,
): (frame: ActivationFrame, callee: PyValue) => Keywords | undefined {
  const compiledKeywords = args
    .filter((argument) => argument.kind === 'keyword' || argument.kind === 'unpacked-keywords')
    .map((argument) => ({
      name: argument.kind === 'keyword' ? argument.name : undefined,
      code: compiler.compile(argument.value, scope),
    }));
  if (compiledKeywords.length === 0) return () => undefined;
  return (frame, callee) => {
    const keywords = new Map<string, PyValue>();
    for (const { name, code } of compiledKeywords) {
      const value = code(frame);
      if (name !== undefined) addKeyword(callee, keywords, name, value);
      else unpackKeywords(callee, keywords, value);
    }
    return keywords;
  };
}

function unpackKeywords(callee: PyValue, keywords: Map<string, PyValue>, value: PyValue): void {
  if (!(value instanceof PyDict))
    throw typeError(
      `${calleeName(callee)}() argument after ** must be a mapping, not ${typeName(value)}`,
    );
  let hasOther = false;
  for (const [key, item] of value.map) {
    const name = originalKey(value, key);
    if (typeof name === 'string') addKeyword(callee, keywords, name, item);
    else hasOther = true;
  }
  if (hasOther) throw typeError('keywords must be strings');
}

function addKeyword(
  callee: PyValue,
  keywords: Map<string, PyValue>,
  name: string,
  value: PyValue,
): void {
  if (keywords.has(name))
    throw typeError(`${calleeName(callee)}() got multiple values for keyword argument '${name}'`);
  keywords.set(name, value);
}

function calleeName(callee: PyValue): string {
  if (callee instanceof PyLambda) return '<lambda>';
  if (callee instanceof BoundMethod) return `${typeName(callee.self)}.${callee.native.name}`;
  return callee instanceof Native || callee instanceof PyType ? callee.name : typeName(callee);
}

import type { DictItem, DisplayItem, SyntaxNode, TemplatePart } from '../syntax/syntax-tree.js';
import { addMember, setItem, updateDict } from '../values/dict.js';
import { typeError } from '../values/expression-errors.js';
import { isEasilyFixed } from '../values/float-text.js';
import { asciiOf, reprOf, strOf } from '../values/repr.js';
import { typeName } from '../values/type-name.js';
import { formatValue } from '../formatting/format-value.js';
import {
  Float,
  PyDict,
  PyLambda,
  PyList,
  PySet,
  PySlice,
  PyTuple,
} from '../values/python-values.js';
import type { CompiledNode, ActivationFrame, PyValue } from '../values/python-values.js';
import { stepCostOf } from '../syntax/children.js';
import { valuesToUnpack } from './calls.js';
import { NameScope } from './scope.js';
import type { NodeCompiler } from './scope.js';

/** Compiles a list, tuple or set display. A tuple of constants is created only once, when it is compiled. */
export function compileDisplay(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'list' | 'tuple' | 'set' },
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  const items = compileItems(compiler, node.items, scope);
  if (node.kind === 'list') return (frame) => new PyList(items(frame));
  if (node.kind === 'set')
    return (frame) => {
      const set = new PySet(false);
      for (const item of items(frame)) addMember(set, item);
      state.budget.chargeElements(set.map.size);
      return set;
    };
  const isConstant = node.items.every((item) => !item.isUnpacked && item.value.kind === 'constant');
  if (!isConstant) return (frame) => new PyTuple(items(frame));
  const constant = new PyTuple(
    node.items.map(({ value }) => (value.kind === 'constant' ? value.value : null)),
  );
  return () => constant;
}

function compileItems(
  compiler: NodeCompiler,
  items: readonly DisplayItem[],
  scope: NameScope,
): (frame: ActivationFrame) => PyValue[] {
  const { state } = compiler;
  const compiledItems = items.map(({ value, isUnpacked }) => ({
    code: compiler.compile(value, scope),
    isUnpacked,
  }));
  if (!items.some(({ isUnpacked }) => isUnpacked)) {
    const codes = compiledItems.map(({ code }) => code);
    return (frame) => {
      const values: PyValue[] = [];
      for (const code of codes) values.push(code(frame));
      return values;
    };
  }
  return (frame) => {
    const values: PyValue[] = [];
    for (const { code, isUnpacked } of compiledItems) {
      const value = code(frame);
      if (!isUnpacked) {
        values.push(value);
        continue;
      }
      const unpackedValues = valuesToUnpack(state, value);
      state.budget.chargeElements(values.length + unpackedValues.length);
      for (const one of unpackedValues) values.push(one);
    }
    return values;
  };
}

/** Compiles a dict display: of equal keys, the first key and the last value are kept, as in Python. */
export function compileDict(
  compiler: NodeCompiler,
  items: readonly DictItem[],
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  const compiledPairs = items.map(({ key, value }) => ({
    key: key && compiler.compile(key, scope),
    value: compiler.compile(value, scope),
  }));
  return (frame) => {
    const dict = new PyDict();
    // All adjacent key-value pairs are evaluated before the first of them is added to the dict.
    const pairs: PyValue[] = [];
    const flush = () => {
      for (let i = 0; i < pairs.length; i += 2) setItem(dict, pairs[i]!, pairs[i + 1]!);
      pairs.length = 0;
    };
    for (const { key, value } of compiledPairs) {
      if (key !== undefined) {
        pairs.push(key(frame), value(frame));
        continue;
      }
      flush();
      const otherDict = value(frame);
      if (!(otherDict instanceof PyDict))
        throw typeError(`'${typeName(otherDict)}' object is not a mapping`);
      state.budget.chargeElements(dict.map.size + otherDict.map.size);
      updateDict(dict, otherDict);
    }
    flush();
    return dict;
  };
}

/** Compiles an f-string, or the format specification of one of its fields. */
export function compileTemplate(
  compiler: NodeCompiler,
  parts: readonly TemplatePart[],
  scope: NameScope,
): (frame: ActivationFrame) => string {
  const { state } = compiler;
  const codes = parts.map((part) => {
    const code = compileTemplatePart(compiler, part, scope);
    return part.kind === 'text' ? code : compiler.withPosition(part.value, code);
  });
  return (frame) => {
    let text = '';
    for (const code of codes) text += code(frame);
    state.budget.chargeText(text.length);
    return text;
  };
}

function compileTemplatePart(
  compiler: NodeCompiler,
  part: TemplatePart,
  scope: NameScope,
): (frame: ActivationFrame) => string {
  if (part.kind === 'text') return () => part.text;
  const { state } = compiler;
  const value = compiler.compile(part.value, scope);
  const { conversion } = part;
  const write = conversion === 's' ? strOf : conversion === 'r' ? reprOf : asciiOf;
  if (part.spec.length === 0) {
    if (conversion === '')
      return (frame) => {
        const shownValue = value(frame);
        return typeof shownValue === 'string' ? shownValue : strOf(state, shownValue);
      };
    return (frame) => write(state, value(frame));
  }
  const [only] = part.spec;
  const constant = part.spec.length === 1 && only?.kind === 'text' ? only.text : undefined;
  const spec =
    constant === undefined ? compileTemplate(compiler, part.spec, scope) : () => constant;
  const decimals = /^\.(\d)f$/.exec(constant ?? '')?.[1];
  return (frame) => {
    const shownValue = value(frame);
    // `toFixed` rounds like Python, unless the value may lie halfway between two results (see `isEasilyFixed`); it drops the sign of -0.
    if (decimals !== undefined && shownValue instanceof Float && conversion === '') {
      const count = Number(decimals);
      const number = shownValue.value;
      const isEasy = isEasilyFixed(Math.abs(number), count) && !Object.is(number, -0);
      if (isEasy) return number.toFixed(count);
    }
    const converted = conversion === '' ? shownValue : write(state, shownValue);
    return formatValue(state, converted, spec(frame));
  };
}

/** Compiles a slice between brackets. */
export function compileSlice(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'slice' },
  scope: NameScope,
): CompiledNode {
  const noValue: CompiledNode = () => null;
  const [start, stop, step] = [node.start, node.stop, node.step].map((part) =>
    part ? compiler.compile(part, scope) : noValue,
  ) as [CompiledNode, CompiledNode, CompiledNode];
  return (frame) => new PySlice(start(frame), stop(frame), step(frame));
}

/** Compiles a lambda: its parameters are the first slots of its frame, and its defaults are evaluated when the lambda is. */
export function compileLambda(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'lambda' },
  outer: NameScope,
): CompiledNode {
  const scope = new NameScope(outer);
  const parametersOf = (...kinds: string[]) =>
    node.parameters.filter(({ kind }) => kinds.includes(kind));
  const positional = parametersOf('positional-only', 'positional');
  const keywordOnly = parametersOf('keyword-only');
  const restParameters = parametersOf('rest');
  const keywords = parametersOf('keywords');
  for (const { name } of positional.concat(keywordOnly, restParameters, keywords))
    scope.declareName(name);
  const defaults = positional
    .concat(keywordOnly)
    .map(({ defaultValue }) => defaultValue && compiler.compile(defaultValue, outer));
  const body = compiler.compile(node.body, scope);
  const code = {
    parameters: {
      names: positional.map(({ name }) => name),
      positionalOnlyCount: parametersOf('positional-only').length,
      keywordOnly: keywordOnly.map(({ name }) => name),
      hasRest: restParameters.length > 0,
      hasKeywords: keywords.length > 0,
    },
    frameSize: scope.layout.size,
    body,
    cost: 1 + stepCostOf(node.body),
  };
  return (frame) =>
    new PyLambda(
      code,
      frame,
      defaults.map((one) => one?.(frame)),
    );
}

import { noField } from '../formatting/str-format.js';
import { getAttribute } from '../operators/attributes.js';
import { keyError, subscript } from '../operators/subscript.js';
import type { SyntaxNode } from '../syntax/tree.js';
import { methodOfType } from '../methods/tables.js';
import { attributeError } from '../values/errors.js';
import { codePointLength, isPlain } from '../values/code-points.js';
import { PyDict, PyList } from '../values/values.js';
import type { Code } from '../values/values.js';
import { valueAt } from '../library/paths.js';
import { pathField } from './record-fields.js';
import type { NodeCompiler, NameScope } from './scope.js';

/** The index of the field that a node reads of the record, and its name; undefined for other nodes. */
function recordField(
  compiler: NodeCompiler,
  object: SyntaxNode,
  name: string,
  scope: NameScope,
): number | undefined {
  if (object.kind !== 'name') return undefined;
  if (compiler.meaning(object.name, scope).kind !== 'record') return undefined;
  return compiler.fieldIndex(name);
}

/** Compiles `object.name`. */
export function compileAttribute(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'attribute' },
  scope: NameScope,
): Code {
  const { name } = node;
  const isMethod = methodOfType('dict', name) !== undefined;
  const index = isMethod ? undefined : recordField(compiler, node.object, name, scope);
  if (index !== undefined) {
    const { fields } = compiler.state;
    return () => {
      const value = fields[index];
      if (value === undefined) throw attributeError(`record has no field '${name}'`);
      return value;
    };
  }
  const object = compiler.compile(node.object, scope);
  return (frame) => {
    const value = object(frame);
    if (value instanceof PyDict && !isMethod) {
      const field = value.map.get(name);
      if (field === undefined) throw noField(value, name);
      return field;
    }
    return getAttribute(value, name);
  };
}

/** Compiles `object[index]`. */
export function compileSubscript(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'subscript' },
  scope: NameScope,
): Code {
  const { state } = compiler;
  const key = node.index.kind === 'constant' ? node.index.value : undefined;
  if (typeof key === 'string') {
    const index = recordField(compiler, node.object, key, scope);
    if (index !== undefined) {
      const { fields } = state;
      return () => {
        const value = fields[index];
        if (value === undefined) throw keyError(state, key);
        return value;
      };
    }
  }
  const object = compiler.compile(node.object, scope);
  if (typeof key === 'string' && key.charCodeAt(0) !== 0)
    return (frame) => {
      const value = object(frame);
      const found = value instanceof PyDict ? value.map.get(key) : undefined;
      return found ?? subscript(state, value, key);
    };
  if (typeof key === 'number')
    return (frame) => {
      const value = object(frame);
      if (value instanceof PyList) {
        const found = value.items[key < 0 ? key + value.items.length : key];
        if (found !== undefined) return found;
      }
      return subscript(state, value, key);
    };
  if (node.index.kind === 'slice') return compileConstantSlice(compiler, node, scope, object);
  const index = compiler.compile(node.index, scope);
  return (frame) => {
    const value = object(frame);
    return subscript(state, value, index(frame));
  };
}

/** A slice between two constants of a text needs no slice object. */
function compileConstantSlice(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'subscript' },
  scope: NameScope,
  object: Code,
): Code {
  const { state } = compiler;
  const slice = node.index as SyntaxNode & { readonly kind: 'slice' };
  const index = compiler.compile(slice, scope);
  const bound = (part: SyntaxNode | undefined): number | undefined => {
    const value = part?.kind === 'constant' ? part.value : undefined;
    return typeof value === 'number' ? value : undefined;
  };
  const start = slice.start ? bound(slice.start) : 0;
  const stop = slice.stop ? bound(slice.stop) : Infinity;
  const isConstant = slice.step === undefined && start !== undefined && stop !== undefined;
  return (frame) => {
    const value = object(frame);
    if (isConstant && typeof value === 'string' && isPlain(value)) {
      const end = Math.min(stop, codePointLength(value));
      state.budget.text(Math.max(0, end - start));
      return value.slice(start, Math.max(start, end));
    }
    if (isConstant && value instanceof PyList) {
      const { items } = value;
      const from = start < 0 ? Math.max(0, start + items.length) : start;
      const to = stop < 0 ? stop + items.length : Math.min(stop, items.length);
      state.budget.elements(Math.max(0, to - from));
      return new PyList(items.slice(from, Math.max(from, to)));
    }
    return subscript(state, value, index(frame));
  };
}

/** Compiles `get(record, 'a.b', default)` where only the fields of the record are at hand; undefined for other calls. */
export function compilePath(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'call' },
  scope: NameScope,
): Code | undefined {
  const name = pathField(node);
  const [record, path, missing] = node.args.map(({ value }) => value);
  if (name === undefined || record === undefined || path?.kind !== 'constant') return undefined;
  const index = recordField(compiler, record, name, scope);
  if (index === undefined || node.args.length > 3) return undefined;
  const { state } = compiler;
  const { fields } = state;
  const none: Code = () => null;
  const fallback = missing ? compiler.compile(missing, scope) : none;
  const rest = String(path.value).slice(name.length + 1);
  if (rest === '')
    return (frame) => {
      const value = fields[index];
      return value === undefined ? fallback(frame) : value;
    };
  return (frame) => {
    const otherwise = fallback(frame);
    const value = fields[index];
    const found = value === undefined ? undefined : valueAt(state, value, rest);
    return found === undefined ? otherwise : found;
  };
}

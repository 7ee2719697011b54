import { missingFieldError, missingRecordFieldError } from '../methods/str-format.js';
import { getAttribute } from '../methods/get-attribute.js';
import { keyError, subscript } from '../operators/subscript.js';
import type { SyntaxNode } from '../syntax/syntax-tree.js';
import { methodOfType, methodsOfType } from '../methods/tables.js';
import { suggestSimilar } from '../values/expression-errors.js';
import { codePointLength, hasNoSurrogates } from '../values/code-points.js';
import { PyDict, PyList } from '../values/python-values.js';
import type { CompiledNode, PyValue } from '../values/python-values.js';
import { valueAt } from '../library/paths.js';
import { getPath, readPathOf } from './record-fields.js';
import type { NodeCompiler, NameScope } from './scope.js';
import { compileSplitPart } from './split-part.js';

/** Returns the index in `state.fields` of the value that a node reads from the record; undefined if it has none. */
function fieldSlotOf(
  compiler: NodeCompiler,
  node: SyntaxNode,
  scope: NameScope,
): number | undefined {
  const path = readPathOf(node);
  if (path === undefined || compiler.resolveName('record', scope).kind !== 'record')
    return undefined;
  return compiler.pathIndex(path);
}

/**
 * Returns a function that reads a field if only fields of the record are loaded; undefined if `object` is not the record, or the whole
 * record is loaded.
 */
function fieldReader(
  compiler: NodeCompiler,
  object: SyntaxNode | undefined,
  name: string,
  scope: NameScope,
): (() => PyValue | undefined) | undefined {
  if (object?.kind !== 'name' || compiler.resolveName(object.name, scope).kind !== 'record')
    return undefined;
  if (!compiler.readsPaths) return undefined;
  const { state } = compiler;
  const index = compiler.pathIndex([name]);
  if (index === undefined) return () => state.recordFields.lookUp(name);
  const { fields } = state;
  return () => fields[index];
}

/**
 * Returns code that reads a value of the record from its slot in `state.fields`. If the slot is undefined, the code runs `general`, which
 * finds the value, or the default or error for a missing value. Without a slot, returns `general`.
 */
function readSlotOrElse(
  compiler: NodeCompiler,
  index: number | undefined,
  general: CompiledNode,
): CompiledNode {
  if (index === undefined) return general;
  const { fields } = compiler.state;
  return (frame) => fields[index] ?? (fields[index] === null ? null : general(frame));
}

/** Compiles `object.name`. */
export function compileAttribute(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'attribute' },
  scope: NameScope,
): CompiledNode {
  return readSlotOrElse(
    compiler,
    fieldSlotOf(compiler, node, scope),
    compileGeneralAttribute(compiler, node, scope),
  );
}

function compileGeneralAttribute(
  compiler: NodeCompiler,
  { object: objectNode, name }: SyntaxNode & { readonly kind: 'attribute' },
  scope: NameScope,
): CompiledNode {
  const isMethod = methodOfType('dict', name) !== undefined;
  const field = isMethod ? undefined : fieldReader(compiler, objectNode, name, scope);
  if (field !== undefined)
    return () => {
      const value = field();
      if (value === undefined)
        throw missingRecordFieldError(
          name,
          suggestSimilar(name, () => compiler.state.fieldNames()),
        );
      return value;
    };
  const object = compiler.compile(objectNode, scope);
  return (frame) => {
    const value = object(frame);
    if (value instanceof PyDict && !isMethod) {
      const member = value.map.get(name);
      if (member === undefined) throw missingFieldError(value, name, methodsOfType('dict').keys());
      return member;
    }
    return getAttribute(value, name);
  };
}

/** Compiles `object[index]`. */
export function compileSubscript(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'subscript' },
  scope: NameScope,
): CompiledNode {
  return readSlotOrElse(
    compiler,
    fieldSlotOf(compiler, node, scope),
    compileGeneralSubscript(compiler, node, scope),
  );
}

function compileGeneralSubscript(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'subscript' },
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  const key = node.index.kind === 'constant' ? node.index.value : undefined;
  const field = typeof key === 'string' && fieldReader(compiler, node.object, key, scope);
  if (typeof key === 'string' && field)
    return () => {
      const value = field();
      if (value === undefined) throw keyError(state, key, () => state.fieldNames());
      return value;
    };
  const part = compileSplitPart(compiler, node, scope);
  if (part !== undefined) return part;
  const object = compiler.compile(node.object, scope);
  if (typeof key === 'string' && key.charCodeAt(0) !== 0)
    return (frame) => {
      const value = object(frame);
      const storedValue = value instanceof PyDict ? value.map.get(key) : undefined;
      return storedValue ?? subscript(state, value, key);
    };
  if (typeof key === 'number')
    return (frame) => {
      const value = object(frame);
      if (value instanceof PyList) {
        const item = value.items[key < 0 ? key + value.items.length : key];
        if (item !== undefined) return item;
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

/**
 * Compiles `object[start:stop:step]`. Without a step, and with bounds that are missing or constants that are not negative, slicing a list,
 * or a text without surrogates, creates no slice object.
 */
function compileConstantSlice(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'subscript' },
  scope: NameScope,
  object: CompiledNode,
): CompiledNode {
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
    if (isConstant && typeof value === 'string' && hasNoSurrogates(value)) {
      const end = Math.min(stop, codePointLength(value));
      state.budget.chargeText(Math.max(0, end - start));
      return value.slice(start, Math.max(start, end));
    }
    if (isConstant && value instanceof PyList) {
      const { items } = value;
      const from = start < 0 ? Math.max(0, start + items.length) : start;
      const to = stop < 0 ? stop + items.length : Math.min(stop, items.length);
      state.budget.chargeElements(Math.max(0, to - from));
      return new PyList(items.slice(from, Math.max(from, to)));
    }
    return subscript(state, value, index(frame));
  };
}

/** Compiles `get(record, 'a.b', default)` if only fields of the record are loaded; undefined for other calls. */
export function compilePath(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'call' },
  scope: NameScope,
): CompiledNode | undefined {
  const names = getPath(node);
  const [record, path, fallbackNode] = node.args.map(({ value }) => value);
  if (names === undefined || path?.kind !== 'constant' || node.args.length > 3) return undefined;
  const field = fieldReader(compiler, record, names[0]!, scope);
  if (field === undefined) return undefined;
  const { state } = compiler;
  const { fields } = state;
  const noFallback: CompiledNode = () => null;
  const fallback = fallbackNode ? compiler.compile(fallbackNode, scope) : noFallback;
  const index = compiler.pathIndex(names);
  const stepsAfter = (count: number): ((value: PyValue) => PyValue | undefined) => {
    const restOfPath = String(path.value).slice(names.slice(0, count).join('.').length);
    const steps = restOfPath.startsWith('.') ? restOfPath.slice(1) : restOfPath;
    return restOfPath === '' ? (value) => value : (value) => valueAt(state, value, steps);
  };
  const fromField = stepsAfter(1);
  const fromMember = stepsAfter(names.length);
  return (frame) => {
    const fallbackValue = fallback(frame);
    const member = index === undefined ? undefined : fields[index];
    if (member !== undefined) {
      const memberValue = fromMember(member);
      return memberValue === undefined ? fallbackValue : memberValue;
    }
    const value = field();
    const fieldValue = value === undefined ? undefined : fromField(value);
    return fieldValue === undefined ? fallbackValue : fieldValue;
  };
}

/**
 * Compiles a method call, where `general` is the code of the call. If it is a call such as `record.a.get('b', default)`, and the value is
 * loaded by its path, the value is read from its slot. Only for a field of the record does an empty slot mean that the value is missing.
 */
export function compileGet(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'call' },
  scope: NameScope,
  general: CompiledNode,
): CompiledNode {
  const index = fieldSlotOf(compiler, node, scope);
  const isLoadedField = index !== undefined && readPathOf(node)?.length === 1;
  const fallbackNode = node.args[1]?.value;
  const fallbackValue = fallbackNode?.kind === 'constant' ? fallbackNode.value : null;
  return readSlotOrElse(compiler, index, isLoadedField ? () => fallbackValue : general);
}

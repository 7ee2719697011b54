import type { AssignmentTarget } from '../syntax/syntax-tree.js';
import { typeError, valueError } from '../values/expression-errors.js';
import { itemsIn } from '../values/iteration.js';
import { typeName } from '../values/type-name.js';
import {
  DictView,
  PyDict,
  PyIterator,
  PyList,
  PyRange,
  PySet,
  PyTuple,
} from '../values/python-values.js';
import type { ActivationFrame, PyValue, Runtime } from '../values/python-values.js';
import type { NodeCompiler, NameScope } from './scope.js';

/** Compiles the assignment of an item to the target of a `for`. */
export function compileTarget(
  compiler: NodeCompiler,
  target: AssignmentTarget,
  scope: NameScope,
): (frame: ActivationFrame, value: PyValue) => void {
  if (target.kind === 'name') {
    const slot = scope.declareName(target.name);
    return (frame, value) => {
      frame.slots[slot] = value;
    };
  }
  const { state } = compiler;
  const { starred } = target;
  const targets = target.targets.map((one) => compileTarget(compiler, one, scope));
  const count = targets.length;
  if (starred >= 0)
    return compiler.withPosition(target, (frame: ActivationFrame, value: PyValue) => {
      const items = itemsToAssign(state, value, count - 1, true);
      const starredItemCount = items.length - (count - 1);
      for (const [i, assign] of targets.entries()) {
        if (i < starred) assign(frame, items[i]!);
        else if (i === starred) assign(frame, new PyList(items.slice(i, i + starredItemCount)));
        else assign(frame, items[i + starredItemCount - 1]!);
      }
    });
  return compiler.withPosition(target, (frame: ActivationFrame, value: PyValue) => {
    const items =
      value instanceof PyTuple && value.items.length === count
        ? value.items
        : itemsToAssign(state, value, count, false);
    for (let i = 0; i < count; i++) targets[i]!(frame, items[i]!);
  });
}

function itemsToAssign(
  runtime: Runtime,
  value: PyValue,
  count: number,
  isOpen: boolean,
): readonly PyValue[] {
  const isIterable =
    typeof value === 'string' ||
    value instanceof PyList ||
    value instanceof PyTuple ||
    value instanceof PyDict ||
    value instanceof PySet ||
    value instanceof PyRange ||
    value instanceof DictView ||
    value instanceof PyIterator;
  if (!isIterable) throw typeError(`cannot unpack non-iterable ${typeName(value)} object`);
  const items = itemsIn(runtime, value);
  if (items.length < count)
    throw valueError(
      `not enough values to unpack (expected ${isOpen ? 'at least ' : ''}${count}, got ${items.length})`,
    );
  if (!isOpen && items.length > count)
    throw valueError(`too many values to unpack (expected ${count})`);
  return items;
}

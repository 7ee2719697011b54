import { getItem } from '../values/dict.js';
import { asInt } from '../values/integers.js';
import { itemsIn } from '../values/iteration.js';
import { PyDict, PyList, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** Returns the value at a path in nested dicts and lists; undefined if a step is missing. */
export function valueAt(runtime: Runtime, object: PyValue, path: PyValue): PyValue | undefined {
  let value: PyValue | undefined = object;
  for (const step of pathStepsOf(runtime, path)) {
    value = value === undefined ? undefined : stepInto(value, step);
    if (value === undefined) return undefined;
  }
  return value;
}

function stepInto(value: PyValue, step: PyValue): PyValue | undefined {
  if (value instanceof PyDict) {
    const isKey = typeof step === 'string' || asInt(step) !== undefined;
    if (!isKey) return undefined;
    const member = getItem(value, step);
    if (member !== undefined || typeof step !== 'string') return member;
    return /^-?\d+$/.test(step) ? getItem(value, Number(step)) : undefined;
  }
  if (!(value instanceof PyList || value instanceof PyTuple)) return undefined;
  const index = typeof step === 'string' && /^-?\d+$/.test(step) ? Number(step) : asInt(step);
  if (typeof index !== 'number') return undefined;
  return value.items[index < 0 ? index + value.items.length : index];
}

/** Returns the steps of a path: a list of keys, an int, or text with `.` between the keys, `[n]` for lists and `\.` for a dot. */
function pathStepsOf(runtime: Runtime, path: PyValue): readonly PyValue[] {
  if (path instanceof PyList || path instanceof PyTuple) return itemsIn(runtime, path);
  if (typeof path !== 'string') return [path];
  const cachedSteps = stepsByPathText.get(path);
  if (cachedSteps !== undefined) return cachedSteps;
  const steps = parsePath(path);
  if (stepsByPathText.size > 1000) stepsByPathText.clear();
  stepsByPathText.set(path, steps);
  return steps;
}

const stepsByPathText = new Map<string, readonly PyValue[]>();

function parsePath(path: string): PyValue[] {
  const steps: PyValue[] = [];
  for (const part of path.split(/(?<!\\)\./)) {
    const [, name, indices] = /^(.*?)((?:\[-?\d+\])*)$/s.exec(part)!;
    if (name !== '' || indices === '') steps.push(name!.replaceAll('\\.', '.'));
    for (const [, index] of indices!.matchAll(/\[(-?\d+)\]/g)) steps.push(Number(index));
  }
  return steps;
}

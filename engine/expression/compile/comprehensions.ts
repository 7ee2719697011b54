import { childrenOf, stepCostOf } from '../syntax/children.js';
import type { ComprehensionClause, SyntaxNode } from '../syntax/syntax-tree.js';
import { addMember, setItem } from '../values/dict.js';
import { iterate } from '../values/iteration.js';
import {
  Float,
  ActivationFrame,
  PyDict,
  PyIterator,
  PyList,
  PySet,
  PyTuple,
} from '../values/python-values.js';
import type { CompiledNode, PyValue } from '../values/python-values.js';
import { compileTest } from './operators.js';
import type { EvaluationState, NodeCompiler } from './scope.js';
import { NameScope } from './scope.js';
import { compileTarget } from './targets.js';

type ComprehensionNode = SyntaxNode & { readonly kind: 'comprehension' };

/** A compiled `for` clause of a comprehension. The iterable of the first clause is evaluated outside the comprehension. */
interface CompiledClause {
  readonly iterable: CompiledNode;
  readonly assign: (frame: ActivationFrame, value: PyValue) => void;
  readonly accepts: ((frame: ActivationFrame) => boolean) | undefined;
  /** The cost of each item, counted by the budget of the evaluation. */
  readonly cost: number;
}

/** Compiles a comprehension or generator. */
export function compileComprehension(
  compiler: NodeCompiler,
  node: ComprehensionNode,
  outer: NameScope,
): CompiledNode {
  const { state } = compiler;
  // A closure created inside the comprehension keeps the frame of its execution, so this frame must not be shared with the code around it.
  const sharesFrame = node.result !== 'generator' && !makesClosure(node);
  const scope = new NameScope(outer, sharesFrame);
  const iterable = compileIterable(compiler, node.clauses[0]!.iterable, outer);
  const outerNameCount = scope.layout.size;
  const clauses = compileClauses(compiler, node, scope);
  const key = node.key && compiler.compile(node.key, scope);
  const element = compiler.compile(node.element, scope);
  const slots = Array.from(
    { length: scope.layout.size - outerNameCount },
    (_, i) => outerNameCount + i,
  );
  const needsReset = sharesFrame && node.clauses.length > 1;
  const enter = (frame: ActivationFrame) => {
    if (!sharesFrame) return new ActivationFrame(emptySlots(scope.layout.size), frame);
    if (needsReset) for (const slot of slots) frame.slots[slot] = undefined;
    return frame;
  };
  if (node.result === 'generator' && clauses.length === 1)
    return (frame) => {
      const source = iterable(frame);
      const isArray = source instanceof PyList || source instanceof PyTuple;
      const items = isArray ? source.items : undefined;
      const iterator = isArray ? undefined : iterate(state, source);
      return generateFromOneClause(state, clauses[0]!, items, iterator, enter(frame), element);
    };
  if (node.result === 'generator')
    return (frame) => {
      // As in Python, a value that cannot be iterated is an error when the generator is created, not when its first item is requested.
      const source = iterate(state, iterable(frame));
      return generateItems(state, clauses, source, enter(frame), element);
    };
  if (node.result === 'list' && clauses.length === 1) {
    const { assign, accepts, cost } = clauses[0]!;
    // A list comprehension with one clause is the most common form; this loop, without a callback, is faster than the general one.
    return (frame) => {
      const source = iterable(frame);
      const inner = enter(frame);
      const { budget } = state;
      const items: PyValue[] = [];
      const isArray = source instanceof PyList || source instanceof PyTuple;
      const values = isArray ? source.items : undefined;
      const iterator = values === undefined ? iterate(state, source) : undefined;
      for (let i = 0; ; i++) {
        const item = values === undefined ? iterator!.next() : values[i];
        if (item === undefined) return new PyList(items);
        budget.charge(cost);
        assign(inner, item);
        if (accepts !== undefined && !accepts(inner)) continue;
        const before = budget.memory;
        const changes = budget.mutations;
        const value = element(inner);
        if (budget.memory - before > 1000) releasePassMemory(state, before, changes, value);
        budget.chargeOneElement(items.length);
        items.push(value);
      }
    };
  }
  if (node.result === 'list')
    return (frame) => {
      const source = iterable(frame);
      const items: PyValue[] = [];
      const inner = enter(frame);
      loopClause(state, clauses, 0, source, inner, () => {
        const before = state.budget.memory;
        const changes = state.budget.mutations;
        const value = element(inner);
        if (state.budget.memory - before > 1000) releasePassMemory(state, before, changes, value);
        state.budget.chargeOneElement(items.length);
        items.push(value);
      });
      return new PyList(items);
    };
  if (node.result === 'set')
    return (frame) => {
      const source = iterable(frame);
      const set = new PySet(false);
      const inner = enter(frame);
      loopClause(state, clauses, 0, source, inner, () => {
        state.budget.chargeOneElement(set.map.size);
        addMember(set, element(inner));
      });
      return set;
    };
  return (frame) => {
    const source = iterable(frame);
    const dict = new PyDict();
    const inner = enter(frame);
    loopClause(state, clauses, 0, source, inner, () => {
      state.budget.chargeOneElement(dict.map.size);
      const name = key!(inner);
      setItem(dict, name, element(inner));
    });
    return dict;
  };
}

/** Compiles the iterable of a `for`; if its value cannot be iterated, the error has the position of the iterable. */
function compileIterable(compiler: NodeCompiler, node: SyntaxNode, scope: NameScope): CompiledNode {
  const code = compiler.compile(node, scope);
  if (!compiler.addsPositions) return code;
  return compiler.withPosition(node, (frame) => iterate(compiler.state, code(frame)));
}

function makesClosure(root: ComprehensionNode): boolean {
  const open: SyntaxNode[] = childrenOf(root).slice(1);
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'lambda') return true;
    if (node.kind === 'comprehension' && node.result === 'generator') return true;
    for (const child of childrenOf(node)) open.push(child);
  }
  return false;
}

function compileClauses(
  compiler: NodeCompiler,
  node: ComprehensionNode,
  scope: NameScope,
): readonly CompiledClause[] {
  // Targets are compiled before the clauses: a name that a later clause assigns is local in all clauses.
  const targets = node.clauses.map(({ target }) => compileTarget(compiler, target, scope));
  return node.clauses.map((clause, i) => {
    const isLast = i === node.clauses.length - 1;
    const produced = isLast ? stepCostOf(node.element) + (node.key ? stepCostOf(node.key) : 0) : 0;
    const cost = clause.conditions.reduce((sum, test) => sum + stepCostOf(test), 1 + produced);
    const next = node.clauses[i + 1];
    return {
      iterable: i === 0 ? () => null : compileIterable(compiler, clause.iterable, scope),
      assign: targets[i]!,
      accepts: compileConditions(compiler, clause, scope),
      cost: cost + (next ? stepCostOf(next.iterable) : 0),
    };
  });
}

function compileConditions(
  compiler: NodeCompiler,
  { conditions }: ComprehensionClause,
  scope: NameScope,
): ((frame: ActivationFrame) => boolean) | undefined {
  const tests = conditions.map((test) => compileTest(compiler, test, scope));
  if (tests.length <= 1) return tests[0];
  return (frame) => tests.every((test) => test(frame));
}

/** Runs the clauses from `level` on for each item of a value, and calls `produce` for each combination of items. */
function loopClause(
  state: EvaluationState,
  clauses: readonly CompiledClause[],
  level: number,
  source: PyValue,
  frame: ActivationFrame,
  produce: () => void,
): void {
  const { assign, accepts, cost } = clauses[level]!;
  const next = clauses[level + 1];
  const visit = (item: PyValue) => {
    state.budget.charge(cost);
    assign(frame, item);
    if (accepts !== undefined && !accepts(frame)) return;
    if (next === undefined) produce();
    else loopClause(state, clauses, level + 1, next.iterable(frame), frame, produce);
  };
  if (source instanceof PyList || source instanceof PyTuple) {
    const { items } = source;
    // The length is read in each pass, because the list may grow while its items are visited.
    for (let i = 0; i < items.length; i++) visit(items[i]!);
    return;
  }
  const iterator = iterate(state, source);
  for (let item = iterator.next(); item !== undefined; item = iterator.next()) visit(item);
}

/** Returns a generator: its clauses are iterators on a stack, and each `next` runs until there is another element. */
function generateItems(
  state: EvaluationState,
  clauses: readonly CompiledClause[],
  first: PyIterator,
  frame: ActivationFrame,
  element: CompiledNode,
): PyIterator {
  const stack: PyIterator[] = [first];
  return new PyIterator('generator', () => {
    const before = state.budget.memory;
    const changes = state.budget.mutations;
    try {
      while (stack.length > 0) {
        const level = stack.length - 1;
        const item = stack[level]!.next();
        if (item === undefined) {
          stack.pop();
          continue;
        }
        const { assign, accepts, cost } = clauses[level]!;
        state.budget.charge(cost);
        assign(frame, item);
        if (accepts !== undefined && !accepts(frame)) continue;
        const next = clauses[level + 1];
        if (next !== undefined) {
          stack.push(iterate(state, next.iterable(frame)));
          continue;
        }
        const value = element(frame);
        if (state.budget.memory - before > 1000) releasePassMemory(state, before, changes, value);
        return value;
      }
      return undefined;
    } catch (error) {
      stack.length = 0;
      throw error;
    }
  });
}

/** Returns a generator with one clause, over the items of a list or tuple or over an iterator. */
function generateFromOneClause(
  state: EvaluationState,
  { assign, accepts, cost }: CompiledClause,
  items: readonly PyValue[] | undefined,
  iterator: PyIterator | undefined,
  frame: ActivationFrame,
  element: CompiledNode,
): PyIterator {
  const { budget } = state;
  let isOpen = true;
  let next = 0;
  return new PyIterator('generator', () => {
    if (!isOpen) return undefined;
    // A generator that throws an error has ended.
    isOpen = false;
    for (;;) {
      const item = items === undefined ? iterator!.next() : items[next++];
      if (item === undefined) return undefined;
      budget.charge(cost);
      assign(frame, item);
      if (accepts !== undefined && !accepts(frame)) continue;
      const before = budget.memory;
      const changes = budget.mutations;
      const value = element(frame);
      if (budget.memory - before > 1000) releasePassMemory(state, before, changes, value);
      isOpen = true;
      return value;
    }
  });
}

/**
 * Gives back to the budget the memory that one pass of a loop has used, apart from that of its result. Does nothing if the result is not a
 * simple value, or if a collection was changed during the pass, because the result or the collection may keep some of the memory.
 */
function releasePassMemory(
  state: EvaluationState,
  before: number,
  mutationsBefore: number,
  value: PyValue,
): void {
  if (state.budget.mutations !== mutationsBefore) return;
  if (typeof value === 'string') state.budget.memory = before + 2 * value.length + 16;
  else if (typeof value !== 'object' || value === null || value instanceof Float)
    state.budget.memory = before;
}

function emptySlots(size: number): (PyValue | undefined)[] {
  const slots: (PyValue | undefined)[] = [];
  for (let i = 0; i < size; i++) slots.push(undefined);
  return slots;
}

import { add, divide, floorDivide, modulo, multiply, subtract } from '../operators/arithmetic.js';
import {
  bitAnd,
  bitOr,
  bitXor,
  invert,
  negate,
  unaryPlus,
  shiftLeft,
  shiftRight,
} from '../operators/bitwise.js';
import { contains, isIdentical } from '../operators/membership.js';
import { power } from '../operators/powers.js';
import { isEqual, isOrdered } from '../values/comparison.js';
import { isTruthy } from '../values/truth.js';
import { Float, PyTuple } from '../values/python-values.js';
import type { CompiledNode, PyValue, Runtime } from '../values/python-values.js';
import type { BinaryOperator, ComparisonOperator, SyntaxNode } from '../syntax/syntax-tree.js';
import type { NodeCompiler, NameScope } from './scope.js';

type BinaryOperation = (runtime: Runtime, a: PyValue, b: PyValue) => PyValue;

const binaryOperations: Readonly<Record<BinaryOperator, BinaryOperation>> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '//': floorDivide,
  '%': modulo,
  '**': power,
  '<<': shiftLeft,
  '>>': shiftRight,
  '&': bitAnd,
  '|': bitOr,
  '^': bitXor,
};

/**
 * Compiles a binary operator. The common operators handle ints and floats in closures of their own, so that the JavaScript engine can
 * optimise each operator separately.
 */
export function compileBinary(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'binary' },
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  const left = compiler.compile(node.left, scope);
  const right = compiler.compile(node.right, scope);
  const constant = node.right.kind === 'constant' ? node.right.value : undefined;
  switch (node.operator) {
    case '+':
      if (typeof constant === 'string')
        return (frame) => {
          const a = left(frame);
          if (typeof a !== 'string') return add(state, a, constant);
          state.budget.chargeText(a.length + constant.length);
          return a + constant;
        };
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') {
          const sum = a + b;
          if (Number.isSafeInteger(sum)) return sum;
        } else if (a instanceof Float && b instanceof Float) return new Float(a.value + b.value);
        return add(state, a, b);
      };
    case '-':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') {
          const difference = a - b;
          if (Number.isSafeInteger(difference)) return difference;
        } else if (a instanceof Float && b instanceof Float) return new Float(a.value - b.value);
        return subtract(state, a, b);
      };
    case '*':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') {
          const product = a * b;
          if (Number.isSafeInteger(product)) return product + 0;
        } else if (a instanceof Float) {
          if (b instanceof Float) return new Float(a.value * b.value);
          if (typeof b === 'number') return new Float(a.value * b);
        }
        return multiply(state, a, b);
      };
    default: {
      const operation = binaryOperations[node.operator];
      return (frame) => operation(state, left(frame), right(frame));
    }
  }
}

/** Compiles a unary operator; a minus before the literal of a float or a safe integer becomes part of the constant. */
export function compileUnary(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'unary' },
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  if (node.operator === 'not') {
    const test = compileTest(compiler, node.operand, scope);
    return (frame) => !test(frame);
  }
  const operation = { '-': negate, '+': unaryPlus, '~': invert }[node.operator];
  if (node.operand.kind === 'constant' && node.operator === '-') {
    const { value } = node.operand;
    if (typeof value === 'number' || value instanceof Float) {
      const negative = negate(state, value);
      return () => negative;
    }
  }
  const operand = compiler.compile(node.operand, scope);
  return (frame) => operation(state, operand(frame));
}

/** Compiles a node of whose value only the truth is needed. */
export function compileTest(
  compiler: NodeCompiler,
  node: SyntaxNode,
  scope: NameScope,
): (frame: Parameters<CompiledNode>[0]) => boolean {
  const code = compiler.compile(node, scope);
  return (frame) => {
    const value = code(frame);
    return typeof value === 'boolean' ? value : isTruthy(value);
  };
}

/** Compiles `and` and `or`, which return the operand that decides. */
export function compileAndOr(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'and' | 'or' },
  scope: NameScope,
): CompiledNode {
  const stopsAt = node.kind === 'or';
  const codes = node.operands.map((operand) => compiler.compile(operand, scope));
  return codes.reduceRight((rest, first) => (frame) => {
    const value = first(frame);
    return isTruthy(value) === stopsAt ? value : rest(frame);
  });
}

/** Compiles `a if test else b`. */
export function compileConditional(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'conditional' },
  scope: NameScope,
): CompiledNode {
  const test = compileTest(compiler, node.test, scope);
  const value = compiler.compile(node.value, scope);
  const otherwiseCode = compiler.compile(node.otherwise, scope);
  return (frame) => (test(frame) ? value(frame) : otherwiseCode(frame));
}

type ComparisonOperation = (runtime: Runtime, a: PyValue, b: PyValue) => boolean;

const comparisonOperations: Readonly<Record<ComparisonOperator, ComparisonOperation>> = {
  '==': isEqual,
  '!=': (runtime, a, b) => !isEqual(runtime, a, b),
  '<': (runtime, a, b) => isOrdered(runtime, '<', a, b),
  '<=': (runtime, a, b) => isOrdered(runtime, '<=', a, b),
  '>': (runtime, a, b) => isOrdered(runtime, '>', a, b),
  '>=': (runtime, a, b) => isOrdered(runtime, '>=', a, b),
  in: contains,
  'not in': (runtime, a, b) => !contains(runtime, a, b),
  is: (_, a, b) => isIdentical(a, b),
  'is not': (_, a, b) => !isIdentical(a, b),
};

/** Compiles a comparison; in a chain, each operand is evaluated at most once, and the first false comparison decides. */
export function compileComparison(
  compiler: NodeCompiler,
  node: SyntaxNode & { readonly kind: 'comparison' },
  scope: NameScope,
): CompiledNode {
  const { state } = compiler;
  const first = compiler.compile(node.first, scope);
  const restParts = node.rest.map((part) => ({
    operation: compiler.withPosition(part, comparisonOperations[part.operator]),
    operand: compiler.compile(part.operand, scope),
  }));
  if (restParts.length === 1) {
    const [{ operator, operand }] = node.rest as [(typeof node.rest)[0]];
    return compileSingleComparison(
      state,
      operator,
      first,
      restParts[0]!.operand,
      constantOf(operand),
    );
  }
  return (frame) => {
    let a = first(frame);
    for (const { operation, operand } of restParts) {
      const b = operand(frame);
      if (!operation(state, a, b)) return false;
      a = b;
    }
    return true;
  };
}

/** Returns the value of a constant; for a tuple or list of constants, a tuple of their values; undefined for other nodes. */
function constantOf(node: SyntaxNode): PyValue | undefined {
  if (node.kind === 'constant') return node.value;
  const isConstant =
    (node.kind === 'tuple' || node.kind === 'list') &&
    node.items.every((item) => !item.isUnpacked && item.value.kind === 'constant');
  if (!isConstant) return undefined;
  return new PyTuple(
    node.items.map(({ value }) => (value.kind === 'constant' ? value.value : null)),
  );
}

function compileSingleComparison(
  state: Runtime,
  operator: ComparisonOperator,
  left: CompiledNode,
  right: CompiledNode,
  constant: PyValue | undefined,
): CompiledNode {
  const operation = comparisonOperations[operator];
  switch (operator) {
    case '==':
    case '!=': {
      const isWanted = operator === '==';
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        const areSimple =
          (typeof a === 'number' && typeof b === 'number') ||
          (typeof a === 'string' && typeof b === 'string' && a.length < 1000);
        return (areSimple ? a === b : isEqual(state, a, b)) === isWanted;
      };
    }
    case '<':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a < b;
        return isOrdered(state, '<', a, b);
      };
    case '>':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a > b;
        return isOrdered(state, '>', a, b);
      };
    case 'in':
    case 'not in': {
      const isWanted = operator === 'in';
      if (!(constant instanceof PyTuple)) break;
      if (!constant.items.every((item) => typeof item === 'string')) break;
      const texts = new Set<PyValue>(constant.items);
      return (frame) => texts.has(left(frame)) === isWanted;
    }
    default:
  }
  return (frame) => operation(state, left(frame), right(frame));
}

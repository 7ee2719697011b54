import { floatFloorDivide, floatModulo, intFloorDivide, intModulo } from '../operators/division.js';
import type { BinaryOperator, ComparisonOperator, SyntaxNode } from '../syntax/syntax-tree.js';
import { Float } from '../values/python-values.js';
import { memberPathOf, type MemberPath } from './record-fields.js';

/** The type of the values in a column of numbers. */
export type NumberKind = 'int' | 'float' | 'bool';

/**
 * The numbers of many records; a bool is 0 or 1. NaN stands for a value that only the evaluation of the single record can give: None, an
 * int that is not a safe integer, the result of an operation that fails, and NaN itself.
 */
export interface NumberColumn {
  readonly kind: NumberKind;
  readonly values: Float64Array;
}

/** A column of numbers, or a number that is the same in all records. */
interface Operand {
  readonly kind: NumberKind;
  readonly values: Float64Array | number;
}

/**
 * Evaluates an expression for many records at once, operator by operator. Returns undefined if the expression contains anything but
 * numbers, bools, arithmetic without `**`, comparisons by equality or order, `and`, `or`, `not`, conditionals, and members of the record
 * that are columns of numbers, or combines kinds of number in a way that is not supported. Steps and memory are not counted, because for
 * each record, far less is used than any limit allows.
 */
export function evaluateNumbers(
  root: SyntaxNode,
  columnOf: ColumnOf,
  rows: number,
): NumberColumn | undefined {
  const result = operandOf(root, columnOf);
  if (result === undefined) return undefined;
  const { kind, values } = result;
  return {
    kind,
    values: typeof values === 'number' ? new Float64Array(rows).fill(values) : values,
  };
}

/** Returns a new copy of a column, which the evaluation may change. */
type ColumnOf = (path: MemberPath) => NumberColumn | undefined;

function operandOf(node: SyntaxNode, columnOf: ColumnOf): Operand | undefined {
  switch (node.kind) {
    case 'constant':
      return constantOperand(node.value);
    case 'unary': {
      const operand = operandOf(node.operand, columnOf);
      return operand && unaryColumn(node.operator, operand);
    }
    case 'binary': {
      const left = operandOf(node.left, columnOf);
      const right = left && operandOf(node.right, columnOf);
      return left && right && binaryColumn(node.operator, left, right);
    }
    case 'and':
    case 'or': {
      const operands: Operands = operandsOf(node.operands, columnOf) ?? [undefined];
      return operands.reduceRight(
        (rest, first) => rest && first && booleanOperation(node.kind, first, rest),
      );
    }
    case 'comparison':
      return comparisonColumn(node, columnOf);
    case 'conditional': {
      const operands = operandsOf([node.test, node.value, node.otherwise], columnOf);
      return operands && choiceColumn(operands[0]!, operands[1]!, operands[2]!);
    }
    default: {
      const path = memberPathOf(node);
      return path && columnOf(path);
    }
  }
}

type Operands = readonly (Operand | undefined)[];

function operandsOf(nodes: readonly SyntaxNode[], columnOf: ColumnOf): Operands | undefined {
  const operands: Operand[] = [];
  for (const node of nodes) {
    const operand = operandOf(node, columnOf);
    if (operand === undefined) return undefined;
    operands.push(operand);
  }
  return operands;
}

function constantOperand(value: unknown): Operand | undefined {
  if (typeof value === 'number') return { kind: 'int', values: value };
  if (typeof value === 'boolean') return { kind: 'bool', values: Number(value) };
  return value instanceof Float ? { kind: 'float', values: value.value } : undefined;
}

/** An operation on two numbers. If the result is NaN, the record is evaluated on its own. */
type Operation = (a: number, b: number) => number;

const intOperations: Partial<Record<BinaryOperator, Operation>> = {
  '+': (a, b) => safeInteger(a + b),
  '-': (a, b) => safeInteger(a - b),
  '*': (a, b) => safeInteger(a * b),
  '//': (a, b) => (b === 0 ? Number.NaN : (intFloorDivide(a, b) as number)),
  '%': (a, b) => (b === 0 ? Number.NaN : (intModulo(a, b) as number)),
};

const floatOperations: Partial<Record<BinaryOperator, Operation>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0 ? Number.NaN : a / b),
  '//': (a, b) => (b === 0 ? Number.NaN : floatFloorDivide(a, b)),
  '%': (a, b) => (b === 0 ? Number.NaN : floatModulo(a, b)),
};

const comparisons: Partial<Record<ComparisonOperator, Operation>> = {
  '==': (a, b) => truthValue(a, b, a === b),
  '!=': (a, b) => truthValue(a, b, a !== b),
  '<': (a, b) => truthValue(a, b, a < b),
  '<=': (a, b) => truthValue(a, b, a <= b),
  '>': (a, b) => truthValue(a, b, a > b),
  '>=': (a, b) => truthValue(a, b, a >= b),
};

/** Returns a safe integer unchanged, and NaN for any other number; -0 becomes 0, because ints have no negative zero. */
function safeInteger(value: number): number {
  return Number.isSafeInteger(value) ? value + 0 : Number.NaN;
}

function truthValue(a: number, b: number, holds: boolean): number {
  if (a !== a || b !== b) return Number.NaN;
  return holds ? 1 : 0;
}

function binaryColumn(operator: BinaryOperator, a: Operand, b: Operand): Operand | undefined {
  if (a.kind === 'bool' || b.kind === 'bool') return undefined;
  const isInt = a.kind === 'int' && b.kind === 'int' && operator !== '/';
  const operation = (isInt ? intOperations : floatOperations)[operator];
  if (operation === undefined) return undefined;
  // The operands are not used again, so the array of one of them can hold the result.
  const targetArray = [a.values, b.values].find((values) => typeof values !== 'number');
  return { kind: isInt ? 'int' : 'float', values: combineColumns(operation, a, b, targetArray) };
}

function unaryColumn(operator: '+' | '-' | '~' | 'not', a: Operand): Operand | undefined {
  const zero: Operand = { kind: a.kind, values: 0 };
  if (operator === 'not')
    return { kind: 'bool', values: combineColumns(comparisons['==']!, a, zero) };
  if (a.kind === 'bool' || operator === '~') return undefined;
  if (operator === '+') return a;
  return {
    kind: a.kind,
    values: combineColumns(a.kind === 'int' ? negateInt : negateFloat, a, zero),
  };
}

const negateFloat: Operation = (a) => -a;
const negateInt: Operation = (a) => 0 - a;

function comparisonColumn(
  { first, rest }: SyntaxNode & { readonly kind: 'comparison' },
  columnOf: ColumnOf,
): Operand | undefined {
  let left = operandOf(first, columnOf);
  let conjunction: Operand | undefined;
  for (const { operator, operand } of rest) {
    const right = left && operandOf(operand, columnOf);
    const operation = comparisons[operator];
    if (!left || !right || !operation) return undefined;
    const comparisonResult: Operand = {
      kind: 'bool',
      values: combineColumns(operation, left, right),
    };
    conjunction =
      conjunction === undefined
        ? comparisonResult
        : booleanOperation('and', conjunction, comparisonResult);
    left = right;
  }
  return conjunction;
}

/** Evaluates `first and rest` or `first or rest`; undefined if the operands are of different kinds of number. */
function booleanOperation(kind: 'and' | 'or', first: Operand, rest: Operand): Operand | undefined {
  return kind === 'and' ? choiceColumn(first, rest, first) : choiceColumn(first, first, rest);
}

/**
 * Evaluates `a if test else b`; undefined if `a` and `b` are of different kinds of number. A record whose test or chosen value is NaN is
 * evaluated on its own.
 */
function choiceColumn(test: Operand, a: Operand, b: Operand): Operand | undefined {
  if (a.kind !== b.kind) return undefined;
  const tests = test.values;
  if (typeof tests === 'number') {
    if (tests !== tests) return { kind: a.kind, values: Number.NaN };
    return tests === 0 ? b : a;
  }
  const values = new Float64Array(tests.length);
  const [valuesIfTrue, valuesIfFalse] = [a.values, b.values];
  for (let i = 0; i < values.length; i++) {
    const testValue = tests[i]!;
    if (testValue !== testValue) values[i] = Number.NaN;
    else if (testValue !== 0)
      values[i] = typeof valuesIfTrue === 'number' ? valuesIfTrue : valuesIfTrue[i]!;
    else values[i] = typeof valuesIfFalse === 'number' ? valuesIfFalse : valuesIfFalse[i]!;
  }
  return { kind: a.kind, values };
}

/** Returns the results of an operation on two operands; the array of the result may be that of an operand. */
function combineColumns(
  operation: Operation,
  { values: a }: Operand,
  { values: b }: Operand,
  into?: Float64Array,
): Float64Array | number {
  if (typeof a === 'number' && typeof b === 'number') return operation(a, b);
  const values = into ?? new Float64Array((typeof a === 'number' ? (b as Float64Array) : a).length);
  if (typeof a === 'number')
    for (let i = 0; i < values.length; i++) values[i] = operation(a, (b as Float64Array)[i]!);
  else if (typeof b === 'number')
    for (let i = 0; i < values.length; i++) values[i] = operation(a[i]!, b);
  else for (let i = 0; i < values.length; i++) values[i] = operation(a[i]!, b[i]!);
  return values;
}

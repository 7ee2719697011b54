import { expect, test } from '@jest/globals';
import { valueOfJson } from '../../../engine/expression/annotate/json-values.js';
import type { NumberColumn } from '../../../engine/expression/compile/number-columns.js';
import { compileExpression } from '../../../engine/expression/expression.js';
import {
  Float,
  type PyDict,
  type PyValue,
} from '../../../engine/expression/values/python-values.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

const ints = [
  0,
  1,
  -1,
  2,
  7,
  -7,
  16384,
  2 ** 31,
  -(2 ** 31),
  2 ** 52 + 1,
  2 ** 53 - 1,
  1 - 2 ** 53,
];
const floats = [0.5, -0.25, 1e-3, 1.5e300, -1.5e300, 1e-300, 3.75];
const rowCount = 60;

test(`the numbers of an expression that is evaluated for many records together are those of each record (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!;
  const columns = {
    i: Array.from({ length: rowCount }, () => pick(ints)),
    j: Array.from({ length: rowCount }, () => pick([...ints, null])),
    f: Array.from({ length: rowCount }, () => pick(floats)),
  };
  const records = columns.i.map((i, row) =>
    JSON.stringify({ i, o: { j: columns.j[row] }, f: columns.f[row] }),
  );
  const operands = ['record.i', 'record.o.j', "record['f']", '3', '-2', '0.5', '16384', 'True'];
  const randomExpression = (depth: number): string => {
    if (depth === 0) return pick(operands);
    const operator = pick([...'+-*/%', '//', '+', '-', '<', '<=', '==', '!=', '>', 'and', 'or', 'if', '-x', 'not']); // prettier-ignore
    const [a, b] = [randomExpression(depth - 1), randomExpression(depth - 1)];
    if (operator === 'if') return `(${a} if ${randomExpression(depth - 1)} else ${b})`;
    if (operator === '-x') return `(-${a})`;
    return operator === 'not' ? `(not ${a})` : `(${a} ${operator} ${b})`;
  };
  let comparedCount = 0;
  for (let round = 0; round < 400; round++) {
    const source = randomExpression(1 + Math.floor(next() * 3));
    const expression = compileExpression(source);
    const columnOf = (path: number): NumberColumn => {
      const name = (expression.pathsRead as readonly (readonly string[])[])[path]!.at(-1)!;
      const values = columns[name as keyof typeof columns].map((value) => value ?? Number.NaN);
      return { kind: name === 'f' ? 'float' : 'int', values: Float64Array.from(values) };
    };
    const numbers = expression.evaluateNumbers(columnOf, rowCount);
    if (numbers === undefined) continue;
    for (let row = 0; row < rowCount; row++) {
      const value = numbers.values[row]!;
      if (Number.isNaN(value)) continue;
      const ourValue = { float: new Float(value), int: value, bool: value === 1 }[numbers.kind];
      const expectedResult = valueOrErrorText(() =>
        expression.evaluate(valueOfJson(records[row]!) as PyDict),
      );
      expect([source, records[row], ourValue]).toEqual([source, records[row], expectedResult]);
      comparedCount++;
    }
  }
  expect(comparedCount).toBeGreaterThan(2000);
});

/** Returns a value, or the text of an error. */
function valueOrErrorText(evaluate: () => PyValue): PyValue {
  try {
    return evaluate();
  } catch (error) {
    return String(error);
  }
}

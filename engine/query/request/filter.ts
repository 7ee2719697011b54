import { budgets } from '../../core/budgets.js';
import { condition, isRangeAction, splitKey } from './actions.js';
import { fieldRef, type FieldIndex } from './fields.js';
import { all, and, not, or, type Predicate } from '../predicate/predicate.js';
import { Problem, problemAt, show } from './problem.js';

/**
 * Parses `filters` (query language 2.1): a list of items joined by AND, each a pair `[FIELD__ACTION, VALUE]` or an object with
 * one of `and`, `or`, `not`. Throws a 400 under the key `filters` that names the path of the offending node.
 */
export function parseFilters(
  input: unknown,
  fields: FieldIndex,
  rules: FilterRules = datasetRules,
): Predicate {
  if (input === null || input === undefined) return all;
  return and(items(input, 'filters', 1, { fields, rules, nodes: 0 }));
}

/** How filters on something other than a dataset differ from those on a dataset. */
export interface FilterRules {
  /** Actions that are not available. */
  readonly refused: ReadonlySet<string>;
  /** All values are strings, so numeric actions compare the numbers that the strings spell. */
  readonly isAllText: boolean;
}

const datasetRules: FilterRules = { refused: new Set(), isAllText: false };

interface Parsing {
  readonly fields: FieldIndex;
  readonly rules: FilterRules;
  nodes: number;
}

/** The items of a list; a single pair or object stands for a list of one. */
function items(input: unknown, path: string, depth: number, parsing: Parsing): Predicate[] {
  if (isPair(input) || !Array.isArray(input)) return [item(input, path, depth, parsing)];
  return input.map((member, index) => item(member, `${path}[${index}]`, depth, parsing));
}

function item(input: unknown, path: string, depth: number, parsing: Parsing): Predicate {
  try {
    parsing.nodes += 1;
    if (parsing.nodes > budgets.filterNodes) {
      throw new Problem(
        `Filters take at most ${budgets.filterNodes} nodes (budget filterNodes)`,
        true,
      );
    }
    if (depth > budgets.filterDepth) {
      throw new Problem(
        `Filters nest at most ${budgets.filterDepth} levels (budget filterDepth)`,
        true,
      );
    }
    if (isPair(input)) return pair(input[0], input[1], parsing);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
      return operation(input, path, depth, parsing);
    }
    throw new Problem(`Expected [field, value] or an object with and, or, not; got ${show(input)}`);
  } catch (error) {
    if (error instanceof Problem) throw problemAt('filters', path, error);
    throw error;
  }
}

function pair(key: string, value: unknown, { fields, rules }: Parsing): Predicate {
  const { name, action } = splitKey(key, (one) => fields.find(one) !== undefined);
  const field = fields.find(name);
  if (!field) throw new Problem(`Unknown field: ${name}`);
  if (value === undefined) throw new Problem(`Field ${name} has no value`);
  if (action === '' && name !== key) throw new Problem('Unknown action: ');
  if (rules.refused.has(action)) throw new Problem(`Action ${action} is not supported here`);
  const ref = fieldRef(field);
  const isNumber = rules.isAllText && isRangeAction(action) && ref.type === 'string';
  return condition(
    isNumber ? { ...ref, type: 'double', isNumberInText: true } : ref,
    action,
    value,
  );
}

function operation(input: object, path: string, depth: number, parsing: Parsing): Predicate {
  const entries = Object.entries(input);
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw new Problem(
      `Expected an object with exactly one of and, or, not; got ${entries.length} keys`,
    );
  }
  const operator = operators.get(entry[0].toLowerCase());
  if (!operator) throw new Problem(`Unknown boolean operator: ${entry[0].slice(0, 80)}`);
  const operand = entry[1] as unknown;
  if (typeof operand !== 'object' || operand === null) {
    throw new Problem(`Operator ${entry[0]} expects a list, not ${show(operand)}`);
  }
  return operator(items(operand, `${path}.${entry[0]}`, depth + 1, parsing));
}

const operators: ReadonlyMap<string, (items: Predicate[]) => Predicate> = new Map([
  ['and', and],
  ['or', or],
  ['not', (members: Predicate[]) => not(and(members))],
]);

/** A list of two whose first member is a string is a pair, any other list a list of items. */
export function isPair(input: unknown): input is [string, unknown] {
  return Array.isArray(input) && input.length === 2 && typeof input[0] === 'string';
}

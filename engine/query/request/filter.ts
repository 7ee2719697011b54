import { budgets } from '../../core/budgets.js';
import { didYouMean, suggestionFor, type Synonyms } from '../../core/suggestion.js';
import { conditionOfAction, isRangeAction, splitKey } from './actions.js';
import { elementFields, fieldRef, unknownFieldMessage, type FieldIndex } from './field-index.js';
import { all, and, any, none, not, or, type Predicate } from '../predicate/predicate.js';
import { Problem, errorOfProblem, valueForMessage } from './problem.js';

/**
 * Parses `filters` (query language 2.1): a list of items joined by AND, each of which is a pair `[FIELD__ACTION, VALUE]` or an object with
 * one of `and`, `or`, `not`, `any`. Throws a 400 with the key `filters` that names the path of the invalid node.
 */
export function parseFilters(
  input: unknown,
  fields: FieldIndex,
  rules: FilterRules = datasetRules,
): Predicate {
  if (input === null || input === undefined) return all;
  return and(readFilters(input, 'filters', 1, { fields, rules, size: { nodes: 0 } }));
}

/** How filters in a query of a file differ from filters on a dataset. */
export interface FilterRules {
  /** Actions that are not available. */
  readonly refused: ReadonlySet<string>;
  /** True if all values are strings, so that numeric actions compare the numbers that the strings spell. */
  readonly isAllText: boolean;
}

const datasetRules: FilterRules = { refused: new Set(), isAllText: false };

interface FilterParsingContext {
  readonly fields: FieldIndex;
  readonly rules: FilterRules;
  readonly size: { nodes: number };
}

/** Parses the items of a list; a single pair or object stands for a list of one item. */
function readFilters(
  input: unknown,
  path: string,
  depth: number,
  context: FilterParsingContext,
): Predicate[] {
  if (isPair(input) || !Array.isArray(input)) return [readFilter(input, path, depth, context)];
  return input.map((member, index) => readFilter(member, `${path}[${index}]`, depth, context));
}

function readFilter(
  input: unknown,
  path: string,
  depth: number,
  context: FilterParsingContext,
): Predicate {
  try {
    context.size.nodes += 1;
    if (context.size.nodes > budgets.filterNodes) {
      throw new Problem(
        `A request takes at most ${budgets.filterNodes} filters, with and, or, not and any counted: replace filters on one field by one with the action in, or send several requests`,
        true,
      );
    }
    if (depth > budgets.filterDepth) {
      throw new Problem(
        `Filters nest at most ${budgets.filterDepth} levels deep: put an and within an and, or an or within an or, into the outer one`,
        true,
      );
    }
    if (isPair(input)) return readPair(input[0], input[1], context);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
      return readOperation(input, path, depth, context);
    }
    throw new Problem(
      `Expected [field, value] or an object with and, or, not, any; got ${valueForMessage(input)}`,
    );
  } catch (error) {
    if (error instanceof Problem) throw errorOfProblem('filters', path, error);
    throw error;
  }
}

function readPair(key: string, value: unknown, { fields, rules }: FilterParsingContext): Predicate {
  const { name, action } = splitKey(key, (one) => fields.find(one) !== undefined);
  const field = fields.find(name);
  if (!field) throw new Problem(unknownFieldMessage(name, fields));
  if (action === '' && name !== key) throw new Problem('Unknown action: ');
  if (rules.refused.has(action)) throw new Problem(`Action ${action} is not supported here`);
  const ref = fieldRef(field);
  const isNumber = rules.isAllText && isRangeAction(action) && ref.type === 'string';
  return conditionOfAction(
    isNumber ? { ...ref, type: 'double', isNumberInText: true } : ref,
    action,
    value,
  );
}

function readOperation(
  input: object,
  path: string,
  depth: number,
  context: FilterParsingContext,
): Predicate {
  const entries = Object.entries(input);
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw new Problem(
      `Expected an object with exactly one of and, or, not, any; got ${entries.length} keys`,
    );
  }
  const operator = filterOperatorByName.get(entry[0].toLowerCase());
  if (!operator) {
    const [word] = entry;
    const fix = didYouMean(suggestionFor(word, filterOperatorByName.keys(), operatorSynonyms));
    throw new Problem(`Unknown boolean operator: ${word.slice(0, 80)}.${fix}`.replace(/\.$/, ''));
  }
  return operator(entry[1], `${path}.${entry[0]}`, depth + 1, context);
}

/** Builds the predicate of an operator from its operand, which is at `path` in the request. */
type FilterOperator = (
  operand: unknown,
  path: string,
  depth: number,
  context: FilterParsingContext,
) => Predicate;

const filterOperatorByName: ReadonlyMap<string, FilterOperator> = new Map([
  ['and', combiningOperator(and)],
  ['or', combiningOperator(or)],
  ['not', combiningOperator((members) => not(and(members)))],
  ['any', sameElementCondition],
]);

function combiningOperator(build: (members: Predicate[]) => Predicate): FilterOperator {
  return (operand, path, depth, context) => {
    if (typeof operand !== 'object' || operand === null)
      throw new Problem(`Operator ${path.slice(path.lastIndexOf('.') + 1)} expects a list, not ${valueForMessage(operand)}`); // prettier-ignore
    return build(readFilters(operand, path, depth, context));
  };
}

/**
 * Parses the operand of `any` (Strandlake's extension of query language 2.1): one element of the list that the operand's `path` names
 * satisfies all of its `filters`.
 */
function sameElementCondition(
  operand: unknown,
  path: string,
  depth: number,
  context: FilterParsingContext,
): Predicate {
  const { path: name, filters } = readElementConditions(operand);
  const field = context.fields.find(name);
  if (!field) throw new Problem(unknownFieldMessage(name, context.fields));
  // A field of type `auto` is declared but has no data, so no record has an element.
  if (field.dataType === 'auto') return none;
  const fields = elementFields(context.fields, field);
  if (!fields) throw new Problem(`${name} is not a list of objects; a condition on its fields is written ["${name}.FIELD", VALUE]`); // prettier-ignore
  const members = readFilters(filters, `${path}.filters`, depth, { ...context, fields });
  return any(fieldRef(field), and(members));
}

/** Checks and returns the operand of `any`. Throws a `Problem`. */
function readElementConditions(operand: unknown): {
  readonly path: string;
  readonly filters: object;
} {
  if (typeof operand !== 'object' || operand === null || Array.isArray(operand))
    throw new Problem(
      `Operator any expects {"path": LIST, "filters": [...]}, not ${valueForMessage(operand)}`,
    );
  const { path, filters, ...more } = operand as Readonly<Record<string, unknown>>;
  const [unknownKey] = Object.keys(more);
  if (unknownKey !== undefined)
    throw new Problem(`Operator any takes path and filters, not ${unknownKey.slice(0, 80)}`);
  if (typeof path !== 'string')
    throw new Problem(
      `Operator any needs the name of a list of objects as its path, not ${valueForMessage(path)}`,
    );
  if (typeof filters !== 'object' || filters === null)
    throw new Problem(`Operator any needs a list of filters, not ${valueForMessage(filters)}`);
  return { path, filters };
}

const operatorSynonyms: Synonyms = {
  all: ['and'],
  must: ['and'],
  should: ['or'],
  '&&': ['and'],
  '||': ['or'],
  '!': ['not'],
  mustnot: ['not'],
  none: ['not'],
};

/** Returns true for a list of two members of which the first is a string; any other list is a list of items. */
export function isPair(input: unknown): input is [string, unknown] {
  return Array.isArray(input) && input.length === 2 && typeof input[0] === 'string';
}

import { budgets } from '../../core/budgets.js';
import { didYouMean, suggestionFor, type Synonyms } from '../../core/suggestion.js';
import { conditionOfAction, isRangeAction, splitKey } from './actions.js';
import { elementFields, fieldRef, unknownField, type FieldIndex } from './fields.js';
import { all, and, any, none, not, or, type Predicate } from '../predicate/predicate.js';
import { Problem, problemAt, shownValue } from './problem.js';

/**
 * Parses `filters` (query language 2.1): a list of items joined by AND, each a pair `[FIELD__ACTION, VALUE]` or an object with
 * one of `and`, `or`, `not`, `any`. Throws a 400 under the key `filters` that names the path of the offending node.
 */
export function parseFilters(
  input: unknown,
  fields: FieldIndex,
  rules: FilterRules = datasetRules,
): Predicate {
  if (input === null || input === undefined) return all;
  return and(readItems(input, 'filters', 1, { fields, rules, size: { nodes: 0 } }));
}

/** How filters on documents of the catalogue differ from filters on a dataset. */
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
  readonly size: { nodes: number };
}

/** The items of a list; a single pair or object stands for a list of one. */
function readItems(input: unknown, path: string, depth: number, parsing: Parsing): Predicate[] {
  if (isPair(input) || !Array.isArray(input)) return [readItem(input, path, depth, parsing)];
  return input.map((member, index) => readItem(member, `${path}[${index}]`, depth, parsing));
}

function readItem(input: unknown, path: string, depth: number, parsing: Parsing): Predicate {
  try {
    parsing.size.nodes += 1;
    if (parsing.size.nodes > budgets.filterNodes) {
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
    if (isPair(input)) return readPair(input[0], input[1], parsing);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
      return readOperation(input, path, depth, parsing);
    }
    throw new Problem(
      `Expected [field, value] or an object with and, or, not, any; got ${shownValue(input)}`,
    );
  } catch (error) {
    if (error instanceof Problem) throw problemAt('filters', path, error);
    throw error;
  }
}

function readPair(key: string, value: unknown, { fields, rules }: Parsing): Predicate {
  const { name, action } = splitKey(key, (one) => fields.find(one) !== undefined);
  const field = fields.find(name);
  if (!field) throw new Problem(unknownField(name, fields));
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

function readOperation(input: object, path: string, depth: number, parsing: Parsing): Predicate {
  const entries = Object.entries(input);
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw new Problem(
      `Expected an object with exactly one of and, or, not, any; got ${entries.length} keys`,
    );
  }
  const operator = operators.get(entry[0].toLowerCase());
  if (!operator) {
    const [word] = entry;
    const fix = didYouMean(suggestionFor(word, operators.keys(), operatorSynonyms));
    throw new Problem(`Unknown boolean operator: ${word.slice(0, 80)}.${fix}`.replace(/\.$/, ''));
  }
  return operator(entry[1], `${path}.${entry[0]}`, depth + 1, parsing);
}

/** Builds the predicate of an operator from its operand, which stands at `path`. */
type FilterOperator = (
  operand: unknown,
  path: string,
  depth: number,
  parsing: Parsing,
) => Predicate;

const operators: ReadonlyMap<string, FilterOperator> = new Map([
  ['and', combiningOperator(and)],
  ['or', combiningOperator(or)],
  ['not', combiningOperator((members) => not(and(members)))],
  ['any', sameElement],
]);

function combiningOperator(build: (members: Predicate[]) => Predicate): FilterOperator {
  return (operand, path, depth, parsing) => {
    if (typeof operand !== 'object' || operand === null)
      throw new Problem(`Operator ${path.slice(path.lastIndexOf('.') + 1)} expects a list, not ${shownValue(operand)}`); // prettier-ignore
    return build(readItems(operand, path, depth, parsing));
  };
}

/** The conditions of `any` (our extension of query language 2.1): one element of the list at `path` satisfies all of `filters`. */
function sameElement(operand: unknown, path: string, depth: number, parsing: Parsing): Predicate {
  const { path: name, filters } = elementConditions(operand);
  const field = parsing.fields.find(name);
  if (!field) throw new Problem(unknownField(name, parsing.fields));
  // A declared field without data: no record has an element.
  if (field.dataType === 'auto') return none;
  const fields = elementFields(parsing.fields, field);
  if (!fields) throw new Problem(`${name} is not a list of objects; a condition on its fields is written ["${name}.FIELD", VALUE]`); // prettier-ignore
  const members = readItems(filters, `${path}.filters`, depth, { ...parsing, fields });
  return any(fieldRef(field), and(members));
}

/** The operand of `any`, checked. Throws a `Problem`. */
function elementConditions(operand: unknown): { readonly path: string; readonly filters: object } {
  if (typeof operand !== 'object' || operand === null || Array.isArray(operand))
    throw new Problem(
      `Operator any expects {"path": LIST, "filters": [...]}, not ${shownValue(operand)}`,
    );
  const { path, filters, ...more } = operand as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(more);
  if (other !== undefined)
    throw new Problem(`Operator any takes path and filters, not ${other.slice(0, 80)}`);
  if (typeof path !== 'string')
    throw new Problem(
      `Operator any needs the name of a list of objects as its path, not ${shownValue(path)}`,
    );
  if (typeof filters !== 'object' || filters === null)
    throw new Problem(`Operator any needs a list of filters, not ${shownValue(filters)}`);
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

/** A list of two whose first member is a string is a pair, any other list a list of items. */
export function isPair(input: unknown): input is [string, unknown] {
  return Array.isArray(input) && input.length === 2 && typeof input[0] === 'string';
}

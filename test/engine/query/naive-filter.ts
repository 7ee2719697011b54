import type { Columns, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import { resolveField, hasElements, isNumeric, isTextType, valuesOf, type NaiveField } from './naive-fields.js'; // prettier-ignore
import {
  boundForType,
  compareComparables,
  equalityPredicate,
  boundPredicate,
  lowerCase,
  dateRangeOrRefuse,
  RefusedRequest,
  textOrRefuse,
  wordsOf,
} from './naive-values.js';

/** A filter in its full form, without shorthand and without `any`. */
export type NaiveFilter =
  | readonly [string, unknown]
  | { readonly and: readonly NaiveFilter[] }
  | { readonly or: readonly NaiveFilter[] }
  | { readonly not: NaiveFilter };

/** A function that says whether a record satisfies a condition. */
export type RowPredicate = (row: TestRow) => boolean;

/**
 * Returns the predicate that the key `filters` of a request means (query language 2); throws `RefusedRequest` if the request must be
 * answered with a 400.
 */
export function filterPredicate(input: unknown, columns: Columns): RowPredicate {
  if (input === null || input === undefined) return () => true;
  return everyItemPredicate(input, { columns, isElement: false });
}

/** The fields that a filter may name: those of a record, or of an element of a list of objects. */
interface FilterScope {
  readonly columns: Columns;
  readonly isElement: boolean;
}

function everyItemPredicate(input: unknown, scope: FilterScope): RowPredicate {
  const tests = itemsOf(input).map((item) => itemPredicate(item, scope));
  return (row) => tests.every((test) => test(row));
}

/** Returns a list of items; a single pair or object counts as a list of one. */
function itemsOf(input: unknown): readonly unknown[] {
  return Array.isArray(input) && !isPair(input) ? input : [input];
}

function isPair(input: unknown): input is readonly [string, unknown] {
  return Array.isArray(input) && input.length === 2 && typeof input[0] === 'string';
}

function itemPredicate(item: unknown, scope: FilterScope): RowPredicate {
  if (isPair(item)) return pairPredicate(item[0], item[1], scope);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) throw new RefusedRequest('no item'); // prettier-ignore
  const entries = Object.entries(item);
  if (entries.length !== 1) throw new RefusedRequest('one key');
  const [operator, operand] = entries[0] as [string, unknown];
  if (typeof operand !== 'object' || operand === null) throw new RefusedRequest('no list');
  if (operator.toLowerCase() === 'any') return elementPredicate(operand, scope);
  const tests = itemsOf(operand).map((member) => itemPredicate(member, scope));
  switch (operator.toLowerCase()) {
    case 'and':
      return (row) => tests.every((test) => test(row));
    case 'or':
      return (row) => tests.some((test) => test(row));
    case 'not':
      return (row) => !tests.every((test) => test(row));
    default:
      throw new RefusedRequest('no operator');
  }
}

/** Returns the predicate of an `any` filter: at least one element of the list that is not null satisfies all filters of the operand. */
function elementPredicate(operand: object, { columns, isElement }: FilterScope): RowPredicate {
  const { path, filters, ...more } = operand as Readonly<Record<string, unknown>>;
  if (typeof path !== 'string' || typeof filters !== 'object' || filters === null) throw new RefusedRequest('no any'); // prettier-ignore
  const listField = resolveField(columns, path, isElement);
  if (!listField || !hasElements(listField) || Object.keys(more).length > 0)
    throw new RefusedRequest('no list');
  const test = everyItemPredicate(filters, {
    columns: listField.column.children ?? [],
    isElement: true,
  });
  return (row) => valuesOf(row, listField.path).some((element) => test(element as TestRow));
}

function pairPredicate(key: string, wanted: unknown, scope: FilterScope): RowPredicate {
  const fieldOf = (name: string) => resolveField(scope.columns, name, scope.isElement);
  const separatorAt = fieldOf(key) ? -1 : key.lastIndexOf('__');
  const name = separatorAt < 0 ? key : key.slice(0, separatorAt);
  const field = fieldOf(name);
  const lengthCondition = lengthFilter(key, fieldOf);
  if (!field && lengthCondition) return lengthPredicate(lengthCondition, wanted);
  if (!field) throw new RefusedRequest('no such field');
  if (key.slice(separatorAt) === '__length') return lengthPredicate([field, ''], wanted);
  const action = separatorAt < 0 ? '' : key.slice(separatorAt + 2);
  if (separatorAt >= 0 && action === '') throw new RefusedRequest('no such action');
  const isMissing: RowPredicate = (row) => valuesOf(row, field.path).length === 0;
  if (wanted === null && ['', 'exact', 'iexact'].includes(action)) {
    if (action === 'iexact' && !isTextType(field.column.type)) throw new RefusedRequest('iexact');
    return isMissing;
  }
  const listedValues: readonly unknown[] = action === 'in' && Array.isArray(wanted) ? wanted : [];
  const test = valuePredicate(field, action, action === 'in' && Array.isArray(wanted) ? wanted.filter((value) => value !== null) : wanted); // prettier-ignore
  return (row) =>
    valuesOf(row, field.path).some(test) || (listedValues.includes(null) && isMissing(row));
}

/** Returns, for a key such as `FIELD__length__ACTION`, the field and the action on the number of its values. */
function lengthFilter(
  key: string,
  fieldOf: (name: string) => NaiveField | undefined,
): readonly [NaiveField, string] | undefined {
  const [name, action, ...more] = key.split('__length__');
  const field = fieldOf(name!);
  return field && action && more.length === 0 ? [field, action] : undefined;
}

/** Returns the predicate of a condition on the number of a field's values that are not null; the number is treated as an integer field. */
function lengthPredicate(
  [{ name, path }, action]: readonly [NaiveField, string],
  wanted: unknown,
): RowPredicate {
  const column = { name, physical: name, type: 'integer', isList: false } as const;
  const isNumericAction = ['', 'in', 'range', 'between', 'gt', 'gte', 'lt', 'lte'].includes(action);
  const hasNull = wanted === null || (Array.isArray(wanted) && wanted.includes(null));
  if (!isNumericAction || hasNull) throw new RefusedRequest('no length');
  const test = valuePredicate({ name, path: [name], column }, action, wanted);
  return (row) => test(valuesOf(row, path).length);
}

/** Returns the predicate on a single value that an action means (query language 2.2). */
function valuePredicate(
  { column, path }: NaiveField,
  action: string,
  wanted: unknown,
): (value: Value) => boolean {
  const { type } = column;
  const isRanged = isNumeric(type) || type === 'date';
  const refuseUnless = (isApplicable: boolean): void => {
    if (!isApplicable) throw new RefusedRequest(`${action} on ${type}`);
  };
  const isChromosome = path.length === 2 && path[0] === 'genomic_coordinates' && path[1] === 'chromosome'; // prettier-ignore
  const plainValue = (value: unknown): unknown =>
    isChromosome && typeof value === 'string' ? value.replace(/^chr/i, '') : value;
  switch (action) {
    case '':
      if (type === 'text') return containsWordsPredicate(textOrRefuse(wanted));
      return equalityPredicate(column, plainValue(wanted), true);
    case 'iexact':
      refuseUnless(isTextType(type));
      return equalityPredicate(column, plainValue(wanted), true);
    case 'exact':
      return equalityPredicate(column, plainValue(wanted), false);
    case 'in': {
      refuseUnless(type !== 'object' && type !== 'json');
      if (!Array.isArray(wanted)) throw new RefusedRequest('no list');
      const tests = wanted.map((value) => equalityPredicate(column, plainValue(value), true));
      return (value) => tests.some((test) => test(value));
    }
    case 'contains': {
      refuseUnless(isTextType(type));
      const part = textOrRefuse(wanted);
      if (type === 'text') return containsWordsPredicate(part);
      // No stored value contains a lone surrogate, although JavaScript finds one inside a surrogate pair.
      return (value) => part.isWellFormed() && (value as string).includes(part);
    }
    case 'prefix': {
      refuseUnless(type === 'string');
      const start = textOrRefuse(wanted);
      return (value) => start.isWellFormed() && (value as string).startsWith(start);
    }
    case 'regexp':
    case 'regex': {
      refuseUnless(type === 'string');
      const pattern = wholeMatchExpression(textOrRefuse(wanted));
      return (value) => pattern.test(value as string);
    }
    case 'range':
    case 'between': {
      refuseUnless(isRanged);
      if (!Array.isArray(wanted) || wanted.length !== 2) throw new RefusedRequest('no two values');
      const [from, to] = wanted as [unknown, unknown];
      const lowestValue = (value: unknown): bigint | number =>
        type === 'date' ? dateRangeOrRefuse(value)[0] : boundForType(type, value);
      if (compareComparables(lowestValue(from), lowestValue(to)) > 0)
        throw new RefusedRequest('not in order');
      const isInclusive = action === 'range';
      const isAboveLow = boundPredicate(column, from, isInclusive ? 'gte' : 'gt');
      const isBelowHigh = boundPredicate(column, to, isInclusive ? 'lte' : 'lt');
      return (value) => isAboveLow(value) && isBelowHigh(value);
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      refuseUnless(isRanged);
      return boundPredicate(column, wanted, action);
    default:
      throw new RefusedRequest(`no action ${action}`);
  }
}

/**
 * Returns the expression that matches a whole value as RE2 does. In the patterns that the generator writes, only the dot has another
 * meaning in RE2: it matches all characters but the line feed.
 */
function wholeMatchExpression(pattern: string): RegExp {
  const translatedPattern = pattern.replaceAll(/\\.|\./gs, (part) =>
    part === '.' ? '[^\n]' : part,
  );
  try {
    return new RegExp(`^(?:${translatedPattern})$`, 'u');
  } catch {
    throw new RefusedRequest('no pattern');
  }
}

/**
 * Returns a predicate that is true if every word of `wanted` occurs in a value, in any order and letter case; if `wanted` has no words, it
 * is always false.
 */
function containsWordsPredicate(wanted: string): (value: Value) => boolean {
  const words = wordsOf(wanted);
  return (value) => {
    const wordsPresent = new Set(wordsOf(value as string));
    return words.length > 0 && words.every((word) => wordsPresent.has(word));
  };
}

/** Tells whether two strings are equal without regard to letter case, as for entities. */
export function equalsIgnoringCase(a: string, b: string): boolean {
  return lowerCase(a) === lowerCase(b);
}

import type { Columns, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import { fieldNamed, hasElements, isNumeric, isWritten, valuesOf, type NaiveField } from './naive-fields.js'; // prettier-ignore
import {
  boundValue,
  compare,
  equality,
  limit,
  lowerCase,
  momentIn,
  Refused,
  textIn,
  wordsOf,
} from './naive-values.js';

/** Whether a record satisfies something. */
export type Test = (row: TestRow) => boolean;

/** The test that `filters` stand for (query language 2); throws Refused where a request is answered with 400. */
export function filterTest(input: unknown, columns: Columns): Test {
  if (input === null || input === undefined) return () => true;
  return everyTest(input, { columns, isElement: false });
}

/** The fields that a filter may name: those of a record, or of an element of a list of objects. */
interface Scope {
  readonly columns: Columns;
  readonly isElement: boolean;
}

function everyTest(input: unknown, scope: Scope): Test {
  const tests = members(input).map((item) => itemTest(item, scope));
  return (row) => tests.every((test) => test(row));
}

/** A list of items; a bare pair or object stands for a list of one. */
function members(input: unknown): readonly unknown[] {
  return Array.isArray(input) && !isPair(input) ? input : [input];
}

function isPair(input: unknown): input is readonly [string, unknown] {
  return Array.isArray(input) && input.length === 2 && typeof input[0] === 'string';
}

function itemTest(item: unknown, scope: Scope): Test {
  if (isPair(item)) return pairTest(item[0], item[1], scope);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) throw new Refused('no item'); // prettier-ignore
  const entries = Object.entries(item);
  if (entries.length !== 1) throw new Refused('one key');
  const [operator, operand] = entries[0] as [string, unknown];
  if (typeof operand !== 'object' || operand === null) throw new Refused('no list');
  if (operator.toLowerCase() === 'any') return elementTest(operand, scope);
  const tests = members(operand).map((member) => itemTest(member, scope));
  switch (operator.toLowerCase()) {
    case 'and':
      return (row) => tests.every((test) => test(row));
    case 'or':
      return (row) => tests.some((test) => test(row));
    case 'not':
      return (row) => !tests.every((test) => test(row));
    default:
      throw new Refused('no operator');
  }
}

/** An element that is not null satisfies all filters. */
function elementTest(operand: object, { columns, isElement }: Scope): Test {
  const { path, filters, ...more } = operand as Readonly<Record<string, unknown>>;
  if (typeof path !== 'string' || typeof filters !== 'object' || filters === null) throw new Refused('no any'); // prettier-ignore
  const list = fieldNamed(columns, path, isElement);
  if (!list || !hasElements(list) || Object.keys(more).length > 0) throw new Refused('no list');
  const test = everyTest(filters, { columns: list.column.children ?? [], isElement: true });
  return (row) => valuesOf(row, list.path).some((element) => test(element as TestRow));
}

function pairTest(key: string, wanted: unknown, scope: Scope): Test {
  const fieldOf = (name: string) => fieldNamed(scope.columns, name, scope.isElement);
  const separatorAt = fieldOf(key) ? -1 : key.lastIndexOf('__');
  const name = separatorAt < 0 ? key : key.slice(0, separatorAt);
  const field = fieldOf(name);
  const ofLength = lengthFilter(key, fieldOf);
  if (!field && ofLength) return lengthTest(ofLength, wanted);
  if (!field) throw new Refused('no such field');
  if (key.slice(separatorAt) === '__length') return lengthTest([field, ''], wanted);
  const action = separatorAt < 0 ? '' : key.slice(separatorAt + 2);
  if (separatorAt >= 0 && action === '') throw new Refused('no such action');
  const isMissing: Test = (row) => valuesOf(row, field.path).length === 0;
  if (wanted === null && ['', 'exact', 'iexact'].includes(action)) {
    if (action === 'iexact' && !isWritten(field.column.type)) throw new Refused('iexact');
    return isMissing;
  }
  const list: readonly unknown[] = action === 'in' && Array.isArray(wanted) ? wanted : [];
  const test = holdsFor(field, action, action === 'in' && Array.isArray(wanted) ? wanted.filter((value) => value !== null) : wanted); // prettier-ignore
  return (row) => valuesOf(row, field.path).some(test) || (list.includes(null) && isMissing(row));
}

/** For a key such as `FIELD__length__ACTION`: the field, and the action on the number of its values. */
function lengthFilter(
  key: string,
  named: (name: string) => NaiveField | undefined,
): readonly [NaiveField, string] | undefined {
  const [name, action, ...more] = key.split('__length__');
  const field = named(name!);
  return field && action && more.length === 0 ? [field, action] : undefined;
}

/** The number of values, nulls left out, as if it were an integer of its own. */
function lengthTest(
  [{ name, path }, action]: readonly [NaiveField, string],
  wanted: unknown,
): Test {
  const column = { name, physical: name, type: 'integer', isList: false } as const;
  const isNumeric = ['', 'in', 'range', 'between', 'gt', 'gte', 'lt', 'lte'].includes(action);
  const hasNull = wanted === null || (Array.isArray(wanted) && wanted.includes(null));
  if (!isNumeric || hasNull) throw new Refused('no length');
  const test = holdsFor({ name, path: [name], column }, action, wanted);
  return (row) => test(valuesOf(row, path).length);
}

/** The test of one value that an action stands for (query language 2.2). */
function holdsFor(
  { column, path }: NaiveField,
  action: string,
  wanted: unknown,
): (value: Value) => boolean {
  const { type } = column;
  const isRanged = isNumeric(type) || type === 'date';
  const refuseUnless = (isApplicable: boolean): void => {
    if (!isApplicable) throw new Refused(`${action} on ${type}`);
  };
  const isChromosome = path.length === 2 && path[0] === 'genomic_coordinates' && path[1] === 'chromosome'; // prettier-ignore
  const plainValue = (value: unknown): unknown =>
    isChromosome && typeof value === 'string' ? value.replace(/^chr/i, '') : value;
  switch (action) {
    case '':
      if (type === 'text') return hasWords(textIn(wanted));
      return equality(column, plainValue(wanted), true);
    case 'iexact':
      refuseUnless(isWritten(type));
      return equality(column, plainValue(wanted), true);
    case 'exact':
      return equality(column, plainValue(wanted), false);
    case 'in': {
      refuseUnless(type !== 'object' && type !== 'json');
      if (!Array.isArray(wanted)) throw new Refused('no list');
      const tests = wanted.map((value) => equality(column, plainValue(value), true));
      return (value) => tests.some((test) => test(value));
    }
    case 'contains': {
      refuseUnless(isWritten(type));
      const part = textIn(wanted);
      if (type === 'text') return hasWords(part);
      // Half of a character is in no value, though JavaScript finds it in a whole one.
      return (value) => part.isWellFormed() && (value as string).includes(part);
    }
    case 'prefix': {
      refuseUnless(type === 'string');
      const start = textIn(wanted);
      return (value) => start.isWellFormed() && (value as string).startsWith(start);
    }
    case 'regexp':
    case 'regex': {
      refuseUnless(type === 'string');
      const pattern = expression(textIn(wanted));
      return (value) => pattern.test(value as string);
    }
    case 'range':
    case 'between': {
      refuseUnless(isRanged);
      if (!Array.isArray(wanted) || wanted.length !== 2) throw new Refused('no two values');
      const [from, to] = wanted as [unknown, unknown];
      const first = (value: unknown): bigint | number =>
        type === 'date' ? momentIn(value)[0] : boundValue(type, value);
      if (compare(first(from), first(to)) > 0) throw new Refused('not in order');
      const isIn = action === 'range';
      const isAboveLow = limit(column, from, isIn ? 'gte' : 'gt');
      const isBelowHigh = limit(column, to, isIn ? 'lte' : 'lt');
      return (value) => isAboveLow(value) && isBelowHigh(value);
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      refuseUnless(isRanged);
      return limit(column, wanted, action);
    default:
      throw new Refused(`no action ${action}`);
  }
}

/** Of the syntax that the generator writes, only the dot differs from RE2: it matches all characters but line ends of every kind. */
function expression(pattern: string): RegExp {
  const dots = pattern.replaceAll(/\\.|\./gs, (part) => (part === '.' ? '[^\n]' : part));
  try {
    return new RegExp(`^(?:${dots})$`, 'u');
  } catch {
    throw new Refused('no pattern');
  }
}

/** Every word occurs, in any order and letter case; a text without words finds nothing. */
function hasWords(wanted: string): (value: Value) => boolean {
  const words = wordsOf(wanted);
  return (value) => {
    const wordsPresent = new Set(wordsOf(value as string));
    return words.length > 0 && words.every((word) => wordsPresent.has(word));
  };
}

/** Equality without letter case, for entities. */
export function isSame(a: string, b: string): boolean {
  return lowerCase(a) === lowerCase(b);
}

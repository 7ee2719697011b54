import type { FieldRef, Predicate, Scalar } from '../predicate/predicate.js';
import type { ParamType } from './params.js';
import { access, type Access, type Spellings, type Statement } from './statement.js';
import { phrasePattern, wildcardPattern, wordPattern } from './patterns.js';

/**
 * The predicate as an SQL condition. A positive condition may be null where a value is missing; a negation asks `IS NOT TRUE`,
 * which makes it true there.
 */
export function compile(statement: Statement, predicate: Predicate): string {
  switch (predicate.kind) {
    case 'all':
      return 'true';
    case 'none':
      return 'false';
    case 'and':
    case 'or': {
      const items = predicate.items.map((item) => compile(statement, item));
      return `(${items.join(predicate.kind === 'and' ? ' AND ' : ' OR ')})`;
    }
    case 'not':
      // Tests for missing values are never null, and stay conditions that the row groups' statistics can answer.
      if (predicate.item.kind === 'missing') return missing(statement, predicate.item.field, true);
      return `(${compile(statement, predicate.item)}) IS NOT TRUE`;
    case 'missing':
      return missing(statement, predicate.field, false);
    default: {
      const values = access(statement, predicate.field);
      return values ? `(${condition(statement, predicate, values)})` : 'false';
    }
  }
}

type Condition = Exclude<Predicate, { kind: 'all' | 'none' | 'and' | 'or' | 'not' | 'missing' }>;

function missing(statement: Statement, field: Condition['field'], isNegated: boolean): string {
  const { dialect } = statement;
  const values = access(statement, field);
  if (!values) return isNegated ? 'false' : 'true';
  const { sql, column } = values;
  // Choice: a list that holds nothing but nulls is missing too.
  if (values.isMany) return `${isNegated ? 'NOT ' : ''}(${dialect.listMissing(sql, column)})`;
  return isNegated ? dialect.present(sql, column) : dialect.missing(sql, column);
}

function condition(statement: Statement, predicate: Condition, values: Access): string {
  if (predicate.kind === 'in') return oneOf(statement, predicate, values);
  const test = single(statement, predicate);
  return values.isMany ? statement.dialect.some(values.sql, test) : test(values.sql);
}

/** The test of one value; its bound values are added once, however often the test is written out. */
function single(
  { dialect, params }: Statement,
  predicate: Exclude<Condition, { kind: 'in' }>,
): (value: string) => string {
  switch (predicate.kind) {
    case 'range': {
      const { low, high } = predicate;
      const bounds: ((value: string) => string)[] = [];
      for (const [bound, sign] of [
        [low, '>'],
        [high, '<'],
      ] as const) {
        if (!bound) continue;
        const place = params.add(boundType(predicate.field), bound.value);
        bounds.push((value) => `${value} ${sign}${bound.inclusive ? '=' : ''} ${place}`);
      }
      return (value) => bounds.map((bound) => bound(value)).join(' AND ');
    }
    case 'contains': {
      const part = params.add('string', predicate.text);
      return (value) => dialect.contains(value, part);
    }
    case 'prefix': {
      const start = params.add('string', predicate.text);
      return (value) => dialect.startsWith(value, start);
    }
    case 'regexp': {
      const pattern = params.add('string', dialect.wholePattern(predicate.pattern));
      return (value) => dialect.matchesWhole(value, pattern);
    }
    case 'words': {
      const patterns = predicate.words.map((word) => params.add('string', wordPattern(word)));
      return (value) => patterns.map((pattern) => dialect.matches(value, pattern)).join(' AND ');
    }
    case 'phrase': {
      const pattern = params.add('string', phrasePattern(predicate.words));
      return (value) => dialect.matches(value, pattern);
    }
    case 'overlap': {
      const { build, chromosome, start, stop } = predicate;
      const isBuild = build === null ? undefined : params.add('string', build.toLowerCase());
      const isChromosome = params.add('string', chromosome.toLowerCase());
      const [first, last] = [params.add('long', start), params.add('long', stop)];
      return (value) => {
        const part = (number: number): string => dialect.regionPart(value, number);
        const tests = [
          `${dialect.fold(part(2))} = ${isChromosome}`,
          `${dialect.wholeNumber(part(3))} <= ${last}`,
          `${dialect.wholeNumber(part(4))} >= ${first}`,
        ];
        if (isBuild) tests.unshift(`${dialect.fold(part(1))} = ${isBuild}`);
        return tests.join(' AND ');
      };
    }
    case 'wildcard': {
      const pattern = params.add('string', wildcardPattern(predicate.parts));
      return (value) => dialect.matches(value, pattern);
    }
  }
}

/** Values are in the form of the field's type as the request saw it, even if a column of another type has come since. */
export function boundType({ type }: FieldRef): ParamType {
  return type === 'text' || type === 'blob' ? 'string' : (type as ParamType);
}

/** Longer lists are bound as one value and joined: a statement of 100,000 places takes longer to plan than to run. */
const longestWrittenList = 32;

/**
 * True for a predicate that the engine may answer with a join, which need not keep the order of the files: DuckDB makes one
 * of any list of values, of five already, and then returns a later file's records first now and then.
 */
export function joins(predicate: Predicate, spellings: Spellings): boolean {
  if (predicate.kind === 'and' || predicate.kind === 'or')
    return predicate.items.some((item) => joins(item, spellings));
  if (predicate.kind === 'not') return joins(predicate.item, spellings);
  return predicate.kind === 'in' && (spellings.get(predicate) ?? predicate.values).length > 1;
}

function oneOf(
  { dialect, params, spellings }: Statement,
  predicate: Extract<Predicate, { kind: 'in' }>,
  { sql, isMany }: Access,
): string {
  const paramType = boundType(predicate.field);
  const exact = predicate.ignoreCase ? exactForm(predicate, spellings) : predicate.values;
  if (exact?.length === 0) return 'false';
  const values = exact ?? predicate.values;
  if (values.length > longestWrittenList) {
    const list = params.add(paramType, values);
    const isFolded = exact === undefined;
    return isMany
      ? dialect.someInList(sql, list, paramType, isFolded)
      : dialect.isInList(sql, list, paramType, isFolded);
  }
  const added = values.map((value) => params.add(paramType, value));
  if (exact) {
    if (!isMany) return dialect.isOneOf(sql, added, paramType);
    return added.length === 1
      ? dialect.listHas(sql, added[0]!)
      : dialect.some(sql, (value) => dialect.isOneOf(value, added, paramType));
  }
  const places = added.map((place) => dialect.fold(place));
  const test = (value: string): string => dialect.isOneOf(dialect.fold(value), places, paramType);
  return isMany ? dialect.some(sql, test) : test(sql);
}

/**
 * The values to compare with `=` where that gives the same answer as folding every stored one, which takes ten times longer: where
 * there are no letters, and where the stored spellings are known. Undefined if there is no such list.
 */
function exactForm(
  predicate: Extract<Predicate, { kind: 'in' }>,
  spellings: Spellings,
): readonly Scalar[] | undefined {
  const hasLetters = predicate.values.some((value) => /[^\p{ASCII}]|[A-Za-z]/u.test(String(value)));
  return hasLetters ? spellings.get(predicate) : predicate.values;
}

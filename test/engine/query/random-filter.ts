import { filterActions } from '../../../engine/query/request/actions.js';
import type { Value } from '../../../engine/core/types.js';
import { elementFields, hasElements, isNumeric, namedFields, valuesOf, type MadeDataset, type NaiveField } from './naive-fields.js'; // prettier-ignore
import { filterTest } from './naive-filter.js';
import type { NaiveFilter } from './naive.js';
import { compare, momentRange, numberIn } from './naive-values.js';
import { randomScalar } from './random-records.js';
import type { Random } from './random.js';

/** `filters` of a random tree, in every shape that is allowed; now and then with one thing that must be refused. */
export function randomFilters(random: Random, made: MadeDataset): unknown {
  const fields = [...namedFields(made.columns), id];
  // A few are as deep or as wide as the budgets let them be.
  if (random.chance(0.01)) return [deepFilter(random, made, fields, 1 + random.below(30))];
  if (random.chance(0.01)) return [{ or: random.list(100 + random.below(200), () => pair(random, made, random.pick(fields))) }]; // prettier-ignore
  const list = random.list(random.pick([0, 1, 1, 1, 2, 3]), () => item(random, made, fields, 0));
  return list.length === 1 && random.chance(0.2) ? list[0] : list;
}

/** The same without shorthand, and with nothing that must be refused: `not` over one item, operators in lower case. */
export function plainFilters(random: Random, made: MadeDataset): NaiveFilter[] {
  const fields = namedFields(made.columns);
  return random.list(random.below(3), () => plainItem(random, made, fields, 0));
}

function plainItem(random: Random, made: MadeDataset, fields: Fields, depth: number): NaiveFilter {
  if (depth < 4 && random.chance(0.45)) {
    const inner = (): NaiveFilter => plainItem(random, made, fields, depth + 1);
    const kind = random.below(3);
    if (kind === 0) return { and: random.list(random.below(4), inner) };
    return kind === 1 ? { or: random.list(random.below(4), inner) } : { not: inner() };
  }
  for (;;) {
    const chosenFilter = pair(random, made, random.pick(fields)) as NaiveFilter;
    if (isAllowed(chosenFilter, made)) return chosenFilter;
  }
}

function isAllowed(filter: NaiveFilter, { columns }: MadeDataset): boolean {
  try {
    filterTest([filter], columns);
    return true;
  } catch {
    return false;
  }
}

const id: NaiveField = {
  name: '_id',
  path: ['_id'],
  column: { name: '_id', physical: '_id', type: 'string', isList: false },
};

type Fields = readonly NaiveField[];

function item(random: Random, made: MadeDataset, fields: Fields, depth: number): unknown {
  const lists = fields.filter(hasElements);
  if (lists.length > 0 && random.chance(0.3)) return element(random, made, random.pick(lists), depth); // prettier-ignore
  if (depth >= 4 || random.chance(0.55)) return pair(random, made, random.pick(fields));
  const operator = random.pick(['and', 'or', 'not', 'AND', 'Or', 'NOT']);
  const count = random.pick([0, 1, 1, 2, 2, 3]);
  const list = random.list(count, () => item(random, made, fields, depth + 1));
  // A single pair or object may stand for a list of one.
  return { [operator]: list.length === 1 && random.chance(0.6) ? list[0] : list };
}

/** Conditions on one element of a list; now and then a path that is no such list. */
function element(random: Random, made: MadeDataset, list: NaiveField, depth: number): unknown {
  const fieldsInside = elementFields(list);
  const filters = random.list(random.pick([0, 1, 2, 2, 3]), () => item(random, made, fieldsInside, depth + 1)); // prettier-ignore
  const path = random.chance(0.01) ? random.pick(fieldsInside).name : list.name;
  return { [random.pick(['any', 'any', 'ANY'])]: { path, filters: filters.length === 1 && random.chance(0.5) ? filters[0] : filters } }; // prettier-ignore
}

function deepFilter(random: Random, made: MadeDataset, fields: Fields, levels: number): unknown {
  if (levels === 0) return pair(random, made, random.pick(fields));
  const inner = deepFilter(random, made, fields, levels - 1);
  return { [random.pick(['and', 'or', 'not', 'not'])]: random.chance(0.5) ? inner : [inner] };
}

const strangeActions = ['iexact', 'range', 'gt', 'lte', 'contains', 'prefix', 'regexp', 'in', 'like', 'exact', 'GT', '']; // prettier-ignore
const wrongValues: readonly unknown[] = [
  'many',
  '',
  true,
  {},
  [],
  [1, 2],
  null,
  '2016-02-30',
  Infinity,
];

function pair(random: Random, made: MadeDataset, field: NaiveField): unknown {
  const { name, column } = field;
  const { type } = column;
  if (random.chance(0.004))
    return [random.pick([`${name}x`, `${name}.x`, 'bogus', `${name}__`]), 1];
  if (random.chance(0.006)) {
    const action = random.pick(strangeActions);
    const value = comparedValue(random, made, field);
    // The naive model reads the patterns that the generator makes, not any.
    return [`${name}__${action}`, action === 'regexp' ? pattern(random, String(value)) : value];
  }
  if (random.chance(0.006))
    return [`${name}__${random.pick(actionsOf(field))}`, random.pick(wrongValues)];
  if (type === 'object' || type === 'json' || random.chance(0.1))
    return [`${name}${random.pick(['', '', '__exact'])}`, null];
  if (random.chance(0.08)) {
    const [action, value] = ofLength(random);
    return [`${name}__length${action}`, value];
  }
  const action = random.pick(actionsOf(field));
  const key = action === '' ? name : `${name}__${action}`;
  switch (action) {
    case 'in': {
      const list = random.list(random.pick([0, 1, 2, 5, 40]), (): unknown => comparedValue(random, made, field)); // prettier-ignore
      return [key, random.chance(0.1) ? [...list, null] : list];
    }
    case 'regexp':
    case 'regex':
      return [key, pattern(random, String(comparedValue(random, made, field)))];
    case 'contains':
    case 'prefix':
      return [key, partOfText(random, String(comparedValue(random, made, field)))];
    case 'range':
    case 'between': {
      const ends = [comparedValue(random, made, field), comparedValue(random, made, field)];
      return [key, random.chance(0.02) ? ends : ends.sort((a, b) => order(field, a, b))];
    }
    default:
      return [key, comparedValue(random, made, field)];
  }
}

/** The actions on numbers, which apply to the number of values, too. */
const lengthActions = filterActions()
  .filter(({ name, types }) => ['', 'in'].includes(name) || !types.includes('string'))
  .map(({ name }) => (name === '' ? '' : `__${name}`));

/** An action on the number of values, and a value for it. */
function ofLength(random: Random): readonly [string, unknown] {
  const count = (): number => random.pick([0, 0, 1, 1, 2, 3, 0.5, -1, 2 ** 40]);
  const action = random.pick(lengthActions);
  if (action === '__in') return [action, random.list(random.below(4), count)];
  if (action !== '__range' && action !== '__between') return [action, count()];
  return [action, [count(), count()].sort((a, b) => a - b)];
}

function actionsOf({ column: { type } }: NaiveField): readonly string[] {
  const actions = ['', '', 'exact', 'in'];
  if (type === 'string') actions.push('iexact', 'contains', 'prefix', 'regexp', 'regex');
  if (type === 'text') actions.push('iexact', 'contains');
  if (isNumeric(type) || type === 'date') actions.push('range', 'between', 'gt', 'gte', 'lt', 'lte'); // prettier-ignore
  return actions;
}

/** A value to compare with: of some record, any of the type, or one written in another way. */
function comparedValue(
  random: Random,
  made: MadeDataset,
  { path, column: { type } }: NaiveField,
): unknown {
  const rows = made.segments.flatMap((segment) => segment.rows);
  const knownValues = random.chance(0.6)
    ? valuesOf(rows.length > 0 ? random.pick(rows) : {}, path)
    : [];
  const value = knownValues.length > 0 ? random.pick(knownValues) : randomScalar(random, type);
  if (isNumeric(type)) return numberWritten(random, type, value);
  if (type === 'date') return dateWritten(random, value as string);
  if (type === 'boolean')
    return random.chance(0.7) ? value : random.pick([String(value), String(value).toUpperCase()]);
  const text = typeof value === 'string' ? value : 'x';
  if (path.at(-1) === 'chromosome' && random.chance(0.4))
    return random.pick(['chr', 'CHR', 'Chr']) + text;
  if (/^\d{1,9}$/.test(text) && random.chance(0.3) && String(Number(text)) === text)
    return Number(text);
  return random.chance(0.3) ? random.pick([text.toUpperCase(), text.toLowerCase()]) : text;
}

function numberWritten(random: Random, type: string, value: Value): unknown {
  if (random.chance(0.15)) return random.pick([0.5, -1.5, 1e30, -1e30, 1e39, 2 ** 63, 9007199254740993n, 18446744073709551616n, -9223372036854775809n, 10n ** 310n, '+1', ' 2 ', '9007199254740993.0', '9007199254740993e0', '90071992547409930E-1', '.5', '1e2', '1.0', 2147483648]); // prettier-ignore
  if (random.chance(0.1)) return String(value);
  // Clients do not write 64-bit numbers as JavaScript's doubles.
  return type === 'float' && random.chance(0.5) ? Number(Number(value).toPrecision(7)) : value;
}

function dateWritten(random: Random, date: string): unknown {
  if (random.chance(0.3)) return date.slice(0, 10);
  if (date.length === 10) return random.chance(0.2) ? `${date} 12:30` : date;
  if (random.chance(0.3) && !/^(0000|0001|9999)/.test(date)) return date + random.pick(['Z', '+01:00', '-0530', '+00:00']); // prettier-ignore
  return random.chance(0.2) ? date.replace('T', ' ') : date;
}

function order({ column: { type } }: NaiveField, a: unknown, b: unknown): number {
  if (type === 'date') return compare(momentRange(a as string)![0], momentRange(b as string)![0]);
  return compare(numberIn(a), numberIn(b));
}

function partOfText(random: Random, text: string): string {
  const chars = Array.from(text);
  const from = random.below(chars.length + 1);
  const to = random.below(chars.length + 1);
  return random.chance(0.5) ? chars.slice(0, to).join('') : chars.slice(Math.min(from, to), Math.max(from, to)).join(''); // prettier-ignore
}

/** A pattern near a text, of what RE2 and JavaScript understand alike. */
function pattern(random: Random, text: string): string {
  if (random.chance(0.2)) return random.pick(['.*', '', '.+', '[A-Z]+[0-9]?', '(BRCA|TTN)[12]*', 'a|b', '(a|ab)(c|bcd)*', '[^a]*', 'BRCA\\d', '.{2,3}', '\\w+', '(?:x)?.', '^a', 'a$', '\\W*', '(', '*a', '[', '\\']); // prettier-ignore
  return Array.from(text, (char) => {
    const kind = random.below(10);
    if (kind === 0) return '.';
    if (kind === 1) return '.*';
    const literal = /[A-Za-z0-9 _"',%!#&:;<=>@`~-]/.test(char) || char > '\u007f' ? char : char < ' ' ? `\\x0${char.charCodeAt(0).toString(16)}` : `\\${char}`; // prettier-ignore
    if (kind === 2) return `(${literal}|zz)`;
    return kind === 3 ? `${literal}?` : kind === 4 ? `${literal}+` : literal;
  }).join('');
}

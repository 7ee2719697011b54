import { filterActions } from './filter-actions.js';
import type { Value } from '../../../engine/core/types.js';
import { elementFields, hasElements, isNumeric, unambiguousFields, valuesOf, type GeneratedDataset, type NaiveField } from './naive-fields.js'; // prettier-ignore
import { filterPredicate, type NaiveFilter } from './naive-filter.js';
import { compareComparables, dateRangeMicros, numberOrRefuse } from './naive-values.js';
import { randomScalar } from './random-records.js';
import type { Random } from './random.js';

/** Returns random `filters` in every allowed shape; sometimes with parts that must be refused. */
export function randomFilters(random: Random, dataset: GeneratedDataset): unknown {
  const fields = [...unambiguousFields(dataset.columns), idField];
  // A few filters have up to 30 levels, almost as many as the budgets allow, or 100 to 299 conditions.
  if (random.chance(0.01))
    return [randomDeepFilter(random, dataset, fields, 1 + random.integerBelow(30))];
  if (random.chance(0.01)) return [{ or: random.list(100 + random.integerBelow(200), () => randomPairFilter(random, dataset, random.pick(fields))) }]; // prettier-ignore
  const list = random.list(random.pick([0, 1, 1, 1, 2, 3]), () =>
    randomFilterItem(random, dataset, fields, 0),
  );
  return list.length === 1 && random.chance(0.2) ? list[0] : list;
}

/**
 * Returns random filters without shorthand, without `any` and without anything that must be refused: `not` has one operand, and operators
 * are in lower case.
 */
export function randomPlainFilters(random: Random, dataset: GeneratedDataset): NaiveFilter[] {
  const fields = unambiguousFields(dataset.columns);
  return random.list(random.integerBelow(3), () => randomPlainItem(random, dataset, fields, 0));
}

function randomPlainItem(
  random: Random,
  dataset: GeneratedDataset,
  fields: NaiveFields,
  depth: number,
): NaiveFilter {
  if (depth < 4 && random.chance(0.45)) {
    const inner = (): NaiveFilter => randomPlainItem(random, dataset, fields, depth + 1);
    const kind = random.integerBelow(3);
    if (kind === 0) return { and: random.list(random.integerBelow(4), inner) };
    return kind === 1 ? { or: random.list(random.integerBelow(4), inner) } : { not: inner() };
  }
  for (;;) {
    const chosenFilter = randomPairFilter(random, dataset, random.pick(fields)) as NaiveFilter;
    if (isValidFilter(chosenFilter, dataset)) return chosenFilter;
  }
}

function isValidFilter(filter: NaiveFilter, { columns }: GeneratedDataset): boolean {
  try {
    filterPredicate([filter], columns);
    return true;
  } catch {
    return false;
  }
}

const idField: NaiveField = {
  name: '_id',
  path: ['_id'],
  column: { name: '_id', physical: '_id', type: 'string', isList: false },
};

type NaiveFields = readonly NaiveField[];

function randomFilterItem(
  random: Random,
  dataset: GeneratedDataset,
  fields: NaiveFields,
  depth: number,
): unknown {
  const lists = fields.filter(hasElements);
  if (lists.length > 0 && random.chance(0.3)) return randomElementFilter(random, dataset, random.pick(lists), depth); // prettier-ignore
  if (depth >= 4 || random.chance(0.55))
    return randomPairFilter(random, dataset, random.pick(fields));
  const operator = random.pick(['and', 'or', 'not', 'AND', 'Or', 'NOT']);
  const count = random.pick([0, 1, 1, 2, 2, 3]);
  const list = random.list(count, () => randomFilterItem(random, dataset, fields, depth + 1));
  // A single pair or object may replace a list of one.
  return { [operator]: list.length === 1 && random.chance(0.6) ? list[0] : list };
}

/** Returns an `any` filter on the elements of a list; rarely with the name of a member in place of the path. */
function randomElementFilter(
  random: Random,
  dataset: GeneratedDataset,
  list: NaiveField,
  depth: number,
): unknown {
  const fieldsInside = elementFields(list);
  const filters = random.list(random.pick([0, 1, 2, 2, 3]), () => randomFilterItem(random, dataset, fieldsInside, depth + 1)); // prettier-ignore
  const path = random.chance(0.01) ? random.pick(fieldsInside).name : list.name;
  return { [random.pick(['any', 'any', 'ANY'])]: { path, filters: filters.length === 1 && random.chance(0.5) ? filters[0] : filters } }; // prettier-ignore
}

function randomDeepFilter(
  random: Random,
  dataset: GeneratedDataset,
  fields: NaiveFields,
  levels: number,
): unknown {
  if (levels === 0) return randomPairFilter(random, dataset, random.pick(fields));
  const inner = randomDeepFilter(random, dataset, fields, levels - 1);
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

function randomPairFilter(random: Random, dataset: GeneratedDataset, field: NaiveField): unknown {
  const { name, column } = field;
  const { type } = column;
  if (random.chance(0.004))
    return [random.pick([`${name}x`, `${name}.x`, 'bogus', `${name}__`]), 1];
  if (random.chance(0.006)) {
    const action = random.pick(strangeActions);
    const value = randomComparedValue(random, dataset, field);
    // The naive model supports only the patterns that the generator writes.
    return [
      `${name}__${action}`,
      action === 'regexp' ? randomPattern(random, String(value)) : value,
    ];
  }
  if (random.chance(0.006))
    return [`${name}__${random.pick(actionsOf(field))}`, random.pick(wrongValues)];
  if (type === 'object' || type === 'json' || random.chance(0.1))
    return [`${name}${random.pick(['', '', '__exact'])}`, null];
  if (random.chance(0.08)) {
    const [action, value] = randomLengthCondition(random);
    return [`${name}__length${action}`, value];
  }
  const action = random.pick(actionsOf(field));
  const key = action === '' ? name : `${name}__${action}`;
  switch (action) {
    case 'in': {
      const list = random.list(random.pick([0, 1, 2, 5, 40]), (): unknown => randomComparedValue(random, dataset, field)); // prettier-ignore
      return [key, random.chance(0.1) ? [...list, null] : list];
    }
    case 'regexp':
    case 'regex':
      return [key, randomPattern(random, String(randomComparedValue(random, dataset, field)))];
    case 'contains':
    case 'prefix':
      return [key, randomSubstring(random, String(randomComparedValue(random, dataset, field)))];
    case 'range':
    case 'between': {
      const bounds = [
        randomComparedValue(random, dataset, field),
        randomComparedValue(random, dataset, field),
      ];
      return [
        key,
        random.chance(0.02) ? bounds : bounds.sort((a, b) => compareOfType(field, a, b)),
      ];
    }
    default:
      return [key, randomComparedValue(random, dataset, field)];
  }
}

/** The actions on numbers, which also apply to the number of values. */
const lengthActions = filterActions()
  .filter(({ name, types }) => ['', 'in'].includes(name) || !types.includes('string'))
  .map(({ name }) => (name === '' ? '' : `__${name}`));

/** Returns an action on the number of values, and a value for it. */
function randomLengthCondition(random: Random): readonly [string, unknown] {
  const randomCount = (): number => random.pick([0, 0, 1, 1, 2, 3, 0.5, -1, 2 ** 40]);
  const action = random.pick(lengthActions);
  if (action === '__in') return [action, random.list(random.integerBelow(4), randomCount)];
  if (action !== '__range' && action !== '__between') return [action, randomCount()];
  return [action, [randomCount(), randomCount()].sort((a, b) => a - b)];
}

function actionsOf({ column: { type } }: NaiveField): readonly string[] {
  const actions = ['', '', 'exact', 'in'];
  if (type === 'string') actions.push('iexact', 'contains', 'prefix', 'regexp', 'regex');
  if (type === 'text') actions.push('iexact', 'contains');
  if (isNumeric(type) || type === 'date') actions.push('range', 'between', 'gt', 'gte', 'lt', 'lte'); // prettier-ignore
  return actions;
}

/** Returns a value to compare with: one of some record, a random one of the type, or a value in another spelling. */
function randomComparedValue(
  random: Random,
  dataset: GeneratedDataset,
  { path, column: { type } }: NaiveField,
): unknown {
  const rows = dataset.segments.flatMap((segment) => segment.rows);
  const knownValues = random.chance(0.6)
    ? valuesOf(rows.length > 0 ? random.pick(rows) : {}, path)
    : [];
  const value = knownValues.length > 0 ? random.pick(knownValues) : randomScalar(random, type);
  if (isNumeric(type)) return randomNumberSpelling(random, type, value);
  if (type === 'date') return randomDateSpelling(random, value as string);
  if (type === 'boolean')
    return random.chance(0.7) ? value : random.pick([String(value), String(value).toUpperCase()]);
  const text = typeof value === 'string' ? value : 'x';
  if (path.at(-1) === 'chromosome' && random.chance(0.4))
    return random.pick(['chr', 'CHR', 'Chr']) + text;
  if (/^\d{1,9}$/.test(text) && random.chance(0.3) && String(Number(text)) === text)
    return Number(text);
  return random.chance(0.3) ? random.pick([text.toUpperCase(), text.toLowerCase()]) : text;
}

function randomNumberSpelling(random: Random, type: string, value: Value): unknown {
  if (random.chance(0.15)) return random.pick([0.5, -1.5, 1e30, -1e30, 1e39, 2 ** 63, 9007199254740993n, 18446744073709551616n, -9223372036854775809n, 10n ** 310n, '+1', ' 2 ', '9007199254740993.0', '9007199254740993e0', '90071992547409930E-1', '.5', '1e2', '1.0', 2147483648]); // prettier-ignore
  if (random.chance(0.1)) return String(value);
  // Clients write 32-bit floats with few digits, not as the doubles of JavaScript.
  return type === 'float' && random.chance(0.5) ? Number(Number(value).toPrecision(7)) : value;
}

function randomDateSpelling(random: Random, date: string): unknown {
  if (random.chance(0.3)) return date.slice(0, 10);
  if (date.length === 10) return random.chance(0.2) ? `${date} 12:30` : date;
  if (random.chance(0.3) && !/^(0000|0001|9999)/.test(date)) return date + random.pick(['Z', '+01:00', '-0530', '+00:00']); // prettier-ignore
  return random.chance(0.2) ? date.replace('T', ' ') : date;
}

function compareOfType({ column: { type } }: NaiveField, a: unknown, b: unknown): number {
  if (type === 'date')
    return compareComparables(dateRangeMicros(a as string)![0], dateRangeMicros(b as string)![0]);
  return compareComparables(numberOrRefuse(a), numberOrRefuse(b));
}

function randomSubstring(random: Random, text: string): string {
  const chars = Array.from(text);
  const from = random.integerBelow(chars.length + 1);
  const to = random.integerBelow(chars.length + 1);
  return random.chance(0.5) ? chars.slice(0, to).join('') : chars.slice(Math.min(from, to), Math.max(from, to)).join(''); // prettier-ignore
}

/** Returns a pattern, which may be invalid and often resembles a text; except for the dot, it means the same in RE2 and JavaScript. */
function randomPattern(random: Random, text: string): string {
  if (random.chance(0.2)) return random.pick(['.*', '', '.+', '[A-Z]+[0-9]?', '(BRCA|TTN)[12]*', 'a|b', '(a|ab)(c|bcd)*', '[^a]*', 'BRCA\\d', '.{2,3}', '\\w+', '(?:x)?.', '^a', 'a$', '\\W*', '(', '*a', '[', '\\']); // prettier-ignore
  return Array.from(text, (char) => {
    const kind = random.integerBelow(10);
    if (kind === 0) return '.';
    if (kind === 1) return '.*';
    const literal = /[A-Za-z0-9 _"',%!#&:;<=>@`~-]/.test(char) || char > '\u007f' ? char : char < ' ' ? `\\x0${char.charCodeAt(0).toString(16)}` : `\\${char}`; // prettier-ignore
    if (kind === 2) return `(${literal}|zz)`;
    return kind === 3 ? `${literal}?` : kind === 4 ? `${literal}+` : literal;
  }).join('');
}

import type { Column, Columns, StoredType, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import type { GeneratedDataset } from './naive-fields.js';
import type { Random } from './random.js';
import { randomSchema } from './random-schema.js';

/** Returns a dataset of at most 72 records, in up to three segments; later segments may have columns that the first ones lack. */
export function randomDataset(random: Random): GeneratedDataset {
  const schema = randomSchema(random);
  const segmentCount = random.pick([0, 1, 1, 1, 2, 2, 3]);
  const segments = random.list(segmentCount, () => random.integerBelow(random.pick([2, 12, 25]))).map((rows, index) => {
    const isLast = index === segmentCount - 1;
    const columns = isLast ? schema.columns : randomColumnSubset(random, schema.columns);
    return { columns, rows: randomRows(random, columns, rows) };
  }); // prettier-ignore
  // Columns are added with the records that contain them; the last segment has all columns.
  return { ...schema, segments };
}

/** Returns all columns, or a random part of the columns and of the members of objects. */
function randomColumnSubset(random: Random, columns: Columns): Columns {
  if (random.chance(0.5)) return columns;
  const keptColumns = columns.filter(() => random.chance(0.7));
  return keptColumns.map((each) => {
    const children = each.children?.filter(() => random.chance(0.7));
    return children && children.length > 0 ? { ...each, children } : each;
  });
}

/** Returns records of some columns with every kind of missing value: absent keys, nulls, empty lists, and nulls in lists. */
export function randomRows(random: Random, columns: Columns, count: number): TestRow[] {
  return random.list(count, () => randomObject(random, columns) as TestRow);
}

function randomObject(random: Random, columns: Columns): Record<string, Value> {
  const entries = columns.flatMap((each): (readonly [string, Value])[] =>
    random.chance(0.15) ? [] : [[each.name, randomValue(random, each)]],
  );
  // Object.fromEntries defines own keys, so `__proto__` is a key like any other.
  return Object.fromEntries(entries);
}

function randomValue(random: Random, each: Column): Value {
  if (random.chance(0.1)) return null;
  if (each.isList)
    return random.list(random.integerBelow(4), () =>
      randomValue(random, { ...each, isList: false }),
    );
  if (each.type === 'object') return randomObject(random, each.children ?? []);
  const specialValues = coordinateValues[each.name];
  if (specialValues && random.chance(0.9)) {
    const value = random.pick(specialValues);
    if (typeof value === 'string' ? each.type === 'string' : each.type === 'long' || each.type === 'integer') return value; // prettier-ignore
  }
  return randomScalar(random, each.type);
}

const coordinateValues: Readonly<Record<string, readonly Value[]>> = Object.assign(
  Object.create(null) as object,
  {
    build: ['GRCh37', 'GRCh38', 'grch37', 'GRCH38', 'hg19', 'T2T-CHM13'],
    chromosome: ['1', '2', 'X', 'x', 'MT', '10', 'GL000220.1'],
    start: [1, 5, 10, 20, 100, 2147483647],
    stop: [1, 5, 10, 20, 100, 99, 2147483647],
  },
);

const testCharacters = [
  'a', 'A', 'b', 'B', 'k', 'K', 's', 'i', 'I', 'É', 'é', 'e\u0301', 'ß', 'ẞ', 'İ', 'ı', '\u212a', 'ſ', 'Σ', 'ς', 'ж', 'Ж', 'ﬁ', '1', '7', ' ', ' ', '_', '%',
  '"', "'", '\\', '😀', '𐐀', '𐐨', '\n', '\r', '\t', '\u0001', '\u0000', '.', '*', '?', '(', '[', '^', '$', '|', '+', '-', '{', '\u00a0', '名', '\u200d', ',', '\u2028',
]; // prettier-ignore
const testPhrases = [
  '', 'BRCA1', 'brca1', 'BRCA2', 'TTN', 'cancer', 'Breast cancer', 'breast-cancer', 'cancer of the breast', 'риск', 'a b2', 'OR', 'true', '1', '12',
  'GRCH37-1-5-20', 'T2T-CHM13-1-5-20-T', 'T2T-CHM13-7-9', 'GRCH38-1-5-20-T', 'grch37-chr2-1-10-A', 'GRCh37-X-100-100-C', 'PMID:100', '100', 'NA12878', 'null', 'a\u0301b', 'STRASSE', 'straße', 'Kelvin', 'x.y', 'ab|c',
]; // prettier-ignore
const testLongs = [0n, 1n, -1n, 2n, 3n, 12n, 100n, 9007199254740993n, 9007199254740992n, 9223372036854775807n, -9223372036854775808n]; // prettier-ignore
const testDoubles = [0, -0, 1, -1.5, 0.1, 0.3, 2, 12, 1e308, -1e308, 5e-324, 9007199254740992, 9007199254740994, 123456.789, 1e21, 1e-7]; // prettier-ignore
const testDates = ['2015-01-10', '2016-05-01', '2016-02-29', '1969-12-31', '1970-01-01', '2038-01-19', '0099-03-04', '0001-01-01', '0000-02-29', '9999-12-31']; // prettier-ignore
const timeSuffixes = ['', '', '', 'T12:30:00', 'T00:00:00.000', 'T23:59:59.999', 'T23:59:59.999999', 'T00:00:01', 'T12:30:00.000001']; // prettier-ignore

/** Returns a random value of a type; extreme values are frequent. */
export function randomScalar(random: Random, type: StoredType): Value {
  switch (type) {
    case 'boolean':
      return random.chance(0.5);
    case 'integer':
      return random.pick([0, 1, 2, 3, 12, 100, -1, 2147483647, -2147483648]);
    case 'long':
      return random.pick(testLongs);
    case 'double':
      return random.pick(testDoubles);
    case 'float':
      return Math.fround(Math.max(-3e38, Math.min(random.pick(testDoubles), 3e38)));
    case 'date':
      return random.pick(testDates) + random.pick(timeSuffixes);
    case 'json':
      return random.pick(['[[1,2],["a"]]', '{"a":1.50}', '"x"', '[1,"b",{"c":null}]']);
    case 'text':
      return random.chance(0.5)
        ? random.list(random.integerBelow(6), () => random.pick(testPhrases)).join(random.pick([' ', ', ', '.', '\n'])) // prettier-ignore
        : random.list(random.integerBelow(12), () => random.pick(testCharacters)).join('');
    default:
      return random.chance(0.5)
        ? random.pick(testPhrases)
        : random.list(random.integerBelow(4), () => random.pick(testCharacters)).join('');
  }
}

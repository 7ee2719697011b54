import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns, EntityType, StoredType } from '../../../engine/core/types.js';
import { column, listColumn } from './dataset.js';
import { naiveFields } from './naive-fields.js';
import type { Random } from './random.js';

/**
 * Field names, most of them of kinds that have caused errors in engines: keywords, quotes, Strandlake's SQL aliases, virtual columns,
 * prototype keys, characters of the grammars, control characters, and characters beyond ASCII.
 */
const fieldNames = [
  'gene', 'Sepal.Length', 'a b', 'quo"te', "it's", 'select', 'ünï', 'x;--', '__proto__', 'constructor', 'toString',
  'file_row_number', 'file_index', 'r', '_e1', '__e_0', 'v', 'n', 'k', 'x0', '$1', '?', 'POS', '名前', 'a__gt', 'x__', '-gene',
  'o.a', 'o', 'a', 'a.b', 'x~2', 'e\u0301', '\u00e9', 'AND', 'a:b', 'a(b)', 'back\\slash', 'new\nline', 'tab\t', '%s', '😀', '\u202e',
  'element', 'list', 'item', 'entries', 'NULL', 'true', 'ß', 'İ', 'count(*)', 'not', 'or', 'lambda', 'rowid', 'filename', '*', '`',
]; // prettier-ignore
const scalarTypes: readonly StoredType[] = [
  'string', 'string', 'string', 'long', 'double', 'date', 'boolean', 'integer', 'text', 'float', 'blob',
]; // prettier-ignore

/** The columns of a dataset, and which fields are entities. */
export interface GeneratedSchema {
  readonly columns: Columns;
  readonly entities: Readonly<Record<string, EntityType>>;
}

/** Returns a schema of two to eight columns, one of which may be coordinates; some strings and longs are entities. */
export function randomSchema(random: Random): GeneratedSchema {
  const ownColumns = randomColumns(random, 0);
  const columns = random.chance(0.3)
    ? random.shuffled([...ownColumns, randomCoordinatesColumn(random)])
    : ownColumns;
  const types: readonly EntityType[] = ['gene', 'variant', 'literature', 'sample', 'dataset', 'genomic_region']; // prettier-ignore
  const entities = naiveFields(columns)
    .filter(({ column: { type } }) => type === 'string' || type === 'long')
    .filter(() => random.chance(0.25))
    .map(({ name }) => [name, random.pick(types)] as const);
  return { columns, entities: Object.fromEntries(entities) };
}

/** Returns random columns: scalars, lists, objects, lists of objects, and irregular JSON; names are unique at each level. */
export function randomColumns(random: Random, depth: number): Columns {
  const pool = random.shuffled(fieldNames).slice(0, 2 + random.integerBelow(depth === 0 ? 5 : 2));
  // Another name that differs only in letter case; it gets another physical name.
  const otherCase =
    pool[0] === pool[0]!.toUpperCase() ? pool[0]!.toLowerCase() : pool[0]!.toUpperCase();
  if (random.chance(0.15) && !pool.includes(otherCase)) pool.push(otherCase);
  const physicalNames = new PhysicalNames([], depth === 0);
  return pool.map((name) => {
    const ownColumn = randomColumn(random, name, depth);
    const storedColumn = { ...ownColumn, physical: physicalNames.add(name) };
    return random.chance(0.25) && ownColumn.type !== 'json'
      ? listColumn(storedColumn)
      : storedColumn;
  });
}

function randomColumn(random: Random, name: string, depth: number): Column {
  if (depth < 2 && random.chance(0.25))
    return column(name, 'object', randomColumns(random, depth + 1));
  if (depth === 0 && random.chance(0.06)) return column(name, 'json');
  return column(name, random.pick(scalarTypes));
}

function randomCoordinatesColumn(random: Random): Column {
  const wholeType = random.pick(['long', 'integer'] as const);
  const members = [
    column('chromosome', 'string'),
    column('start', wholeType),
    column('stop', wholeType),
  ];
  if (random.chance(0.7)) members.push(column('build', 'string'));
  return column('genomic_coordinates', 'object', random.shuffled(members));
}

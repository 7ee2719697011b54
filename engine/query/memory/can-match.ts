import type { FieldRef, Predicate } from '../predicate/predicate.js';
import { reservedColumns } from '../../store/arrow.js';
import type { Column, Columns, StoredType } from '../../core/types.js';
import { joined } from './match/joined.js';
import { readPattern } from './match/pattern.js';
import { isReadable } from './match/text-words.js';
import { wordsKey } from './words.js';

/**
 * Whether a matcher answers this predicate over these columns of a dataset (without the reserved ones). What it finds out later, in the
 * columns, it says by throwing NotCovered. Words of texts it answers where their rows are looked up: those with a key in `found`.
 */
export function canMatch(
  predicate: Predicate,
  columns: Columns,
  found: ReadonlySet<string> = new Set(),
): boolean {
  return weightOf(predicate) <= mostWeight && isKnown(predicate, columns, found);
}

function isKnown(predicate: Predicate, columns: Columns, found: ReadonlySet<string>): boolean {
  switch (predicate.kind) {
    case 'all':
    case 'none':
      return true;
    case 'and':
    case 'or':
      return predicate.items.every((item) => isKnown(item, columns, found));
    case 'not':
      return isKnown(predicate.item, columns, found);
    case 'missing': {
      if (predicate.field.isNumberInText) return false;
      // Whether there is an object, its leaves do not tell.
      return columnOf(predicate.field, columns)?.type !== 'object';
    }
    case 'words':
    case 'phrase':
      // Texts are long: they are not searched themselves.
      if (predicate.field.type === 'text') return found.has(wordsKey(predicate));
      return canTest(predicate, columns);
    default:
      return canTest(predicate, columns);
  }
}

type Condition = Exclude<Predicate, { kind: 'all' | 'none' | 'and' | 'or' | 'not' | 'missing' }>;

/** A segment is matched in one go, which nobody can end: what would take more than about a second is left to the SQL engine. */
const mostWeight = 1_000;

/** By and large milliseconds for five million records. */
export function weightOf(predicate: Predicate): number {
  switch (predicate.kind) {
    case 'and':
      return predicate.items.reduce((sum, item) => sum + weightOf(item), 1);
    case 'or':
      return joined(predicate.items).reduce((sum, item) => sum + weightOf(item), 1);
    case 'not':
      return 1 + weightOf(predicate.item);
    case 'overlap':
      return 60;
    case 'contains':
    case 'range':
      return familyOf(predicate.field.type) === 'text' ? 60 : 8;
    case 'prefix':
      return 20;
    case 'words':
    case 'phrase':
      return predicate.field.type === 'text' ? 8 : 100;
    case 'regexp':
    case 'wildcard':
      return 100;
    default:
      return 8;
  }
}

function canTest(condition: Condition, columns: Columns): boolean {
  const { field } = condition;
  if (field.isNumberInText) return false;
  const column = columnOf(field, columns);
  // What no record stores, every record misses.
  if (column !== undefined && familyOf(column.type) !== familyOf(field.type)) return false;
  const family = familyOf(field.type);
  switch (condition.kind) {
    case 'in':
      return family !== undefined;
    case 'range':
      return family !== undefined && family !== 'boolean';
    case 'contains':
    case 'overlap':
    case 'prefix':
      return family === 'text';
    case 'regexp':
      return family === 'text' && readPattern(condition.pattern) !== undefined;
    case 'words':
    case 'phrase':
    case 'wildcard':
      return field.type === 'string' && isReadable(condition);
  }
}

/** Types whose values are compared alike; a field may have got another type since the predicate was made. */
function familyOf(type: StoredType | 'auto'): string | undefined {
  switch (type) {
    case 'string':
    case 'text':
    case 'blob':
      return 'text';
    case 'integer':
    case 'long':
      return 'whole';
    case 'date':
    case 'boolean':
    case 'double':
    case 'float':
      return type;
    default:
      return undefined;
  }
}

function columnOf({ path }: FieldRef, columns: Columns): Column | undefined {
  let siblings: Columns | undefined = [...reservedColumns, ...columns];
  let column: Column | undefined;
  for (const name of path) {
    column = siblings?.find((candidate) => candidate.name === name);
    if (column === undefined) return undefined;
    siblings = column.children;
  }
  return column;
}

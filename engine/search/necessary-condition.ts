import type { SearchCondition, SearchVault } from './search-tables.js';
import { caseFold, lowerCase } from '../text/fold.js';
import type { Requirement } from '../query/predicate/kinds/kind.js';
import { requirementOf } from '../query/predicate/kinds/index.js';
import type { Condition, Predicate } from '../query/predicate/predicate.js';
import { compileDocumentTest, valueTest } from './matches.js';

/** Maximum number of ids in a condition for SQLite: a longer one costs more than it saves. */
const maxConditionIds = 100;
const maxConditionParts = 50;

const everyRow: SearchCondition = { kind: 'all' };
const objectTypes = ['file', 'folder', 'dataset', 'shortcut'] as const;

/**
 * Returns a condition for SQLite that every matching object of these vaults meets, so that most other objects need not be read. Parts of
 * the predicate that SQLite cannot evaluate, or that would be too long, are replaced by true.
 */
export function necessaryCondition(
  predicate: Predicate,
  vaults: readonly SearchVault[],
): SearchCondition {
  const readable = idCondition('vaultId', vaults.map(({ id }) => id)); // prettier-ignore
  const predicateCondition = searchConditionOf(predicate, vaults);
  if (conditionSize(predicateCondition) > maxConditionParts) return readable;
  return { kind: 'and', items: [readable, predicateCondition] };
}

function conditionSize(condition: SearchCondition): number {
  return 'items' in condition
    ? condition.items.reduce((sum, item) => sum + conditionSize(item), 1)
    : 'ids' in condition
      ? condition.ids.length / 10
      : 1;
}

function searchConditionOf(predicate: Predicate, vaults: readonly SearchVault[]): SearchCondition {
  switch (predicate.kind) {
    case 'none':
      return { kind: 'or', items: [] };
    case 'and': {
      const items = predicate.items.map((item) => searchConditionOf(item, vaults));
      const restrictions = items.filter(({ kind }) => kind !== 'all');
      return restrictions.length === 0 ? everyRow : { kind: 'and', items: restrictions };
    }
    case 'or': {
      const items = predicate.items.map((item) => searchConditionOf(item, vaults));
      return items.some(({ kind }) => kind === 'all') ? everyRow : { kind: 'or', items };
    }
    case 'all':
    case 'not':
      return everyRow;
    default:
      return searchConditionOfLeaf(predicate, vaults);
  }
}

function searchConditionOfLeaf(leaf: Condition, vaults: readonly SearchVault[]): SearchCondition {
  const { values, ends, start, strings = [] } = requirementOf(leaf);
  switch (leaf.field.name) {
    case 'type': {
      const test = valueTest(leaf);
      return { kind: 'types', types: objectTypes.filter(test) };
    }
    case 'vault':
    case 'vault_id': {
      const matches = compileDocumentTest(leaf);
      const ids = vaults.filter((vault) => matches({ vault, object: null })).map(({ id }) => id);
      return idCondition('vaultId', ids);
    }
    case 'id':
      return values ? idCondition('id', values.map(Number)) : everyRow;
    case 'parent_id':
      return values ? idCondition('parentId', values.map(Number)) : everyRow;
    case 'created_at':
      return ends ? timeCondition('createdAt', ends) : everyRow;
    case 'updated_at':
    case 'indexed_at':
      return ends ? timeCondition('updatedAt', ends) : everyRow;
    case 'name':
    case 'parent':
      return textCondition('path', strings);
    case 'full_path':
    case 'path':
      return start === undefined
        ? fullPathCondition(strings, vaults)
        : pathPrefixCondition(start, vaults);
    case 'description':
    case 'tags':
      return textCondition(leaf.field.name, strings);
    default:
      return everyRow;
  }
}

/** Returns the condition that a column is one of these ids; always true if there are too many to list. */
function idCondition(
  column: 'id' | 'vaultId' | 'parentId',
  ids: readonly number[],
): SearchCondition {
  return ids.length > maxConditionIds ? everyRow : { kind: 'ids', column, ids };
}

function timeCondition(
  column: 'createdAt' | 'updatedAt',
  ends: NonNullable<Requirement['ends']>,
): SearchCondition {
  const [low, high] = [ends.low, ends.high].map((bound) => bound && Number(bound.value) / 1_000);
  return {
    kind: 'time',
    column,
    from: Math.floor(low ?? -8.64e15),
    to: Math.ceil(high ?? 8.64e15),
  };
}

/**
 * Returns true for non-empty strings of ASCII letters, digits, spaces and `_.-`. JSON escapes none of these characters, and SQLite ignores
 * the case of ASCII letters, as the search does.
 */
function isUnescapedInJson(text: string): boolean {
  return /^[A-Za-z0-9_ .-]+$/.test(text);
}

function textCondition(
  column: 'path' | 'description' | 'tags',
  strings: readonly string[],
): SearchCondition {
  const items = strings
    .filter(isUnescapedInJson)
    .map((text): SearchCondition => ({ kind: 'text', column, text }));
  return items.length === 0 ? everyRow : { kind: 'and', items };
}

/**
 * Returns the condition that each string occurs in the object's path or in the full path of its vault. Strings that SQLite cannot test are
 * left out.
 */
function fullPathCondition(
  strings: readonly string[],
  vaults: readonly SearchVault[],
): SearchCondition {
  const items = strings
    .filter(isUnescapedInJson)
    .map((text): SearchCondition => {
      const lowerText = text.toLowerCase();
      const roots = vaults.filter(({ fullPath }) =>
        [lowerCase(fullPath), caseFold(fullPath)].some((path) => path.includes(lowerText)),
      );
      const inRoot = idCondition('vaultId', roots.map(({ id }) => id)); // prettier-ignore
      if (inRoot.kind === 'all') return everyRow;
      return { kind: 'or', items: [{ kind: 'text', column: 'path', text }, inRoot] };
    })
    .filter(({ kind }) => kind !== 'all');
  return items.length === 0 ? everyRow : { kind: 'and', items };
}

/** Returns the condition that the full path starts with this text: it restricts the vaults and, if only one vault is possible, the path. */
function pathPrefixCondition(text: string, vaults: readonly SearchVault[]): SearchCondition {
  const roots = vaults.filter(({ fullPath }) => {
    const root = `${fullPath}:`;
    return text.startsWith(root) || root.startsWith(text);
  });
  const ids = idCondition('vaultId', roots.map(({ id }) => id)); // prettier-ignore
  const [only] = roots;
  const restOfText = only && roots.length === 1 ? text.slice(only.fullPath.length + 1) : '';
  const names = restOfText.split('/').filter(isUnescapedInJson);
  if (names.length === 0) return ids;
  const conditionsInside = names.map((name): SearchCondition => ({ kind: 'text', column: 'path', text: name })); // prettier-ignore
  return { kind: 'and', items: [ids, ...conditionsInside] };
}

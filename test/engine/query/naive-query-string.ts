import type { Columns, Value } from '../../../engine/core/types.js';
import type { TestRow } from './dataset.js';
import { resolveField, hasElements, isNumeric, isTextType, naiveFields, valuesOf, type NaiveField } from './naive-fields.js'; // prettier-ignore
import {
  equalityPredicate,
  foldedCase,
  boundPredicate,
  lowerCase,
  RefusedRequest,
  wordsOf,
} from './naive-values.js';

/**
 * The meaning of a query string as a tree; `field` null means every string and text field. `queryTreeText` in random-query-string.ts writes
 * the tree in the grammar of query strings.
 */
export type QueryTree =
  | { readonly and: readonly QueryTree[] }
  | { readonly or: readonly QueryTree[] }
  | { readonly not: QueryTree }
  | { readonly must: readonly QueryTree[]; readonly mustNot: readonly QueryTree[]; readonly may: readonly QueryTree[] } // prettier-ignore
  | { readonly field: string | null; readonly words: string }
  | { readonly field: string | null; readonly like: string }
  | { readonly field: string; readonly from: string | null; readonly to: string | null; readonly ends: string } // prettier-ignore
  | { readonly exists: string }
  | { readonly missing: string }
  | { readonly list: string; readonly any: QueryTree };

/** Whether a record matches a query string (query language 4.2). */
export function matchesQueryTree(
  asked: QueryTree,
  row: TestRow,
  columns: Columns,
  isElement = false,
): boolean {
  const test = (item: QueryTree): boolean => matchesQueryTree(item, row, columns, isElement);
  if ('any' in asked) {
    const list = resolveField(columns, asked.list, isElement);
    if (!list || !hasElements(list)) return false;
    return valuesOf(row, list.path).some((element) => matchesQueryTree(asked.any, element as TestRow, list.column.children ?? [], true)); // prettier-ignore
  }
  if ('and' in asked) return asked.and.every(test);
  if ('or' in asked) return asked.or.some(test);
  if ('not' in asked) return !test(asked.not);
  if ('must' in asked) return asked.must.every(test) && !asked.mustNot.some(test);
  if ('exists' in asked || 'missing' in asked) {
    const field = resolveField(
      columns,
      'exists' in asked ? asked.exists : asked.missing,
      isElement,
    );
    return field !== undefined && valuesOf(row, field.path).length > 0 === 'exists' in asked;
  }
  const namedField =
    asked.field === null ? undefined : resolveField(columns, asked.field, isElement);
  const isAny = 'like' in asked && /^\*+$/.test(asked.like);
  if (isAny && asked.field === null) return true;
  const searchedFields =
    asked.field === null
      ? naiveFields(columns).filter(({ column }) => isTextType(column.type))
      : namedField
        ? [namedField]
        : [];
  return searchedFields.some((field) => {
    const values = valuesOf(row, field.path);
    if (isAny) return values.length > 0;
    const holdsValue = leafPredicate(asked, field);
    return values.some(holdsValue);
  });
}

type QueryTreeLeaf = Extract<QueryTree, { field: string | null }>;

/** Returns the predicate of a leaf. A term that cannot be parsed as the field's type matches nothing. */
function leafPredicate(asked: QueryTreeLeaf, field: NaiveField): (value: Value) => boolean {
  const { type } = field.column;
  if ('like' in asked)
    return isTextType(type) ? (value) => matchesWildcard(value as string, asked.like) : () => false;
  try {
    return 'words' in asked ? wordsPredicate(asked.words, field) : rangePredicate(asked, field);
  } catch (error) {
    if (error instanceof RefusedRequest) return () => false;
    throw error;
  }
}

function wordsPredicate(wanted: string, { column, path }: NaiveField): (value: Value) => boolean {
  if (!isTextType(column.type)) return equalityPredicate(column, wanted, true);
  const isChromosome = path.join('\n') === 'genomic_coordinates\nchromosome';
  const list = wordsOf(isChromosome ? wanted.replace(/^chr/i, '') : wanted);
  if (list.length === 0)
    return (value) => column.type === 'string' && lowerCase(value as string) === lowerCase(wanted);
  return (value) => {
    const found = wordsOf(value as string);
    return found.some((_, i) => list.every((word, k) => found[i + k] === word));
  };
}

function rangePredicate(
  { from, to, ends }: Extract<QueryTreeLeaf, { ends: string }>,
  { column }: NaiveField,
): (value: Value) => boolean {
  // Fields of type `text` support no ranges, not even open ones.
  if (column.type === 'text') return () => false;
  if (from === null && to === null) return () => true;
  if (!isNumeric(column.type) && column.type !== 'date' && column.type !== 'string')
    return () => false;
  const isAboveLow = from === null ? () => true : boundPredicate(column, from, ends.startsWith('[') ? 'gte' : 'gt'); // prettier-ignore
  const isBelowHigh =
    to === null ? () => true : boundPredicate(column, to, ends.endsWith(']') ? 'lte' : 'lt');
  return (value) => isAboveLow(value) && isBelowHigh(value);
}

/**
 * Whether the pattern matches the whole value, or a part of it between boundaries of terms, where wildcards stand only for characters of
 * terms.
 */
function matchesWildcard(value: string, pattern: string): boolean {
  const chars = [...foldedCase(value)];
  const patternCharacters = [...foldedCase(pattern)];
  const isWord = (char: string | undefined): boolean =>
    char !== undefined && /[\p{L}\p{M}\p{N}]/u.test(char);
  const matches = (from: number, to: number, any: (char: string) => boolean): boolean => {
    const reach = (i: number, k: number): boolean => {
      if (k === patternCharacters.length) return i === to;
      if (patternCharacters[k] === '*') return reach(i, k + 1) || (i < to && any(chars[i]!) && reach(i + 1, k)); // prettier-ignore
      if (i === to) return false;
      return (
        (patternCharacters[k] === '?' ? any(chars[i]!) : patternCharacters[k] === chars[i]) &&
        reach(i + 1, k + 1)
      );
    };
    return reach(from, 0);
  };
  if (matches(0, chars.length, () => true)) return true;
  for (let from = 0; from <= chars.length; from++) {
    if (isWord(chars[from - 1])) continue;
    for (let to = from; to <= chars.length; to++)
      if (!isWord(chars[to]) && matches(from, to, isWord)) return true;
  }
  return false;
}

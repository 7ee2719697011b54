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
 * The meaning of a query string as a tree; `field` null means every string and text field, but a pattern of asterisks alone then matches
 * every record. `queryTreeText` in random-query-string.ts writes the tree in the grammar of query strings.
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

/** Tells whether a record matches a query string (query language 4.2). */
export function matchesQueryTree(
  tree: QueryTree,
  row: TestRow,
  columns: Columns,
  isElement = false,
): boolean {
  const test = (item: QueryTree): boolean => matchesQueryTree(item, row, columns, isElement);
  if ('any' in tree) {
    const listField = resolveField(columns, tree.list, isElement);
    if (!listField || !hasElements(listField)) return false;
    const members = listField.column.children ?? [];
    return valuesOf(row, listField.path).some((element) =>
      matchesQueryTree(tree.any, element as TestRow, members, true),
    );
  }
  if ('and' in tree) return tree.and.every(test);
  if ('or' in tree) return tree.or.some(test);
  if ('not' in tree) return !test(tree.not);
  if ('must' in tree) return tree.must.every(test) && !tree.mustNot.some(test);
  if ('exists' in tree || 'missing' in tree) {
    const field = resolveField(columns, 'exists' in tree ? tree.exists : tree.missing, isElement);
    return field !== undefined && valuesOf(row, field.path).length > 0 === 'exists' in tree;
  }
  const namedField = tree.field === null ? undefined : resolveField(columns, tree.field, isElement);
  const isAny = 'like' in tree && /^\*+$/.test(tree.like);
  if (isAny && tree.field === null) return true;
  const searchedFields =
    tree.field === null
      ? naiveFields(columns).filter(({ column }) => isTextType(column.type))
      : namedField
        ? [namedField]
        : [];
  return searchedFields.some((field) => {
    const values = valuesOf(row, field.path);
    if (isAny) return values.length > 0;
    const holdsValue = leafPredicate(tree, field);
    return values.some(holdsValue);
  });
}

type QueryTreeLeaf = Extract<QueryTree, { field: string | null }>;

/** Returns the predicate of a leaf. A term or a range that cannot be parsed as the field's type matches nothing. */
function leafPredicate(tree: QueryTreeLeaf, field: NaiveField): (value: Value) => boolean {
  const { type } = field.column;
  if ('like' in tree)
    return isTextType(type) ? (value) => matchesWildcard(value as string, tree.like) : () => false;
  try {
    return 'words' in tree ? wordsPredicate(tree.words, field) : rangePredicate(tree, field);
  } catch (error) {
    if (error instanceof RefusedRequest) return () => false;
    throw error;
  }
}

function wordsPredicate(wanted: string, { column, path }: NaiveField): (value: Value) => boolean {
  if (!isTextType(column.type)) return equalityPredicate(column, wanted, true);
  const isChromosome = path.join('\n') === 'genomic_coordinates\nchromosome';
  const wantedWords = wordsOf(isChromosome ? wanted.replace(/^chr/i, '') : wanted);
  if (wantedWords.length === 0)
    return (value) => column.type === 'string' && lowerCase(value as string) === lowerCase(wanted);
  return (value) => {
    const valueWords = wordsOf(value as string);
    return valueWords.some((_, i) => wantedWords.every((word, k) => valueWords[i + k] === word));
  };
}

function rangePredicate(
  { from, to, ends: brackets }: Extract<QueryTreeLeaf, { ends: string }>,
  { column }: NaiveField,
): (value: Value) => boolean {
  // Fields of type `text` support no ranges, not even open ones.
  if (column.type === 'text') return () => false;
  if (from === null && to === null) return () => true;
  if (!isNumeric(column.type) && column.type !== 'date' && column.type !== 'string')
    return () => false;
  const isAboveLow = from === null ? () => true : boundPredicate(column, from, brackets.startsWith('[') ? 'gte' : 'gt'); // prettier-ignore
  const isBelowHigh =
    to === null ? () => true : boundPredicate(column, to, brackets.endsWith(']') ? 'lte' : 'lt');
  return (value) => isAboveLow(value) && isBelowHigh(value);
}

/**
 * Tells whether the pattern matches the whole value, or a part of it between boundaries of terms, where wildcards stand only for
 * characters of terms.
 */
function matchesWildcard(value: string, pattern: string): boolean {
  const chars = [...foldedCase(value)];
  const patternCharacters = [...foldedCase(pattern)];
  const isWord = (char: string | undefined): boolean =>
    char !== undefined && /[\p{L}\p{M}\p{N}]/u.test(char);
  const matchesBetween = (
    from: number,
    to: number,
    isAllowed: (char: string) => boolean,
  ): boolean => {
    const reach = (i: number, k: number): boolean => {
      if (k === patternCharacters.length) return i === to;
      if (patternCharacters[k] === '*') return reach(i, k + 1) || (i < to && isAllowed(chars[i]!) && reach(i + 1, k)); // prettier-ignore
      if (i === to) return false;
      return (
        (patternCharacters[k] === '?' ? isAllowed(chars[i]!) : patternCharacters[k] === chars[i]) &&
        reach(i + 1, k + 1)
      );
    };
    return reach(from, 0);
  };
  if (matchesBetween(0, chars.length, () => true)) return true;
  for (let from = 0; from <= chars.length; from++) {
    if (isWord(chars[from - 1])) continue;
    for (let to = from; to <= chars.length; to++)
      if (!isWord(chars[to]) && matchesBetween(from, to, isWord)) return true;
  }
  return false;
}

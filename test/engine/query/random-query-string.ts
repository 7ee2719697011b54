import { elementFields, hasElements, unambiguousFields, valuesOf, type GeneratedDataset, type NaiveField } from './naive-fields.js'; // prettier-ignore
import type { QueryTree } from './naive-query-string.js';
import type { Random } from './random.js';

const wildcardPatterns = ['BR*', 'br?a1', '*a*', 'c?n*r', 'B*T', '?', 'р*', 'a-*', '**', '*', '?*', 'É*', '*ß', '*\u212a*']; // prettier-ignore
const queryTerms = ['cancer', 'breast', 'brca1', 'BRCA2', 'риск', 'a', 'OR', '1', '-2', 'true', '2016-05-01', 'cancer breast', 'a-B2', '+', 'É', 'x:y', '(b2)', 'NOT', 'TO', '*', '?', '\\', '"', '', 'ß', '\u212a', 'a\nb', '\u3000', '名']; // prettier-ignore
const rangeBounds = ['-1', '0', '2', '0.5', '1e3', '2016-05-01', '2016-06-01T00:00:00', 'BRCA1', 'b', 'cancer', '', 'TO', '*', 'a b', '9007199254740993']; // prettier-ignore

/** Returns a random tree; its words and bounds often occur in some record. */
export function randomQueryTree(
  random: Random,
  dataset: GeneratedDataset,
  depth = 0,
  fields: readonly NaiveField[] = unambiguousFields(dataset.columns),
): QueryTree {
  const inner = (): QueryTree => randomQueryTree(random, dataset, depth + 1, fields);
  const items = (least: number): QueryTree[] => random.list(least + random.integerBelow(3), inner);
  const lists = fields.filter(hasElements);
  if (depth < 4 && lists.length > 0 && random.chance(0.25)) {
    const list = random.pick(lists);
    const fieldsInside = elementFields(list);
    // The first clause in braces must name a field.
    const field = random.pick(fieldsInside).name;
    const firstClause: QueryTree = random.chance(0.7)
      ? { field, words: random.pick(queryTerms) }
      : { field, from: random.pick(['0', '1', 'b']), to: random.pick(['2', '9', null]), ends: random.pick(['[]', '{}', '[}', '{]']) }; // prettier-ignore
    const restOfClauses = random.chance(0.5)
      ? []
      : [randomQueryTree(random, dataset, depth + 1, fieldsInside)];
    return { list: list.name, any: lowerCaseTo(random.chance(0.5) ? { and: [firstClause, ...restOfClauses] } : { or: [firstClause, ...restOfClauses] }) }; // prettier-ignore
  }
  if (depth < 3 && random.chance(0.45)) {
    const kind = random.integerBelow(4);
    if (kind === 0) return { and: items(1) };
    if (kind === 1) return { or: items(1) };
    if (kind === 2) return { not: inner() };
    return { must: items(1), mustNot: items(0), may: items(0) };
  }
  const knownNames = fields.map(({ name }) => name);
  const field = random.pick([null, null, 'bogus', '_id', ...knownNames, ...knownNames]);
  const kind = random.integerBelow(6);
  if (kind === 0) return { field, like: randomWildcardPattern(random, dataset, fields) };
  if (kind === 1 && field !== null)
    return random.chance(0.5) ? { exists: field } : { missing: field };
  if (kind === 2 && field !== null) {
    const randomBound = (): string | null =>
      random.chance(0.2) ? null : random.chance(0.5) ? random.pick(rangeBounds) : randomWordOfRecord(random, dataset, field, fields); // prettier-ignore
    return {
      field,
      from: randomBound(),
      to: randomBound(),
      ends: random.pick(['[]', '{}', '[}', '{]']),
    };
  }
  return { field, words: random.chance(0.4) ? random.pick(queryTerms) : randomWordOfRecord(random, dataset, field, fields) }; // prettier-ignore
}

/** Returns a tree with `to` in place of the word `TO`, which after the first clause in braces is the keyword of a range. */
function lowerCaseTo(tree: QueryTree): QueryTree {
  return JSON.parse(JSON.stringify(tree).replaceAll('"words":"TO"', '"words":"to"')) as QueryTree;
}

/** Returns a value that some record has, or a word of it, in any letter case and cut off if it is long; one of `queryTerms` if none has. */
function randomWordOfRecord(
  random: Random,
  dataset: GeneratedDataset,
  name: string | null,
  fields: readonly NaiveField[],
): string {
  const field = fields.find((each) => each.name === name) ?? random.pick(fields);
  const rows = dataset.segments.flatMap((segment) => segment.rows);
  const values = rows
    .flatMap((row) => valuesOf(row, field.path))
    .filter((value) => typeof value !== 'object');
  if (values.length === 0) return random.pick(queryTerms);
  const text = String(random.pick(values));
  const word = random.chance(0.6) ? text : random.pick(text.split(/[ .,-]/));
  const casedWord = random.pick([word, word, word.toLowerCase(), word.toUpperCase()]);
  return casedWord.length > 200 ? casedWord.slice(0, 200).toWellFormed() : casedWord;
}

function randomWildcardPattern(
  random: Random,
  dataset: GeneratedDataset,
  fields: readonly NaiveField[],
): string {
  if (random.chance(0.5)) return random.pick(wildcardPatterns);
  // Wildcards in the value are left out; every other character stands for itself or is replaced by a wildcard.
  const chars = [
    ...randomWordOfRecord(random, dataset, null, fields).replaceAll(/[*?]/g, ''),
  ].slice(0, 12);
  const pattern = chars
    .map((char) => (random.chance(0.2) ? random.pick(['?', '*']) : char))
    .join('');
  return /[*?]/.test(pattern) ? pattern : `${pattern}*`;
}

/** Writes a tree in the grammar of query strings, with random blanks, operators, quotes, escapes and boosts. */
export function queryTreeText(
  random: Random,
  tree: QueryTree,
  groupField: string | null = null,
): string {
  const field = fieldOfClause(tree);
  // If all leaves of a group name the same field, every other group is written as `field:(a OR b)`.
  if (
    groupField === null &&
    field !== undefined &&
    field !== null &&
    isGroupClause(tree) &&
    random.chance(0.5)
  )
    return `${escapeText(field)}:(${queryTreeText(random, tree, field)})`;
  const inner = (item: QueryTree): string => {
    const text =
      isGroupClause(item) || random.chance(0.2)
        ? `(${queryTreeText(random, item, groupField)})`
        : queryTreeText(random, item, groupField);
    return random.chance(0.1) ? `${text}^${random.pick(['2', '0.5', '0', '10.'])}` : text;
  };
  const blanks = (operator: string): string => `${random.pick([' ', '  ', '\n'])}${operator} `;
  if ('any' in tree) return `${escapeText(tree.list)}:{${random.pick(['', ' '])}${queryTreeText(random, tree.any)}${random.pick(['', ' '])}}`; // prettier-ignore
  if ('and' in tree) return tree.and.map(inner).join(blanks(random.pick(['AND', '&&'])));
  if ('or' in tree) return tree.or.map(inner).join(blanks(random.pick(['OR', '||', ''])));
  if ('not' in tree) return `${random.pick(['NOT ', '!', '-'])}${inner(tree.not)}`;
  if ('must' in tree) {
    const clauses = [
      ...tree.must.map((item) => `+${inner(item)}`),
      ...tree.mustNot.map((item) => `${random.pick(['-', '!', 'NOT '])}${inner(item)}`),
      ...tree.may.map(inner),
    ];
    return random.shuffled(clauses).join(' ');
  }
  const prefix = groupField === null && field !== null ? `${escapeText(field!)}:` : '';
  if ('exists' in tree) return random.chance(0.5) ? `_exists_:${escapeText(tree.exists)}` : `${prefix}*`; // prettier-ignore
  if ('missing' in tree) return `_missing_:${random.chance(0.5) ? escapeText(tree.missing) : quoteText(tree.missing)}`; // prettier-ignore
  if ('like' in tree) return prefix + unquotedTerm(tree.like).replaceAll(/\\([*?])/g, '$1');
  if ('words' in tree) return prefix + wordsText(random, tree.words);
  return prefix + rangeText(random, tree);
}

function isGroupClause(tree: QueryTree): boolean {
  return 'and' in tree || 'or' in tree || 'not' in tree || 'must' in tree;
}

/** Returns the field that all leaves name: null if none names one, undefined if they differ or the tree has an `any`. */
function fieldOfClause(tree: QueryTree): string | null | undefined {
  if ('exists' in tree) return tree.exists;
  if ('missing' in tree) return tree.missing;
  if ('any' in tree) return undefined;
  if ('field' in tree) return tree.field;
  const items = 'and' in tree ? tree.and : 'or' in tree ? tree.or : 'not' in tree ? [tree.not] : [...tree.must, ...tree.mustNot, ...tree.may]; // prettier-ignore
  const fields = items.map(fieldOfClause);
  return fields.every((field) => field === fields[0]) ? fields[0] : undefined;
}

function wordsText(random: Random, words: string): string {
  if (words === '' || random.chance(0.4)) return quoteText(words);
  return unquotedTerm(words);
}

/** Writes a term; a word that is also an operator is escaped with a backslash. */
function unquotedTerm(text: string): string {
  return ['AND', 'OR', 'NOT'].includes(text) ? `\\${text}` : escapeText(text);
}

function rangeText(
  random: Random,
  { from, to, ends }: Extract<QueryTree, { ends: string }>,
): string {
  const isPlain = (bound: string): boolean => /^[\w.-]+$/.test(bound) && bound !== 'TO';
  const boundText = (bound: string | null): string =>
    bound === null ? '*' : isPlain(bound) && random.chance(0.7) ? bound : quoteText(bound);
  const comparand = (bound: string): string =>
    random.chance(0.5) ? escapeText(bound) : quoteText(bound);
  if (to === null && from !== null && from !== '' && random.chance(0.5))
    return `${ends.startsWith('[') ? '>=' : '>'}${comparand(from)}`;
  if (from === null && to !== null && to !== '' && random.chance(0.5))
    return `${ends.endsWith(']') ? '<=' : '<'}${comparand(to)}`;
  return `${ends[0]!}${boundText(from)} TO ${boundText(to)}${ends[1]!}`;
}

function quoteText(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

function escapeText(text: string): string {
  return text.replaceAll(/[+\-=&|><!(){}[\]^"~*?:\\/\s\u3000]/g, '\\$&');
}

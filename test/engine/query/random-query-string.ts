import { elementFields, hasElements, unambiguousFields, valuesOf, type GeneratedDataset, type NaiveField } from './naive-fields.js'; // prettier-ignore
import type { QueryTree } from './naive-query-string.js';
import type { Random } from './random.js';

const wildcardPatterns = ['BR*', 'br?a1', '*a*', 'c?n*r', 'B*T', '?', 'р*', 'a-*', '**', '*', '?*', 'É*', '*ß', '*\u212a*']; // prettier-ignore
const queryTerms = ['cancer', 'breast', 'brca1', 'BRCA2', 'риск', 'a', 'OR', '1', '-2', 'true', '2016-05-01', 'cancer breast', 'a-B2', '+', 'É', 'x:y', '(b2)', 'NOT', 'TO', '*', '?', '\\', '"', '', 'ß', '\u212a', 'a\nb', '\u3000', '名']; // prettier-ignore
const rangeBounds = ['-1', '0', '2', '0.5', '1e3', '2016-05-01', '2016-06-01T00:00:00', 'BRCA1', 'b', 'cancer', '', 'TO', '*', 'a b', '9007199254740993']; // prettier-ignore

/** Returns a random tree; its words and bounds often occur in some record. */
export function randomQueryTree(
  random: Random,
  made: GeneratedDataset,
  depth = 0,
  fields: readonly NaiveField[] = unambiguousFields(made.columns),
): QueryTree {
  const inner = (): QueryTree => randomQueryTree(random, made, depth + 1, fields);
  const items = (least: number): QueryTree[] => random.list(least + random.integerBelow(3), inner);
  const lists = fields.filter(hasElements);
  if (depth < 4 && lists.length > 0 && random.chance(0.25)) {
    const list = random.pick(lists);
    const fieldsInside = elementFields(list);
    // The first clause in braces must name a field.
    const field = random.pick(fieldsInside).name;
    const first: QueryTree = random.chance(0.7)
      ? { field, words: random.pick(queryTerms) }
      : { field, from: random.pick(['0', '1', 'b']), to: random.pick(['2', '9', null]), ends: random.pick(['[]', '{}', '[}', '{]']) }; // prettier-ignore
    const restOfClauses = random.chance(0.5)
      ? []
      : [randomQueryTree(random, made, depth + 1, fieldsInside)];
    return { list: list.name, any: lowerCaseTo(random.chance(0.5) ? { and: [first, ...restOfClauses] } : { or: [first, ...restOfClauses] }) }; // prettier-ignore
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
  if (kind === 0) return { field, like: randomWildcardPattern(random, made, fields) };
  if (kind === 1 && field !== null)
    return random.chance(0.5) ? { exists: field } : { missing: field };
  if (kind === 2 && field !== null) {
    const end = (): string | null =>
      random.chance(0.2) ? null : random.chance(0.5) ? random.pick(rangeBounds) : randomWordOfRecord(random, made, field, fields); // prettier-ignore
    return { field, from: end(), to: end(), ends: random.pick(['[]', '{}', '[}', '{]']) };
  }
  return { field, words: random.chance(0.4) ? random.pick(queryTerms) : randomWordOfRecord(random, made, field, fields) }; // prettier-ignore
}

/** Returns a tree with `to` in place of the word `TO`, which after the first clause in braces is the keyword of a range. */
function lowerCaseTo(asked: QueryTree): QueryTree {
  return JSON.parse(JSON.stringify(asked).replaceAll('"words":"TO"', '"words":"to"')) as QueryTree;
}

/** Returns a value that some record has, or a word of it, in any letter case. */
function randomWordOfRecord(
  random: Random,
  made: GeneratedDataset,
  name: string | null,
  fields: readonly NaiveField[],
): string {
  const field = fields.find((each) => each.name === name) ?? random.pick(fields);
  const rows = made.segments.flatMap((segment) => segment.rows);
  const values = rows
    .flatMap((row) => valuesOf(row, field.path))
    .filter((value) => typeof value !== 'object');
  if (values.length === 0) return random.pick(queryTerms);
  const text = String(random.pick(values));
  const word = random.chance(0.6) ? text : random.pick(text.split(/[ .,-]/));
  const cased = random.pick([word, word, word.toLowerCase(), word.toUpperCase()]);
  return cased.length > 200 ? cased.slice(0, 200).toWellFormed() : cased;
}

function randomWildcardPattern(
  random: Random,
  made: GeneratedDataset,
  fields: readonly NaiveField[],
): string {
  if (random.chance(0.5)) return random.pick(wildcardPatterns);
  // Wildcards in the value are left out; every other character stands for itself.
  const chars = [...randomWordOfRecord(random, made, null, fields).replaceAll(/[*?]/g, '')].slice(
    0,
    12,
  );
  const like = chars.map((char) => (random.chance(0.2) ? random.pick(['?', '*']) : char)).join('');
  return /[*?]/.test(like) ? like : `${like}*`;
}

/** Writes a tree in the grammar of query strings, with random blanks, operators, quotes, escapes and boosts. */
export function queryTreeText(random: Random, asked: QueryTree, of: string | null = null): string {
  const field = fieldOfClause(asked);
  // Writes `field:(a OR b)`, if all leaves of the group name the same field.
  if (
    of === null &&
    field !== undefined &&
    field !== null &&
    isGroupClause(asked) &&
    random.chance(0.5)
  )
    return `${escapeText(field)}:(${queryTreeText(random, asked, field)})`;
  const inner = (item: QueryTree): string => {
    const text =
      isGroupClause(item) || random.chance(0.2)
        ? `(${queryTreeText(random, item, of)})`
        : queryTreeText(random, item, of);
    return random.chance(0.1) ? `${text}^${random.pick(['2', '0.5', '0', '10.'])}` : text;
  };
  const blanks = (operator: string): string => `${random.pick([' ', '  ', '\n'])}${operator} `;
  if ('any' in asked) return `${escapeText(asked.list)}:{${random.pick(['', ' '])}${queryTreeText(random, asked.any)}${random.pick(['', ' '])}}`; // prettier-ignore
  if ('and' in asked) return asked.and.map(inner).join(blanks(random.pick(['AND', '&&'])));
  if ('or' in asked) return asked.or.map(inner).join(blanks(random.pick(['OR', '||', ''])));
  if ('not' in asked) return `${random.pick(['NOT ', '!', '-'])}${inner(asked.not)}`;
  if ('must' in asked) {
    const clauses = [
      ...asked.must.map((item) => `+${inner(item)}`),
      ...asked.mustNot.map((item) => `${random.pick(['-', '!', 'NOT '])}${inner(item)}`),
      ...asked.may.map(inner),
    ];
    return random.shuffled(clauses).join(' ');
  }
  const prefix = of === null && field !== null ? `${escapeText(field!)}:` : '';
  if ('exists' in asked) return random.chance(0.5) ? `_exists_:${escapeText(asked.exists)}` : `${prefix}*`; // prettier-ignore
  if ('missing' in asked) return `_missing_:${random.chance(0.5) ? escapeText(asked.missing) : quoteText(asked.missing)}`; // prettier-ignore
  if ('like' in asked) return prefix + unquotedTerm(asked.like).replaceAll(/\\([*?])/g, '$1');
  if ('words' in asked) return prefix + wordsText(random, asked.words);
  return prefix + rangeText(random, asked);
}

function isGroupClause(asked: QueryTree): boolean {
  return 'and' in asked || 'or' in asked || 'not' in asked || 'must' in asked;
}

/** Returns the field that all leaves name: null if none names one, undefined if they differ. */
function fieldOfClause(asked: QueryTree): string | null | undefined {
  if ('exists' in asked) return asked.exists;
  if ('missing' in asked) return asked.missing;
  if ('any' in asked) return undefined;
  if ('field' in asked) return asked.field;
  const items = 'and' in asked ? asked.and : 'or' in asked ? asked.or : 'not' in asked ? [asked.not] : [...asked.must, ...asked.mustNot, ...asked.may]; // prettier-ignore
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
  const end = (bound: string | null): string =>
    bound === null ? '*' : isPlain(bound) && random.chance(0.7) ? bound : quoteText(bound);
  const comparand = (bound: string): string =>
    random.chance(0.5) ? escapeText(bound) : quoteText(bound);
  if (to === null && from !== null && from !== '' && random.chance(0.5))
    return `${ends.startsWith('[') ? '>=' : '>'}${comparand(from)}`;
  if (from === null && to !== null && to !== '' && random.chance(0.5))
    return `${ends.endsWith(']') ? '<=' : '<'}${comparand(to)}`;
  return `${ends[0]!}${end(from)} TO ${end(to)}${ends[1]!}`;
}

function quoteText(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

function escapeText(text: string): string {
  return text.replaceAll(/[+\-=&|><!(){}[\]^"~*?:\\/\s\u3000]/g, '\\$&');
}

import { column, listColumn, type TestRow } from '../query/dataset.js';
import { naiveFields } from '../query/naive.js';
import type { NaiveFilter } from '../query/naive-filter.js';
import { wordsOf } from '../query/naive-values.js';
import type { Random } from '../query/random.js';
import { objectNames, objectTags, timeTexts, type ModelDocument } from './catalogue.js';

/** The fields of documents, for the naive model of queries. */
export const documentFields = naiveFields([
  ...['_id', 'type', 'name', 'full_path', 'path', 'parent', 'vault', 'user', 'storage_class'].map(
    (name) => column(name, 'string'),
  ),
  ...['id', 'parent_id', 'vault_id'].map((name) => column(name, 'long')),
  listColumn(column('tags', 'string')),
  column('description', 'text'),
  ...['created_at', 'updated_at', 'indexed_at'].map((name) => column(name, 'date')),
]);

const fieldByName = new Map(documentFields.map((field) => [field.name, field]));

/** Returns random filters with values of the documents, so that some documents match. */
export function randomFilters(
  random: Random,
  documents: readonly ModelDocument[],
  depth = 0,
): readonly NaiveFilter[] {
  return random.list(depth === 0 ? random.integerBelow(3) : 1 + random.integerBelow(2), () => {
    if (depth < 2 && random.chance(0.3)) {
      const kind = random.integerBelow(3);
      const items = randomFilters(random, documents, depth + 1);
      if (kind === 0) return { and: items };
      if (kind === 1) return { or: items };
      return { not: items[0]! };
    }
    return randomPair(random, documents);
  });
}

function randomPair(random: Random, documents: readonly ModelDocument[]): NaiveFilter {
  const { name, column: fieldColumn } = random.pick(documentFields);
  if (random.chance(0.05)) return [`${name}__exact`, null];
  if (random.chance(0.05))
    return [
      `${random.pick([name, 'tags'])}__length__${random.pick(['gte', 'lt'])}`,
      random.integerBelow(3),
    ];
  const randomFieldValue = (): unknown => {
    const row = random.pick(documents) as unknown as Record<string, unknown>;
    const firstValue = [row[name]].flat()[0];
    return (
      firstValue ??
      (fieldColumn.type === 'long' ? 1 : fieldColumn.type === 'date' ? timeTexts[0] : 'x')
    );
  };
  if (fieldColumn.type === 'date') {
    const [a, b] = [randomFieldValue(), randomFieldValue()].toSorted() as [string, string];
    const day = a.slice(0, 10);
    return random.pick([
      [`${name}__range`, [a, b]],
      [`${name}__between`, [a, b]],
      [`${name}__gt`, a],
      [`${name}__lte`, day],
      [`${name}__exact`, day],
    ]);
  }
  if (fieldColumn.type === 'long') {
    const [a, b] = ([randomFieldValue(), randomFieldValue()] as number[]).toSorted((x, y) => x - y);
    return random.pick<NaiveFilter>([
      [`${name}__exact`, a],
      [`${name}__in`, [a, b, 5]],
      [`${name}__range`, [a, b]],
      [`${name}__lt`, b],
    ]);
  }
  const text = String(randomFieldValue());
  if (fieldColumn.type === 'text')
    return [`${name}__contains`, random.pick([text, 'cohort', 'the x'])];
  const [from, length] = [random.integerBelow(text.length), 1 + random.integerBelow(6)];
  // The ids of documents are compared exactly, so their letter case is not changed.
  const changedText = name !== '_id' && random.chance(0.5) ? text.toUpperCase() : text;
  return random.pick<NaiveFilter>([
    [`${name}__iexact`, changedText],
    [`${name}__exact`, changedText],
    [`${name}__in`, [changedText, random.pick(objectNames)]],
    [`${name}__contains`, text.slice(from, from + length)],
    [`${name}__prefix`, text.slice(0, length + from)],
  ]);
}

/** Returns an ordering of up to three keys. */
export function randomOrdering(random: Random): readonly string[] {
  const sortableFields = documentFields.filter(({ column: { type } }) => type !== 'text');
  return random.list(random.integerBelow(4), () => {
    const { name } = random.pick(sortableFields);
    return random.chance(0.5) ? `-${name}` : name;
  });
}

/** A query string of words, and a function `matches` that says which documents match it. */
export interface RandomSearchQuery {
  readonly text: string;
  readonly matches: (row: TestRow) => boolean;
}

const queryWords = [
  ...objectNames,
  ...objectTags,
  'cohort',
  'variants',
  'acme',
  'vcf',
  'gz',
  'unknown',
];

/** Returns a random query string of words and phrases, with and without fields, joined by operators. */
export function randomQuery(random: Random, depth = 0): RandomSearchQuery {
  if (depth < 2 && random.chance(0.5)) {
    const [a, b] = [randomQuery(random, depth + 1), randomQuery(random, depth + 1)];
    const kind = random.integerBelow(3);
    if (kind === 0) return { text: `(${a.text}) AND (${b.text})`, matches: (row) => a.matches(row) && b.matches(row) }; // prettier-ignore
    if (kind === 1) return { text: `(${a.text}) OR (${b.text})`, matches: (row) => a.matches(row) || b.matches(row) }; // prettier-ignore
    return {
      text: `(${a.text}) AND NOT (${b.text})`,
      matches: (row) => a.matches(row) && !b.matches(row),
    };
  }
  const words = wordsOf(random.pick(queryWords));
  const ownWords = words.length === 0 ? ['cancer'] : words;
  const phrase = `"${ownWords.join(' ')}"`;
  const field = random.pick([null, null, 'name', 'tags', 'full_path', 'description', 'parent', 'vault', 'user', 'type', 'bogus']); // prettier-ignore
  // A text without a field is searched in names, paths, descriptions and tags.
  const searchedFields = field === null ? ['name', 'full_path', 'description', 'tags'] : [field];
  return {
    text: field === null ? phrase : `${field}:${phrase}`,
    matches: (row) =>
      searchedFields
        .filter((name) => fieldByName.has(name))
        .some((name) => [row[name]].flat().some((value) => typeof value === 'string' && hasPhrase(value, ownWords))), // prettier-ignore
  };
}

function hasPhrase(text: string, phraseWords: readonly string[]): boolean {
  const wordsPresent = wordsOf(text);
  return wordsPresent.some((_, i) => phraseWords.every((word, j) => wordsPresent[i + j] === word));
}

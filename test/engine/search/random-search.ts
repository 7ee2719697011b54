import { column, listOf, type TestRow } from '../query/dataset.js';
import { naiveFields, type NaiveFilter } from '../query/naive.js';
import { wordsOf } from '../query/naive-values.js';
import type { Random } from '../query/random.js';
import { names, tags, timeTexts, type ModelDocument } from './catalogue.js';

/** The fields of documents, for the naive evaluator of queries. */
export const fields = naiveFields([
  ...['_id', 'type', 'name', 'full_path', 'path', 'parent', 'vault', 'user', 'storage_class'].map(
    (name) => column(name, 'string'),
  ),
  ...['id', 'parent_id', 'vault_id'].map((name) => column(name, 'long')),
  listOf(column('tags', 'string')),
  column('description', 'text'),
  ...['created_at', 'updated_at', 'indexed_at'].map((name) => column(name, 'date')),
]);

const byName = new Map(fields.map((field) => [field.name, field]));

/** Random filters over the values of the documents, so that they match some of them. */
export function randomFilters(
  random: Random,
  documents: readonly ModelDocument[],
  depth = 0,
): readonly NaiveFilter[] {
  return random.list(depth === 0 ? random.below(3) : 1 + random.below(2), () => {
    if (depth < 2 && random.chance(0.3)) {
      const kind = random.below(3);
      const items = randomFilters(random, documents, depth + 1);
      if (kind === 0) return { and: items };
      if (kind === 1) return { or: items };
      return { not: items[0]! };
    }
    return randomPair(random, documents);
  });
}

function randomPair(random: Random, documents: readonly ModelDocument[]): NaiveFilter {
  const { name, column: own } = random.pick(fields);
  if (random.chance(0.05)) return [`${name}__exact`, null];
  if (random.chance(0.05))
    return [
      `${random.pick([name, 'tags'])}__length__${random.pick(['gte', 'lt'])}`,
      random.below(3),
    ];
  const value = (): unknown => {
    const row = random.pick(documents) as unknown as Record<string, unknown>;
    const found = [row[name]].flat()[0];
    return found ?? (own.type === 'long' ? 1 : own.type === 'date' ? timeTexts[0] : 'x');
  };
  if (own.type === 'date') {
    const [a, b] = [value(), value()].toSorted() as [string, string];
    const day = a.slice(0, 10);
    return random.pick([
      [`${name}__range`, [a, b]],
      [`${name}__between`, [a, b]],
      [`${name}__gt`, a],
      [`${name}__lte`, day],
      [`${name}__exact`, day],
    ]);
  }
  if (own.type === 'long') {
    const [a, b] = ([value(), value()] as number[]).toSorted((x, y) => x - y);
    return random.pick<NaiveFilter>([
      [`${name}__exact`, a],
      [`${name}__in`, [a, b, 5]],
      [`${name}__range`, [a, b]],
      [`${name}__lt`, b],
    ]);
  }
  const text = String(value());
  if (own.type === 'text') return [`${name}__contains`, random.pick([text, 'cohort', 'the x'])];
  const [from, length] = [random.below(text.length), 1 + random.below(6)];
  // Ids of documents compare exactly.
  const changedText = name !== '_id' && random.chance(0.5) ? text.toUpperCase() : text;
  return random.pick<NaiveFilter>([
    [`${name}__iexact`, changedText],
    [`${name}__exact`, changedText],
    [`${name}__in`, [changedText, random.pick(names)]],
    [`${name}__contains`, text.slice(from, from + length)],
    [`${name}__prefix`, text.slice(0, length + from)],
  ]);
}

/** An ordering of up to three keys. */
export function randomOrdering(random: Random): readonly string[] {
  const sortable = fields.filter(({ column: { type } }) => type !== 'text');
  return random.list(random.below(4), () => {
    const { name } = random.pick(sortable);
    return random.chance(0.5) ? `-${name}` : name;
  });
}

/** A tree of words as a query string; `has` is what it means. */
export interface RandomQuery {
  readonly text: string;
  readonly has: (row: TestRow) => boolean;
}

const askedWords = [...names, ...tags, 'cohort', 'variants', 'acme', 'vcf', 'gz', 'unknown'];

/** A random query string of words and phrases with and without fields, joined by operators. */
export function randomQuery(random: Random, depth = 0): RandomQuery {
  if (depth < 2 && random.chance(0.5)) {
    const [a, b] = [randomQuery(random, depth + 1), randomQuery(random, depth + 1)];
    const kind = random.below(3);
    if (kind === 0) return { text: `(${a.text}) AND (${b.text})`, has: (row) => a.has(row) && b.has(row) }; // prettier-ignore
    if (kind === 1) return { text: `(${a.text}) OR (${b.text})`, has: (row) => a.has(row) || b.has(row) }; // prettier-ignore
    return { text: `(${a.text}) AND NOT (${b.text})`, has: (row) => a.has(row) && !b.has(row) };
  }
  const words = wordsOf(random.pick(askedWords));
  const ownWords = words.length === 0 ? ['cancer'] : words;
  const phrase = `"${ownWords.join(' ')}"`;
  const field = random.pick([null, null, 'name', 'tags', 'full_path', 'description', 'parent', 'vault', 'user', 'type', 'bogus']); // prettier-ignore
  // Without a field, a text is searched in names, paths, descriptions and tags.
  const searchedFields = field === null ? ['name', 'full_path', 'description', 'tags'] : [field];
  return {
    text: field === null ? phrase : `${field}:${phrase}`,
    has: (row) =>
      searchedFields
        .filter((name) => byName.has(name))
        .some((name) => [row[name]].flat().some((value) => typeof value === 'string' && hasPhrase(value, ownWords))), // prettier-ignore
  };
}

function hasPhrase(text: string, wanted: readonly string[]): boolean {
  const wordsPresent = wordsOf(text);
  return wordsPresent.some((_, i) => wanted.every((word, j) => wordsPresent[i + j] === word));
}

import type { TestRow } from './dataset.js';
import { valuesOf } from './naive.js';
import type { Random } from './random.js';

/*
 * Query strings from the other side: what is asked as a tree whose meaning is plain, and the same written in the grammar with
 * random blanks, operators, quotes and escapes. Shares no code with engine/query.
 */

/** What is asked; `field` null means every string and text field. */
export type Asked =
  | { readonly and: readonly Asked[] }
  | { readonly or: readonly Asked[] }
  | { readonly not: Asked }
  | { readonly must: readonly Asked[]; readonly mustNot: readonly Asked[]; readonly may: readonly Asked[] } // prettier-ignore
  | { readonly field: string | null; readonly words: string }
  | { readonly field: string | null; readonly like: string }
  | { readonly field: string; readonly from: string | null; readonly to: string | null; readonly ends: string } // prettier-ignore
  | { readonly exists: string };

interface Field {
  readonly path: readonly string[];
  readonly type: 'string' | 'text' | 'integer' | 'date' | 'boolean';
}

const fields: Readonly<Record<string, Field>> = {
  gene: { path: ['gene'], type: 'string' },
  'a b': { path: ['a b'], type: 'text' },
  tags: { path: ['tags'], type: 'string' },
  n: { path: ['n'], type: 'integer' },
  d: { path: ['d'], type: 'date' },
  flag: { path: ['flag'], type: 'boolean' },
  'in.x.y': { path: ['in', 'x.y'], type: 'string' },
  'in.t': { path: ['in', 't'], type: 'text' },
};

/** A random tree. */
export function randomAsked(random: Random, depth: number): Asked {
  const items = (least: number): Asked[] =>
    random.list(least + random.below(3), () => randomAsked(random, depth + 1));
  if (depth < 3 && random.chance(0.5)) {
    const kind = random.below(4);
    if (kind === 0) return { and: items(1) };
    if (kind === 1) return { or: items(1) };
    if (kind === 2) return { not: randomAsked(random, depth + 1) };
    return { must: items(1), mustNot: items(0), may: items(0) };
  }
  const field = random.pick([null, null, ...Object.keys(fields), 'bogus']);
  const kind = random.below(5);
  if (kind === 0) {
    const like = ['BR*', 'br?a1', '*a*', 'c?n*r', 'B*T', '?', 'р*', 'brca1-*'];
    return { field, like: random.pick(like) };
  }
  if (kind === 1 && field !== null) return { exists: field };
  if (kind === 2 && field !== null) {
    const bound = ['-1', '0', '2', '2016-05-01', '2016-06-01T00:00:00', 'BRCA1', 'b', 'cancer', null]; // prettier-ignore
    const [from, to] = [random.pick(bound), random.pick(bound)];
    return { field, from, to, ends: random.pick(['[]', '{}', '[}', '{]']) };
  }
  const text = ['cancer', 'breast', 'brca1', 'BRCA2', 'риск', 'a', 'OR', '1', '-2', 'true', '2016-05-01', 'cancer breast', 'a-B2', '+', 'É', 'x:y', '(b2)']; // prettier-ignore
  return { field, words: random.pick(text) };
}

/** The tree in the grammar. */
export function written(random: Random, asked: Asked): string {
  const inner = (item: Asked): string =>
    'not' in item || 'and' in item || 'or' in item || 'must' in item || random.chance(0.2)
      ? `(${written(random, item)})`
      : written(random, item);
  const blanks = (operator: string): string => `${random.pick([' ', '  ', '\n'])}${operator} `;
  if ('and' in asked) return asked.and.map(inner).join(blanks(random.pick(['AND', '&&'])));
  if ('or' in asked) return asked.or.map(inner).join(blanks(random.pick(['OR', '||', ''])));
  if ('not' in asked) return `${random.pick(['NOT ', '!', '-'])}${inner(asked.not)}`;
  if ('must' in asked) {
    return [
      ...asked.must.map((item) => `+${inner(item)}`),
      ...asked.mustNot.map((item) => `${random.pick(['-', '!', 'NOT '])}${inner(item)}`),
      ...asked.may.map(inner),
    ]
      .sort(() => random.next() - 0.5)
      .join(' ');
  }
  if ('exists' in asked) {
    return random.chance(0.5) ? `_exists_:${escaped(asked.exists)}` : `${escaped(asked.exists)}:*`;
  }
  const prefix = asked.field === null ? '' : `${escaped(asked.field)}:`;
  if ('like' in asked) return prefix + escaped(asked.like).replaceAll(/\\([*?])/g, '$1');
  if ('words' in asked) {
    if (random.chance(0.4)) return `${prefix}"${asked.words.replaceAll(/["\\]/g, '\\$&')}"`;
    const operator = ['AND', 'OR', 'NOT'].includes(asked.words);
    return prefix + (operator ? `\\${asked.words}` : escaped(asked.words));
  }
  const { from, to, ends } = asked;
  const end = (bound: string | null): string =>
    bound === null ? '*' : random.chance(0.3) ? `"${bound}"` : bound;
  if (to === null && from !== null && random.chance(0.5))
    return `${prefix}${ends.startsWith('[') ? '>=' : '>'}${escaped(from)}`;
  if (from === null && to !== null && random.chance(0.5))
    return `${prefix}${ends.endsWith(']') ? '<=' : '<'}${escaped(to)}`;
  return `${prefix}${ends[0]!}${end(from)} TO ${end(to)}${ends[1]!}`;
}

function escaped(text: string): string {
  return text.replaceAll(/[+\-=&|><!(){}[\]^"~*?:\\/ ]/g, '\\$&');
}

/** Whether a record is asked for. */
export function evaluate(asked: Asked, row: TestRow): boolean {
  if ('and' in asked) return asked.and.every((item) => evaluate(item, row));
  if ('or' in asked) return asked.or.some((item) => evaluate(item, row));
  if ('not' in asked) return !evaluate(asked.not, row);
  if ('must' in asked) {
    return (
      asked.must.every((item) => evaluate(item, row)) &&
      !asked.mustNot.some((item) => evaluate(item, row))
    );
  }
  if ('exists' in asked) {
    const field = fields[asked.exists];
    return field !== undefined && valuesOf(row, field.path).length > 0;
  }
  const searched =
    asked.field === null
      ? Object.values(fields).filter(({ type }) => type === 'string' || type === 'text')
      : [fields[asked.field]].filter((field) => field !== undefined);
  return searched.some((field) =>
    valuesOf(row, field.path).some((value) => holds(asked, field, value)),
  );
}

type Leaf = Extract<Asked, { field: string | null }>;

function holds(asked: Leaf, { type }: Field, value: unknown): boolean {
  const isWritten = type === 'string' || type === 'text';
  if ('like' in asked) return isWritten && isLike(value as string, asked.like);
  if ('words' in asked) return isWritten ? hasWords(value as string, asked.words, type) : equals(type, value, asked.words); // prettier-ignore
  const { from, to, ends } = asked;
  if (type === 'text') return false;
  if (from === null && to === null) return true;
  if (type === 'boolean') return false;
  const span = (bound: string): readonly [number | string, number | string] | undefined => {
    if (type === 'string') return [bound, bound];
    if (type === 'integer') return /^-?\d+$/.test(bound) ? [Number(bound), Number(bound)] : undefined; // prettier-ignore
    return /^\d{4}-/.test(bound) ? day(bound) : undefined;
  };
  const stored = type === 'date' ? day(value as string)[0] : (value as number | string);
  const low = from === null ? null : span(from);
  const high = to === null ? null : span(to);
  if (low === undefined || high === undefined) return false;
  const above = low === null || (ends.startsWith('[') ? order(stored, low[0]) >= 0 : order(stored, low[1]) > 0); // prettier-ignore
  const below = high === null || (ends.endsWith(']') ? order(stored, high[1]) <= 0 : order(stored, high[0]) < 0); // prettier-ignore
  return above && below;
}

function order(a: number | string, b: number | string): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a - (b as number);
}

/** First and last millisecond of a date or instant. */
function day(text: string): readonly [number, number] {
  const start = Date.parse(text.length === 10 ? text : `${text}Z`);
  return [start, start + (text.length === 10 ? 86_399_999 : 0)];
}

function equals(type: Field['type'], value: unknown, wanted: string): boolean {
  if (type === 'boolean') return String(value) === wanted.toLowerCase();
  if (type === 'integer') return /^-?\d+$/.test(wanted) && Number(wanted) === value;
  if (!/^\d{4}-\d\d-\d\d$/.test(wanted)) return false;
  const [start, end] = day(wanted);
  const at = day(value as string)[0];
  return at >= start && at <= end;
}

const lower = (text: string): string => Array.from(text, (char) => char.toLowerCase()).join('');
const split = (text: string): string[] =>
  lower(text).split(/[^\p{L}\p{M}\p{N}_]+/u).filter((word) => word !== ''); // prettier-ignore

function hasWords(value: string, wanted: string, type: Field['type']): boolean {
  const [list, found] = [split(wanted), split(value)];
  if (list.length === 0) return type === 'string' && lower(value) === lower(wanted);
  return found.some((_, i) => list.every((word, k) => found[i + k] === word));
}

/** The whole value, or a stretch of it between ends of words in which wildcards stand for characters of words. */
function isLike(value: string, pattern: string): boolean {
  const chars = [...lower(value)];
  const wanted = [...lower(pattern)];
  const isWord = (char: string | undefined): boolean =>
    char !== undefined && /[\p{L}\p{M}\p{N}_]/u.test(char);
  const matches = (from: number, to: number, any: (char: string) => boolean): boolean => {
    const reach = (i: number, k: number): boolean => {
      if (k === wanted.length) return i === to;
      if (wanted[k] === '*') return reach(i, k + 1) || (i < to && any(chars[i]!) && reach(i + 1, k)); // prettier-ignore
      if (i === to) return false;
      return (wanted[k] === '?' ? any(chars[i]!) : wanted[k] === chars[i]) && reach(i + 1, k + 1);
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

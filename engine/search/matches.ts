import { RE2JS } from 're2js';
import { wildcardPattern } from '../query/predicate/patterns.js';
import type { FieldRef, Predicate, Scalar } from '../query/predicate/predicate.js';
import {
  documentField,
  type DocumentField,
  type DocumentValue,
  type SearchDocument,
} from './document.js';
import { compareTexts, countPhrase, hasWords, lower } from './text.js';

/** Whether a document satisfies a predicate. */
export type Matcher = (document: SearchDocument) => boolean;

/** A condition on one field. */
export type Leaf = Exclude<Predicate, { kind: 'all' | 'none' | 'and' | 'or' | 'not' | 'missing' }>;
type Test = (value: string | number) => boolean;

/** The predicate as a function: what the compiler of datasets makes SQL of, with the same meaning. */
export function matcherOf(predicate: Predicate): Matcher {
  switch (predicate.kind) {
    case 'all':
      return () => true;
    case 'none':
      return () => false;
    case 'and': {
      const items = predicate.items.map(matcherOf);
      return (document) => items.every((item) => item(document));
    }
    case 'or': {
      const items = predicate.items.map(matcherOf);
      return (document) => items.some((item) => item(document));
    }
    case 'not': {
      const item = matcherOf(predicate.item);
      return (document) => !item(document);
    }
    case 'missing': {
      const { read } = documentField(predicate.field.name);
      return (document) => isMissing(read(document));
    }
    default:
      return leafMatcher(documentField(predicate.field.name), testOf(predicate));
  }
}

/** No value, or a list of none. */
export function isMissing(value: DocumentValue): boolean {
  return value === null || (typeof value === 'object' && value.length === 0);
}

function leafMatcher(field: DocumentField, test: Test): Matcher {
  const { read } = field;
  const check = field.isShared ? remembered(test) : test;
  return (document) => {
    const value = read(document);
    if (value === null) return false;
    return typeof value === 'object' ? value.some(check) : check(value);
  };
}

const mostRemembered = 10_000;

function remembered(test: Test): Test {
  const known = new Map<string | number, boolean>();
  return (value) => {
    const answer = known.get(value);
    if (answer !== undefined) return answer;
    if (known.size >= mostRemembered) known.clear();
    const found = test(value);
    known.set(value, found);
    return found;
  };
}

/** The test of one value. */
export function testOf(leaf: Leaf): Test {
  switch (leaf.kind) {
    case 'in':
      return oneOf(leaf.field, leaf.values, leaf.ignoreCase);
    case 'range': {
      const { low, high } = leaf;
      const [from, to] = [low && scalar(low.value), high && scalar(high.value)];
      return (value) => {
        const above = from === null || from === undefined ? 1 : compareValues(value, from);
        const below = to === null || to === undefined ? -1 : compareValues(value, to);
        return (above > 0 || (above === 0 && low!.inclusive)) && (below < 0 || (below === 0 && high!.inclusive)); // prettier-ignore
      };
    }
    // Half of a character is in no text, although JavaScript would find it.
    case 'contains':
      return (value) => leaf.text.isWellFormed() && String(value).includes(leaf.text);
    case 'prefix':
      return (value) => leaf.text.isWellFormed() && String(value).startsWith(leaf.text);
    case 'regexp': {
      const pattern = RE2JS.compile(leaf.pattern);
      return (value) => isShort(value) && pattern.testExact(String(value));
    }
    case 'words': {
      const wanted = leaf.words.map(lower);
      return (value) => hasWords(String(value), wanted);
    }
    case 'phrase': {
      const wanted = leaf.words.map(lower);
      return (value) => countPhrase(String(value), wanted, 1) > 0;
    }
    case 'wildcard': {
      const texts = leaf.parts.flatMap((part) => (typeof part === 'object' ? [lower(part.text)] : [])); // prettier-ignore
      const pattern = RE2JS.compile(wildcardPattern(leaf.parts));
      return (value) => {
        if (!isShort(value)) return false;
        const folded = lower(String(value));
        return texts.every((text) => folded.includes(text)) && pattern.test(String(value));
      };
    }
    case 'overlap':
      throw new Error('documents have no genomic regions');
  }
}

/** Choice: a search looks for patterns in texts of at most 40,000 characters, so that none keeps others waiting. */
const patternCharacters = 40_000;

function isShort(value: string | number): boolean {
  return typeof value === 'number' || value.length <= patternCharacters;
}

function oneOf(field: FieldRef, values: readonly Scalar[], ignoreCase: boolean): Test {
  const wanted = new Set(
    values.map((value) => (ignoreCase ? lower(String(value)) : scalar(value))),
  );
  return ignoreCase && (field.type === 'string' || field.type === 'text')
    ? (value) => wanted.has(lower(String(value)))
    : (value) => wanted.has(value);
}

/** Ids and times of documents are far below 2^53; what is beyond compares the same when it is rounded. */
function scalar(value: Scalar): string | number {
  return typeof value === 'bigint' ? Number(value) : (value as string | number);
}

/** Numbers by size, texts by code point. */
export function compareValues(a: string | number, b: string | number): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

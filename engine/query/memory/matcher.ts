import type { Predicate } from '../predicate/predicate.js';
import { unpackBitmap } from '../../text/bitmap.js';
import type { Mask, SegmentView } from './column.js';
import { costs, fieldTest, missingTest, type Test, type ValueTest } from './match/field-test.js';
import { flagEquality, numberEquality, numberRange } from './match/number-test.js';
import {
  both,
  either,
  isSparse,
  maskOf,
  others,
  settled,
  type Selection,
} from './match/selection.js';
import { joined } from './match/joined.js';
import { textEquality } from './match/text-equality.js';
import { textOverlap } from './match/text-overlap.js';
import { textContains, textPrefix, textRange } from './match/text-parts.js';
import { textPattern } from './match/text-pattern.js';
import { textPhrase, textWildcard, textWords } from './match/text-words.js';
import { NotCovered } from './not-covered.js';
import { wordsKey, type WordCondition } from './words.js';

/**
 * The predicate as a function from a segment to the rows that satisfy it, which are those that the SQL of compile.ts finds. Made once
 * for a query, for what it finds out about vocabularies is kept in it. Throws NotCovered, now or then, where the SQL engine is to be
 * asked.
 */
export function matcher(predicate: Predicate): (view: SegmentView) => Mask {
  const select = selector(predicate);
  return (view) => maskOf(select(view), view.rows);
}

/** The same, with few rows as a list of their numbers. */
export function selector(predicate: Predicate): (view: SegmentView) => Selection {
  const test = testOf(predicate);
  return (view) => (view.rows === 0 ? 'none' : test.select(view, 'all'));
}

function testOf(predicate: Predicate): Test {
  switch (predicate.kind) {
    case 'all':
      return { cost: 0, select: () => 'all' };
    case 'none':
      return { cost: 0, select: () => 'none' };
    case 'and':
      return every(predicate.items.map(testOf));
    case 'or':
      return some(joined(predicate.items).map(testOf));
    case 'not':
      return opposite(testOf(predicate.item));
    case 'missing':
      return missingTest(predicate.field);
    case 'words':
    case 'phrase':
      if (predicate.field.type === 'text') return lookedUp(predicate);
      return fieldTest(predicate.field, valueTest(predicate));
    default:
      return fieldTest(predicate.field, valueTest(predicate));
  }
}

/** What the index of words has found. */
function lookedUp(condition: WordCondition): Test {
  const key = wordsKey(condition);
  return {
    cost: costs.probe,
    select(view) {
      const found = view.words?.get(key);
      if (found === undefined) throw new NotCovered('Words that nobody has looked up');
      if (found === 'none') return 'none';
      return isSparse(found) ? found.slice() : unpackBitmap(found, view.rows);
    },
  };
}

/** The cheap ones first, the others only on what these leave. */
function every(items: readonly Test[]): Test {
  const tests = items.toSorted((a, b) => a.cost - b.cost);
  return {
    cost: tests.at(-1)?.cost ?? 0,
    select(view, within) {
      let left: Selection = within;
      let isOwn = false;
      for (const [i, test] of tests.entries()) {
        const found = test.select(view, left);
        if (found === 'all') continue;
        // What was given is not ours to write into: it comes second.
        left = isOwn ? both(left, found) : both(found, left);
        isOwn = true;
        if (i + 1 < tests.length) left = settled(left);
        if (left === 'none') break;
      }
      return isOwn ? left : 'all';
    },
  };
}

function some(items: readonly Test[]): Test {
  const tests = items.toSorted((a, b) => a.cost - b.cost);
  return {
    cost: tests.reduce((sum, test) => sum + test.cost, 0),
    select(view, within) {
      let found: Selection = 'none';
      for (const test of tests) {
        found = either(found, test.select(view, within));
        if (found === 'all') break;
      }
      return found;
    },
  };
}

function opposite(item: Test): Test {
  return {
    cost: item.cost,
    select: (view, within) => others(item.select(view, within), view.rows, within),
  };
}

type Condition = Exclude<Predicate, { kind: 'all' | 'none' | 'and' | 'or' | 'not' | 'missing' }>;

/** The test of one value. */
function valueTest(condition: Condition): ValueTest {
  const { type } = condition.field;
  const isWritten = type === 'string' || type === 'text' || type === 'blob';
  switch (condition.kind) {
    case 'in':
      if (type === 'boolean') return flagEquality(condition.values);
      return isWritten ? textEquality(condition) : numberEquality(condition);
    case 'range':
      return isWritten ? textRange(condition) : numberRange(condition);
    case 'contains':
      return textContains(condition.text);
    case 'prefix':
      return textPrefix(condition.text);
    case 'regexp':
      return textPattern(condition.pattern);
    case 'words':
      return textWords(condition.words);
    case 'phrase':
      return textPhrase(condition.words);
    case 'wildcard':
      return textWildcard(condition.parts);
    case 'overlap':
      return textOverlap(condition);
  }
}

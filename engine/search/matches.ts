import type { DocumentContext } from '../query/predicate/kinds/kind.js';
import { kindOf } from '../query/predicate/kinds/index.js';
import type { PlainTest, PlainValue } from '../query/predicate/plain-values.js';
import type { Condition, Predicate } from '../query/predicate/predicate.js';
import { documentField, type SearchDocument } from './document.js';

/** Tests whether a document satisfies a predicate. */
type DocumentTest = (document: SearchDocument) => boolean;

/** Compiles a predicate to a test of documents, with the same meaning as for records. */
export function compileDocumentTest(predicate: Predicate): DocumentTest {
  return kindOf(predicate).document(predicate, documentContext);
}

const documentContext: DocumentContext<SearchDocument> = {
  matches: compileDocumentTest,
  anyValue({ name }, test) {
    const { read, isShared } = documentField(name);
    const check = isShared ? cacheResults(test) : test;
    return (document) => {
      const value = read(document);
      if (value === null) return false;
      return typeof value === 'object' ? value.some(check) : check(value);
    };
  },
  valueCount({ name }, test) {
    const { read } = documentField(name);
    return (document) => {
      const value = read(document);
      if (value === null) return test(0);
      return test(typeof value === 'object' ? value.length : 1);
    };
  },
};

/** Compiles a condition to a test of one value of its field. */
export function valueTest(condition: Condition): PlainTest {
  return kindOf(condition).document(condition, singleValueContext);
}

const singleValueContext: DocumentContext<PlainValue> = {
  matches: (item) => kindOf(item).document(item, singleValueContext),
  anyValue: (_, test) => test,
  valueCount: (_, test) => () => test(1),
};

/** Maximum number of cached results per condition on a field of which many documents have the same value. */
const maxCachedResults = 10_000;

/** Returns a test that caches the results of `test` by value. */
function cacheResults(test: PlainTest): PlainTest {
  const cachedResults = new Map<PlainValue, boolean>();
  return (value) => {
    const answer = cachedResults.get(value);
    if (answer !== undefined) return answer;
    if (cachedResults.size >= maxCachedResults) cachedResults.clear();
    const result = test(value);
    cachedResults.set(value, result);
    return result;
  };
}

import { caseFold } from '../../../text/fold.js';
import { isToken } from '../../../text/text-tokenizer.js';
import { stringPhraseTest, stringTermsTest } from '../../memory/match/string-terms.js';
import { phrasePattern, termPattern } from '../text-patterns.js';
import { containsTerms, countPhrase } from '../plain-values.js';
import type { PredicateOfKind } from '../predicate.js';
import { indexedTerms, termCost } from './indexed-terms.js';
import type { PredicateKind } from './kind.js';
import {
  describeValues,
  requireStringField,
  kindOfValueCondition,
  type TypeFamily,
} from './value-kind.js';

type TermCondition = PredicateOfKind<'terms' | 'phrase'>;

/** The predicate kind `terms`: the value contains every term. */
export const terms: PredicateKind<PredicateOfKind<'terms'>> = indexedTerms(
  invalidTermReason,
  kindOfValueCondition<PredicateOfKind<'terms'>>({
    cost: termCost,
    unsupportedOver,
    spans: () => undefined,
    valueSql({ terms }, { dialect, params }) {
      const patterns = terms.map((term) => params.add('string', termPattern(term)));
      return (value) => patterns.map((pattern) => dialect.matches(value, pattern)).join(' AND ');
    },
    valueTest: ({ terms }) => stringTermsTest(terms),
    plainTest({ terms }) {
      const foldedTerms = terms.map(caseFold);
      return (value) => containsTerms(String(value), foldedTerms);
    },
    requirement: ({ terms }) => ({ strings: terms }),
    occurrences({ terms }) {
      const foldedTerms = terms.map(caseFold);
      return (text) => foldedTerms.reduce((sum, term) => sum + countPhrase(text, [term]), 0);
    },
    describe: ({ field, terms }) => `${field.name} contains the terms ${describeValues(terms)}`,
  }),
);

/** The predicate kind `phrase`: the value contains the terms consecutively. */
export const phrase: PredicateKind<PredicateOfKind<'phrase'>> = indexedTerms(
  invalidTermReason,
  kindOfValueCondition<PredicateOfKind<'phrase'>>({
    cost: termCost,
    unsupportedOver,
    spans: () => undefined,
    valueSql({ terms }, { dialect, params }) {
      const pattern = params.add('string', phrasePattern(terms));
      return (value) => dialect.matches(value, pattern);
    },
    valueTest: ({ terms }) => stringPhraseTest(terms),
    plainTest({ terms }) {
      const foldedTerms = terms.map(caseFold);
      return (value) => countPhrase(String(value), foldedTerms, 1) > 0;
    },
    requirement: ({ terms }) => ({ strings: terms, text: terms.join(' ') }),
    occurrences({ terms }) {
      const foldedTerms = terms.map(caseFold);
      return (text) => countPhrase(text, foldedTerms);
    },
    describe: ({ field, terms }) =>
      `${field.name} contains the phrase ${describeValues([terms.join(' ')])}`,
  }),
);

function unsupportedOver(condition: TermCondition, family: TypeFamily): string | undefined {
  return invalidTermReason(condition) ?? requireStringField(condition, family);
}

/** Returns why the memory executor does not look for these terms: there are none, or one is not a single token. Undefined if it does. */
function invalidTermReason({ terms }: TermCondition): string | undefined {
  const otherTerm = terms.find((term) => !isToken(term));
  if (terms.length === 0) return 'there are no terms to look for';
  return otherTerm === undefined ? undefined : `${JSON.stringify(otherTerm)} is not a single term`;
}

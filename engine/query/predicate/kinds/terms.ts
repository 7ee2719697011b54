import { unpackBitmap } from '../../../text/bitmap.js';
import { foldText } from '../../../text/fold.js';
import { tokenize } from '../../../text/tokenizer.js';
import { rowTest, type RowTest } from '../../memory/match/row-test.js';
import { isSparse } from '../../memory/match/selection-vector.js';
import { stringPhraseTest, stringTermsTest } from '../../memory/match/string-terms.js';
import { nsPerRow, rowCost, type ConditionCost } from '../cost.js';
import { supported, unsupportedBecause, type PredicateKind } from './kind.js';
import { phrasePattern, termPattern, toTextQuery } from '../patterns.js';
import { containsTerms, countPhrase } from '../plain-values.js';
import type { OfKind } from '../predicate.js';
import { isUnsupported } from '../../unsupported.js';
import { describeValues, requireStringField, valueKind, type TypeFamily } from './value-kind.js';

type TermCondition = OfKind<'terms' | 'phrase'>;

/** The predicate kind `terms`: the value contains every term. */
export const terms: PredicateKind<OfKind<'terms'>> = indexedTerms(
  valueKind<OfKind<'terms'>>({
    cost: termCost,
    unsupportedOver,
    spans: () => undefined,
    valueSql({ terms }, { dialect, params }) {
      const patterns = terms.map((term) => params.add('string', termPattern(term)));
      return (value) => patterns.map((pattern) => dialect.matches(value, pattern)).join(' AND ');
    },
    valueTest: ({ terms }) => stringTermsTest(terms),
    plainTest({ terms }) {
      const foldedTerms = terms.map(foldText);
      return (value) => containsTerms(String(value), foldedTerms);
    },
    requirement: ({ terms }) => ({ strings: terms }),
    occurrences({ terms }) {
      const foldedTerms = terms.map(foldText);
      return (text) => foldedTerms.reduce((sum, term) => sum + countPhrase(text, [term]), 0);
    },
    describe: ({ field, terms }) => `${field.name} contains the terms ${describeValues(terms)}`,
  }),
);

/** The predicate kind `phrase`: the value contains the terms consecutively. */
export const phrase: PredicateKind<OfKind<'phrase'>> = indexedTerms(
  valueKind<OfKind<'phrase'>>({
    cost: termCost,
    unsupportedOver,
    spans: () => undefined,
    valueSql({ terms }, { dialect, params }) {
      const pattern = params.add('string', phrasePattern(terms));
      return (value) => dialect.matches(value, pattern);
    },
    valueTest: ({ terms }) => stringPhraseTest(terms),
    plainTest({ terms }) {
      const foldedTerms = terms.map(foldText);
      return (value) => countPhrase(String(value), foldedTerms, 1) > 0;
    },
    requirement: ({ terms }) => ({ strings: terms, text: terms.join(' ') }),
    occurrences({ terms }) {
      const foldedTerms = terms.map(foldText);
      return (text) => countPhrase(text, foldedTerms);
    },
    describe: ({ field, terms }) =>
      `${field.name} contains the phrase ${describeValues([terms.join(' ')])}`,
  }),
);

/** Cost in nanoseconds of looking up a condition in a text index. */
const indexLookupNs = 2_000_000;

function termCost({ field }: TermCondition): ConditionCost {
  return field.type === 'text'
    ? { perRow: nsPerRow.presence, once: indexLookupNs }
    : rowCost(nsPerRow.terms);
}

function unsupportedOver(condition: TermCondition, family: TypeFamily): string | undefined {
  return invalidTermReason(condition) ?? requireStringField(condition, family);
}

/**
 * Returns why the memory executor cannot look up these terms: a wanted term that the tokenizer would split is in no index. Undefined if it
 * can.
 */
function invalidTermReason({ terms }: TermCondition): string | undefined {
  const otherTerm = terms.find((term) => !term.isWellFormed() || tokenize(term)[0] !== term);
  if (terms.length === 0) return 'there are no terms to look for';
  return otherTerm === undefined ? undefined : `${JSON.stringify(otherTerm)} is not a single term`;
}

/**
 * Returns a predicate kind for terms. Fields of type `text` are too long to be scanned, so their rows come from the text index; other
 * fields use `scanning`.
 */
function indexedTerms<C extends TermCondition>(scanning: PredicateKind<C>): PredicateKind<C> {
  return {
    ...scanning,
    memorySupport(condition, context) {
      const { field } = condition;
      if (field.type !== 'text') return scanning.memorySupport(condition, context);
      const problem = invalidTermReason(condition);
      if (problem !== undefined) return unsupportedBecause(problem);
      if (context.hasTextIndex(field)) return supported;
      return unsupportedBecause(`${field.name} has no index of terms in every segment`);
    },
    memory: (condition, context) =>
      condition.field.type === 'text'
        ? indexLookupTest(condition)
        : scanning.memory(condition, context),
  };
}

/** Returns a test that selects the rows that the text index finds. */
function indexLookupTest(condition: TermCondition): RowTest {
  const query = toTextQuery(condition);
  return rowTest((view) => {
    const text = view.text?.(condition.field);
    if (text === undefined) return { unsupported: 'rows without an index of terms' };
    if (isUnsupported(text)) return text;
    if (text === 'absent') return 'none';
    const found = text.matchingRows(query);
    return isSparse(found) ? found : unpackBitmap(found, view.rows);
  });
}

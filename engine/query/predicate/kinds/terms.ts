import { unpackBitmap } from '../../../text/bitmap.js';
import { foldText } from '../../../text/fold.js';
import { tokenize } from '../../../text/tokenizer.js';
import { rowTest, type RowTest } from '../../memory/match/row-test.js';
import { isSparse } from '../../memory/match/selection-vector.js';
import { stringPhrase, stringTerms } from '../../memory/match/string-terms.js';
import { textQueryOf, type TermCondition } from '../../memory/terms.js';
import { nsPerRow, rowCost, type Cost } from '../cost.js';
import { supported, unsupportedBecause, type PredicateKind } from '../kind.js';
import { phrasePattern, termPattern } from '../patterns.js';
import { containsTerms, countPhrase } from '../plain-values.js';
import type { OfKind } from '../predicate.js';
import { isUnsupported } from '../../unsupported.js';
import { describeValues, onlyStrings, valueKind, type TypeFamily } from './value-kind.js';

/** The value contains every term. */
export const terms: PredicateKind<OfKind<'terms'>> = indexedTerms(
  valueKind<OfKind<'terms'>>({
    cost: termCost,
    unsupportedOver,
    spans: () => undefined,
    valueSql({ terms }, { dialect, params }) {
      const patterns = terms.map((term) => params.add('string', termPattern(term)));
      return (value) => patterns.map((pattern) => dialect.matches(value, pattern)).join(' AND ');
    },
    valueTest: ({ terms }) => stringTerms(terms),
    plainTest({ terms }) {
      const foldedTerms = terms.map(foldText);
      return (value) => containsTerms(String(value), foldedTerms);
    },
    requiredStrings: ({ terms }) => terms,
    describe: ({ field, terms }) => `${field.name} contains the terms ${describeValues(terms)}`,
  }),
);

/** The value contains the terms consecutively. */
export const phrase: PredicateKind<OfKind<'phrase'>> = indexedTerms(
  valueKind<OfKind<'phrase'>>({
    cost: termCost,
    unsupportedOver,
    spans: () => undefined,
    valueSql({ terms }, { dialect, params }) {
      const pattern = params.add('string', phrasePattern(terms));
      return (value) => dialect.matches(value, pattern);
    },
    valueTest: ({ terms }) => stringPhrase(terms),
    plainTest({ terms }) {
      const foldedTerms = terms.map(foldText);
      return (value) => countPhrase(String(value), foldedTerms, 1) > 0;
    },
    requiredStrings: ({ terms }) => terms,
    describe: ({ field, terms }) =>
      `${field.name} contains the phrase ${describeValues([terms.join(' ')])}`,
  }),
);

/** Looking up a condition in the index of terms. */
const lookupNs = 2_000_000;

function termCost({ field }: TermCondition): Cost {
  return field.type === 'text'
    ? { perRow: nsPerRow.presence, once: lookupNs }
    : rowCost(nsPerRow.terms);
}

function unsupportedOver(condition: TermCondition, family: TypeFamily): string | undefined {
  return areTerms(condition) ?? onlyStrings(condition, family);
}

/** Why the memory executor cannot look up these terms: each has to be a whole term. */
function areTerms({ terms }: TermCondition): string | undefined {
  const otherTerm = terms.find((term) => !term.isWellFormed() || tokenize(term)[0] !== term);
  if (terms.length === 0) return 'there are no terms to look for';
  return otherTerm === undefined ? undefined : `${JSON.stringify(otherTerm)} is not a single term`;
}

/** Fields of type `text` are too long to be scanned: their rows come from the index of terms. */
function indexedTerms<C extends TermCondition>(scanning: PredicateKind<C>): PredicateKind<C> {
  return {
    ...scanning,
    memorySupport(condition, context) {
      const { field } = condition;
      if (field.type !== 'text') return scanning.memorySupport(condition, context);
      const problem = areTerms(condition);
      if (problem !== undefined) return unsupportedBecause(problem);
      if (context.hasTextIndex(field)) return supported;
      return unsupportedBecause(`${field.name} has no index of terms in every segment`);
    },
    memory: (condition, context) =>
      condition.field.type === 'text' ? lookedUp(condition) : scanning.memory(condition, context),
  };
}

/** Selects the rows that the index of terms finds. */
function lookedUp(condition: TermCondition): RowTest {
  const query = textQueryOf(condition);
  return rowTest((view) => {
    const text = view.text?.(condition.field);
    if (text === undefined) return { unsupported: 'rows without an index of terms' };
    if (isUnsupported(text)) return text;
    if (text === 'absent') return 'none';
    const found = text.rows(query);
    return isSparse(found) ? found : unpackBitmap(found, view.rows);
  });
}

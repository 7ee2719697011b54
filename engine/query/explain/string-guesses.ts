import { stringifyJson } from '../../core/json.js';
import { reparseSource, reparseAtom, untruncatedJson, type RewordedCondition } from './reword.js';
import type { ExplainContext } from '../request/condition-tree.js';
import { freezePredicate, type FieldRef } from '../predicate/predicate.js';
import { escapePattern } from '../predicate/text-patterns.js';

export const partOfValueReason = 'No whole value is equal to this, but parts of values are';

/** A possible mistake in a string condition: code, sentence, corrected condition, and whether to list matching values. */
type StringGuess = readonly [
  cause: string,
  because: string,
  found: RewordedCondition | undefined,
  shows?: true,
];

/**
 * Returns the possible mistakes in a filter on a string or text field; none unless the value is a number or a string of at most 200
 * characters.
 */
export function stringGuesses(
  { field, action }: { readonly field: FieldRef; readonly action: string },
  value: unknown,
  context: ExplainContext,
): readonly StringGuess[] {
  const filter = (name: string, other: unknown): RewordedCondition | undefined =>
    reparseSource({ kind: 'filter', key: `${field.name}__${name}`, value: other }, context);
  const letters = 'This comparison is case-sensitive';
  const singleText = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  if (typeof singleText !== 'string' || singleText.length > 200) return [];
  if (field.type === 'text') {
    const word = { kind: 'term', field: field.name, parts: [{ text: singleText }, 'any'] } as const;
    return action === 'exact'
      ? [['letter_case', letters, filter('iexact', singleText)]]
      : [['part_of_value', 'No whole word is equal to this, but some begin with it', asQueryString(reparseAtom(word, context))]]; // prettier-ignore
  }
  if (field.type !== 'string') return [];
  const literal = escapePattern(singleText);
  const pattern = (text: string): RewordedCondition => ({
    text: context.rules?.refused.has('regexp')
      ? null
      : untruncatedJson([`${field.name}__regexp`, text]),
    predicate: freezePredicate({ kind: 'regexp', field, pattern: text }),
  });
  switch (action) {
    case 'contains':
      return [['letter_case', letters, pattern(`(?is).*${literal}.*`), true]];
    case 'prefix':
      return [
        ['letter_case', letters, pattern(`(?is)${literal}.*`), true],
        ['part_of_value', 'No value begins with this, but some contain it', filter('contains', singleText), true],
      ]; // prettier-ignore
    case 'regexp':
    case 'regex':
      return [
        ['letter_case', letters, pattern(`(?i)${singleText}`), true],
        ['part_of_value', 'A pattern must match the whole value', pattern(`(?s).*(?:${singleText}).*`), true],
      ]; // prettier-ignore
    default: {
      const words = singleText.trim().split(/[-_\s]+/u).filter((word) => word !== '').map(escapePattern); // prettier-ignore
      const trimmedPattern = escapePattern(singleText.trim());
      const number = Number(singleText.replaceAll(',', ''));
      return [
        ...(action === 'exact' ? [['letter_case', letters, filter('iexact', singleText), true] as const] : []),
        ['spaces', 'The stored values have spaces around them', pattern(`(?i)\\s+${trimmedPattern}\\s*|${trimmedPattern}\\s+`), true],
        ['separators', 'The words are joined by other characters', words.length > 1 ? pattern(`(?i)${words.join('[-_\\s]*')}`) : undefined, true],
        ['number_format', 'The number is written differently', singleText.trim() !== '' && Number.isFinite(number) ? equalNumberCondition(field, number) : undefined, true],
        ['part_of_value', partOfValueReason, filter('contains', singleText), true],
      ]; // prettier-ignore
    }
  }
}

function asQueryString(found: RewordedCondition | undefined): RewordedCondition | undefined {
  return found && { ...found, text: stringifyJson({ query: found.text }) };
}

function equalNumberCondition(field: FieldRef, number: number): RewordedCondition {
  const end = { value: number, inclusive: true };
  const ref = { ...field, type: 'double', isNumberInText: true } as const;
  return {
    text: null,
    predicate: freezePredicate({ kind: 'range', field: ref, low: end, high: end }),
  };
}

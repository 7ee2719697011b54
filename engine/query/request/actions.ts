import { RE2JS } from 're2js';
import { budgets } from '../../core/budgets.js';
import { didYouMean, suggestionFor, type Synonyms } from '../../core/suggestion.js';
import type { StoredType } from '../../core/types.js';
import { isReserved } from './field-index.js';
import {
  freezePredicate,
  none,
  or,
  type FieldRef,
  type Predicate,
} from '../predicate/predicate.js';
import { Problem, valueForMessage } from './problem.js';
import { highEnd, lowEnd, rangePredicate, isRangeType, twoEndedRange } from './ranges.js';
import { readDateInterval, readScalar, readText } from './request-values.js';
import { tokenize } from '../../text/text-tokenizer.js';

type FieldType = StoredType | 'auto';

/** A filter action, `FIELD__ACTION`: the types that it applies to, and the predicate that it builds from a value. */
interface FilterAction {
  readonly appliesTo: (type: FieldType) => boolean;
  readonly build: (field: FieldRef, value: unknown) => Predicate;
  /** Completes "finds the records of which a value of the field …", for `docs/queries.md`. */
  readonly description: string;
}

const isString = (type: FieldType): boolean => type === 'string';
const isTextual = (type: FieldType): boolean => type === 'string' || type === 'text';
const isScalar = (type: FieldType): boolean => type !== 'object' && type !== 'json';

const betweenDescription = 'lies between two listed numbers or dates';
const regexpDescription =
  'matches the regular expression (RE2 syntax) from its first to its last character';

/**
 * The filter actions (query language 2.2). A new action needs an entry in this map; `CONTRIBUTING.md` lists what its tests and documents
 * need.
 */
export const actionsByName: ReadonlyMap<string, FilterAction> = new Map<string, FilterAction>([
  ['', declareAction(() => true, equalsValue, 'equals the value in any letter case, or contains all its words if the field is a `text`; `null`: records without a value')],
  ['iexact', declareAction(isTextual, (field, value) => equalityPredicate(field, [value], true), 'equals the value in any letter case')],
  ['exact', declareAction(() => true, (field, value) => equalityPredicate(field, [value], false), 'equals the value, letter case included')],
  ['in', declareAction(isScalar, (field, value) => equalityPredicate(field, requireValueList(value), true), 'equals one of the listed values in any letter case')],
  ['range', declareAction(isRangeType, (field, value) => twoEndedRange('range', field, value, true), `${betweenDescription}, or equals one of them`)],
  ['between', declareAction(isRangeType, (field, value) => twoEndedRange('between', field, value, false), `${betweenDescription}, and equals neither (unlike SQL's BETWEEN)`)],
  ['gt', declareAction(isRangeType, (field, value) => rangePredicate(field, lowEnd(field, value, false), null), 'is greater, or later')],
  ['gte', declareAction(isRangeType, (field, value) => rangePredicate(field, lowEnd(field, value, true), null), 'is greater or later, or equal')],
  ['lt', declareAction(isRangeType, (field, value) => rangePredicate(field, null, highEnd(field, value, false)), 'is less, or earlier')],
  ['lte', declareAction(isRangeType, (field, value) => rangePredicate(field, null, highEnd(field, value, true)), 'is less or earlier, or equal')],
  ['contains', declareAction(isTextual, containsPredicate, 'contains the string, letter case included; a `text` contains all words of the value')],
  ['regexp', declareAction(isString, regexpPredicate, regexpDescription)],
  ['regex', declareAction(isString, regexpPredicate, regexpDescription)],
  ['prefix', declareAction(isString, (field, value) => freezePredicate({ kind: 'prefix', field, text: readText(value) }), 'begins with the string, letter case included')],
]); // prettier-ignore

function declareAction(
  appliesTo: FilterAction['appliesTo'],
  build: FilterAction['build'],
  description: string,
): FilterAction {
  return { appliesTo, build, description };
}

/**
 * The actions on the number of a field's values, such as `__length__gte`: equality, `in` and the range actions, applied to that number.
 * They read no value of the field, so they apply to every type.
 */
const lengthActionByName: ReadonlyMap<string, FilterAction> = new Map(
  [...actionsByName].flatMap(
    ([name, { appliesTo, build, description }]): [string, FilterAction][] => {
      if (appliesTo !== isRangeType && name !== '' && name !== 'in') return [];
      const ofLength: FilterAction = {
        appliesTo: () => true,
        build: (field, value) =>
          lengthPredicate(field, build({ ...field, type: 'integer' }, value)),
        description,
      };
      return [[name === '' ? 'length' : `length__${name}`, ofLength]];
    },
  ),
);

/** Names that other query languages use for an action of this one. */
const actionSynonyms: Synonyms = {
  eq: ['exact'],
  equal: ['exact'],
  equals: ['exact'],
  is: ['exact'],
  ieq: ['iexact'],
  less: ['lt'],
  lessthan: ['lt'],
  before: ['lt'],
  greater: ['gt'],
  greaterthan: ['gt'],
  more: ['gt'],
  after: ['gt'],
  le: ['lte'],
  max: ['lte'],
  atmost: ['lte'],
  ge: ['gte'],
  min: ['gte'],
  atleast: ['gte'],
  like: ['contains'],
  ilike: ['contains'],
  icontains: ['contains'],
  includes: ['contains'],
  has: ['contains'],
  match: ['regexp'],
  matches: ['regexp'],
  rlike: ['regexp'],
  startswith: ['prefix'],
  istartswith: ['prefix'],
  beginswith: ['prefix'],
  starts: ['prefix'],
  oneof: ['in'],
  anyof: ['in'],
  isin: ['in'],
  len: ['length'],
  count: ['length'],
  size: ['length'],
};

/** For actions of other query languages, what to use instead. */
const replacementByActionName: ReadonlyMap<string, string> = new Map([
  ...['ne', 'neq', 'not', 'isnot', 'notequal'].map((name) => [name, '{"not": [FIELD, VALUE]}'] as const), // prettier-ignore
  ...['nin', 'notin'].map((name) => [name, '{"not": [FIELD__in, VALUES]}'] as const),
  ...['null', 'isnull', 'missing'].map((name) => [name, '[FIELD, null]'] as const),
  ...['exists', 'notnull', 'isnotnull'].map((name) => [name, '{"not": [FIELD, null]}'] as const),
  ...['endswith', 'suffix', 'iendswith'].map((name) => [name, '[FIELD__regexp, ".*VALUE"]'] as const), // prettier-ignore
]);

/** Returns the end of the message about an unknown action: what to use instead, the action that may be meant, or the known actions. */
function unknownActionAdvice(name: string): string {
  const form = replacementByActionName.get(name.toLowerCase().replaceAll('_', ''));
  if (form !== undefined) return ` Use ${form}.`;
  const names = [...actionsByName.keys(), ...lengthActionByName.keys()].filter((one) => one !== '');
  const meant = didYouMean(suggestionFor(name, names, actionSynonyms));
  return (
    meant || ` Known actions: ${[...actionsByName.keys()].filter((one) => one !== '').join(', ')}.`
  );
}

/** Splits the key of a filter, `FIELD`, `FIELD__ACTION` or `FIELD__length__ACTION`, into the field and the action. */
export function splitKey(
  key: string,
  isField: (name: string) => boolean,
): { readonly name: string; readonly action: string } {
  // The name of a field may itself contain `__`, so the whole key is tried first.
  if (isField(key)) return { name: key, action: '' };
  const separatorAt = key.lastIndexOf('__');
  if (separatorAt < 0) return { name: key, action: '' };
  const [name, action] = [key.slice(0, separatorAt), key.slice(separatorAt + 2)];
  const countedName = name.endsWith('__length') ? name.slice(0, -'__length'.length) : name;
  return countedName !== name && !isField(name) && isField(countedName)
    ? { name: countedName, action: `length__${action}` }
    : { name, action };
}

/** Returns whether a name may be that of a field in a key without an action: its part after the last `__`, if any, is no action. */
export function lacksAction(name: string): boolean {
  const separatorAt = name.lastIndexOf('__');
  const action = separatorAt <= 0 ? undefined : name.slice(separatorAt + 2);
  return action === undefined || !(actionsByName.has(action) || lengthActionByName.has(action));
}

/** Returns true for an action that compares the values of a field by order, unlike `length__gte`, which compares their number. */
export function isRangeAction(name: string): boolean {
  return actionsByName.get(name)?.appliesTo === isRangeType;
}

/**
 * Returns the condition of one filter pair. Throws a `Problem` for an unknown action, an action that does not apply to the field's type, or
 * an invalid value.
 */
export function conditionOfAction(field: FieldRef, name: string, value: unknown): Predicate {
  const ofLength = lengthActionByName.get(name);
  if (ofLength) return ofLength.build(field, value);
  const knownAction = actionsByName.get(name);
  if (!knownAction)
    throw new Problem(`Unknown action: ${name.slice(0, 80)}.${unknownActionAdvice(name)}`);
  // A field of type `auto` is declared but has no data: its type is not known yet, and it is missing in every record.
  if (field.type === 'auto')
    return value === null ? freezePredicate({ kind: 'missing', field }) : none;
  if (!knownAction.appliesTo(field.type)) {
    throw new Problem(
      `Action ${name} does not apply to ${field.name}, which is of type ${field.type}`,
    );
  }
  return knownAction.build(field, value);
}

/** Converts a condition on whole numbers into the same condition on the number of a field's values. */
function lengthPredicate(field: FieldRef, numbers: Predicate): Predicate {
  const countFrom = (from: number, to: number | null): Predicate =>
    to !== null && to < Math.max(from, 0)
      ? none
      : freezePredicate({ kind: 'length', field, from: Math.max(from, 0), to });
  switch (numbers.kind) {
    case 'none':
      return none;
    case 'in':
      return or(numbers.values.map((value) => countFrom(Number(value), Number(value))));
    case 'range': {
      const { low: from, high: to } = numbers;
      const first = from ? Number(from.value) + (from.inclusive ? 0 : 1) : 0;
      return countFrom(first, to ? Number(to.value) - (to.inclusive ? 0 : 1) : null);
    }
    default:
      throw new Problem('A length is a number, never null');
  }
}

function equalsValue(field: FieldRef, value: unknown): Predicate {
  return field.type === 'text' && value !== null
    ? containsPredicate(field, value)
    : equalityPredicate(field, [value], true);
}

/** Returns an equality condition; a `null` among the values matches records without a value of the field. */
function equalityPredicate(
  field: FieldRef,
  values: readonly unknown[],
  ignoreCase: boolean,
): Predicate {
  const presentValues = values.filter((value) => value !== null);
  const alternatives: Predicate[] =
    presentValues.length < values.length ? [freezePredicate({ kind: 'missing', field })] : [];
  if (presentValues.length > 0)
    alternatives.push(presentEquality(field, presentValues, ignoreCase));
  return or(alternatives);
}

function presentEquality(
  field: FieldRef,
  values: readonly unknown[],
  ignoreCase: boolean,
): Predicate {
  const { type } = field;
  if (type === 'object' || type === 'json' || type === 'auto') {
    throw new Problem(`${field.name} is an object: compare one of the fields inside it, or null`);
  }
  if (type === 'date') {
    return or(
      values.map((value) => {
        const { start, end } = readDateInterval(value);
        return rangePredicate(
          field,
          { value: start, inclusive: true },
          { value: end, inclusive: false },
        );
      }),
    );
  }
  const scalars = values.map((value) => {
    if (Array.isArray(value))
      throw new Problem(`Expected one value, not ${valueForMessage(value)}; use ${field.name}__in`);
    return readScalar(type, coordinateValue(field, value));
  });
  const possibleScalars = [...new Set(scalars.filter((value) => value !== undefined))];
  if (possibleScalars.length === 0) return none;
  return freezePredicate({
    kind: 'in',
    field,
    values: possibleScalars,
    ignoreCase: ignoreCase && ignoresCase(field),
  });
}

/**
 * Returns true if comparison with the field ignores letter case, which is so for strings and texts. Choice: comparisons of blobs, of `_id`
 * and of `_commit` are case-sensitive.
 */
function ignoresCase(field: FieldRef): boolean {
  return isTextual(field.type) && !isReserved(field.path);
}

/** Returns a string for `genomic_coordinates.chromosome` without a leading `chr`, in any letter case; other values are unchanged. */
export function coordinateValue(field: FieldRef, value: unknown): unknown {
  const isChromosome = field.path.join('\n') === 'genomic_coordinates\nchromosome';
  return isChromosome && typeof value === 'string' ? value.replace(/^chr/i, '') : value;
}

function requireValueList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value))
    throw new Problem(`Action in expects a list, not ${valueForMessage(value)}`);
  if (value.length > budgets.inListValues) {
    throw new Problem(
      `The action in takes at most ${budgets.inListValues} values, not ${value.length}: split the list into several filters, joined by or`,
      true,
    );
  }
  return value;
}

function containsPredicate(field: FieldRef, value: unknown): Predicate {
  const text = readText(value);
  if (field.type !== 'text') return freezePredicate({ kind: 'contains', field, text });
  const wantedTerms = [...new Set(tokenize(text))];
  if (wantedTerms.length > budgets.queryTerms) {
    throw new Problem(
      `The action contains takes at most ${budgets.queryTerms} words, not ${wantedTerms.length}: split the text into several filters, joined by and`,
      true,
    );
  }
  // Choice: a value without a term matches nothing.
  return wantedTerms.length === 0
    ? none
    : freezePredicate({ kind: 'terms', field, terms: wantedTerms });
}

function regexpPredicate(field: FieldRef, value: unknown): Predicate {
  const pattern = readText(value);
  const bytes = Buffer.byteLength(pattern);
  if (bytes > budgets.regexpBytes) {
    throw new Problem(
      `A regular expression may have at most ${budgets.regexpBytes} bytes, not ${bytes}: shorten it, or split it at "|" into several filters, joined by or`,
      true,
    );
  }
  try {
    RE2JS.compile(pattern);
  } catch (error) {
    throw new Problem(
      `Unsupported regular expression ${valueForMessage(pattern)}: ${(error as Error).message}`,
    );
  }
  return freezePredicate({ kind: 'regexp', field, pattern });
}

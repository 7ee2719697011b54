import { stringifyJson } from '../../../engine/core/json.js';
import { and, fieldKey, freezePredicate, or, type PredicateOfKind, type Predicate } from '../../../engine/query/predicate/predicate.js'; // prettier-ignore
import { lowerCase } from '../../../engine/text/fold.js';

/** A condition that a field has one of several values. */
export type KeyEquality = PredicateOfKind<'in'>;

/** A condition that holds if at least one of several equalities holds. */
type EqualityKey = readonly KeyEquality[];

/** The conditions by which a call of a dataset function selects records. */
export interface CallSelection {
  /** Equal for calls that differ only in the values of their keys. */
  readonly shape: string;
  readonly keys: readonly EqualityKey[];
  /** The conditions that are no keys; equal for calls of one shape. */
  readonly otherConditions: readonly Predicate[];
}

/**
 * Divides the conditions of a predicate that are joined by AND into keys and other conditions. A key is an equality whose values may differ
 * between calls, or several such equalities joined by OR.
 */
export function callSelection(predicate: Predicate): CallSelection {
  const keys: EqualityKey[] = [];
  const otherConditions: Predicate[] = [];
  for (const item of conjuncts(predicate)) {
    const alternatives = item.kind === 'or' ? item.items : [item];
    if (alternatives.every(isKeyEquality)) keys.push(alternatives);
    else otherConditions.push(item);
  }
  return { shape: callShapeOf(keys, otherConditions), keys, otherConditions };
}

function callShapeOf(keys: readonly EqualityKey[], otherConditions: readonly Predicate[]): string {
  let shape = otherConditions.length === 0 ? '' : stringifyJson(otherConditions);
  for (const key of keys) {
    shape += '\n';
    for (const { field, ignoreCase } of key) shape += `${fieldKey(field)}${ignoreCase}`;
  }
  return shape;
}

/** Returns the conditions of a predicate that are joined by AND. */
export function conjuncts(predicate: Predicate): readonly Predicate[] {
  if (predicate.kind === 'all') return [];
  return predicate.kind === 'and' ? predicate.items.flatMap(conjuncts) : [predicate];
}

/** The types whose values are compared by their texts. */
const keyTypes: ReadonlySet<string> = new Set(['string', 'integer', 'long']);

/** Returns whether a condition is an equality whose values may differ between calls of a dataset function that one query answers. */
export function isKeyEquality(item: Predicate): item is KeyEquality {
  return item.kind === 'in' && keyTypes.has(item.field.type);
}

/** Returns the paths of the key fields, which are the same in all selections of one shape. */
export function keyPaths({ keys }: CallSelection): readonly (readonly string[])[] {
  const paths = keys.flatMap((key) => key.map(({ field }) => field.path));
  return [...new Map(paths.map((path) => [path.join('\0'), path])).values()];
}

/** Returns a condition that holds for each record that at least one of the selections selects; they must have the same shape. */
export function joinedPredicate(selections: readonly CallSelection[]): Predicate {
  const [{ keys, otherConditions }] = selections as [CallSelection, ...CallSelection[]];
  const keyConditions = keys.map((key, i) =>
    or(
      key.map((equality, j) => {
        const values = new Set(selections.flatMap((one) => one.keys[i]![j]!.values));
        return freezePredicate({ ...equality, values: [...values] });
      }),
    ),
  );
  return and([...otherConditions, ...keyConditions]);
}

/**
 * Determines which of several calls of a dataset function select a record. Their selections differ only in the values of their keys, and
 * the record satisfies their joined predicate, and therefore all conditions that are no keys. Values are compared in the form that the
 * engine compares: if letter case is ignored, text is in lower case.
 */
export class KeyDispatcher {
  readonly #keys: readonly EqualityKey[];
  /** The index of the key whose values are looked up in `#byForm`. */
  readonly #firstKeyIndex: number;
  readonly #byForm = new Map<string, number[]>();
  /** The keys other than `#firstKeyIndex` in which the selections differ, with the compared forms of each selection's values. */
  readonly #otherKeys: readonly {
    readonly key: number;
    readonly forms: readonly ReadonlySet<string>[];
  }[];

  constructor(selections: readonly CallSelection[]) {
    this.#keys = selections[0]!.keys;
    const forms = this.#keys.map((_, i) => selections.map(({ keys }) => comparedForms(keys[i]!)));
    const formCounts =
      forms.length === 1 ? [0] : forms.map((keyForms) => new Set(keyForms.flat()).size);
    this.#firstKeyIndex = formCounts.indexOf(Math.max(...formCounts));
    for (const [call, callForms] of forms[this.#firstKeyIndex]!.entries())
      for (const form of callForms) {
        const calls = this.#byForm.get(form);
        if (calls === undefined) this.#byForm.set(form, [call]);
        else calls.push(call);
      }
    this.#otherKeys = forms.flatMap((keyForms, key) => {
      const isSame = keyForms.every((one) => one.length === formCounts[key]);
      return key === this.#firstKeyIndex || isSame
        ? []
        : [{ key, forms: keyForms.map((one) => new Set(one)) }];
    });
  }

  /** Returns the indices of the selections that select a record. The record must have all key fields. */
  callsSelecting(record: unknown): readonly number[] {
    const ownForms = this.#formsIn(record, this.#firstKeyIndex);
    const possibleCalls =
      ownForms.length === 1
        ? (this.#byForm.get(ownForms[0]!) ?? [])
        : ownForms.flatMap((form) => this.#byForm.get(form) ?? []);
    if (possibleCalls.length === 0) return possibleCalls;
    const distinctCalls = possibleCalls.length > 1 ? [...new Set(possibleCalls)] : possibleCalls;
    return this.#otherKeys.reduce<readonly number[]>((calls, { key, forms }) => {
      const ownForms = this.#formsIn(record, key);
      return calls.filter((call) => ownForms.some((form) => forms[call]!.has(form)));
    }, distinctCalls);
  }

  /** Returns the indices of the selections that select a record with this value, for selections whose only key is one field. */
  callsSelectingValue(value: unknown): readonly number[] {
    return this.#byForm.get(comparedForm(this.#keys[0]![0]!, 0, value)) ?? [];
  }

  #formsIn(record: unknown, key: number): readonly string[] {
    return this.#keys[key]!.flatMap((equality, j) =>
      storedValuesAt(record, equality.field.path).map((value) => comparedForm(equality, j, value)),
    );
  }
}

/** Returns the distinct compared forms of the values of a key. */
function comparedForms(key: EqualityKey): readonly string[] {
  const [firstEquality] = key;
  if (key.length === 1 && firstEquality!.values.length === 1)
    return [comparedForm(firstEquality!, 0, firstEquality!.values[0])];
  return [
    ...new Set(key.flatMap((one, j) => one.values.map((value) => comparedForm(one, j, value)))),
  ];
}

function comparedForm(
  { field, ignoreCase }: KeyEquality,
  alternative: number,
  value: unknown,
): string {
  const text = String(value);
  const isText = field.type === 'string';
  return `${alternative} ${!isText ? text : ignoreCase ? lowerCase(text) : text.toWellFormed()}`;
}

/** Returns the values of a record at a path that are not null; a list contributes each of its elements. */
export function storedValuesAt(
  value: unknown,
  path: readonly string[],
  from = 0,
): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item) => storedValuesAt(item, path, from));
  if (from === path.length) return [value];
  return storedValuesAt((value as Readonly<Record<string, unknown>>)[path[from]!], path, from + 1);
}

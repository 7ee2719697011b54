import { stringifyJson } from '../../../engine/core/json.js';
import { and, fieldKey, freezePredicate, or, type PredicateOfKind, type Predicate } from '../../../engine/query/predicate/predicate.js'; // prettier-ignore
import { lowerCase } from '../../../engine/text/fold.js';

/** A condition that a field has one of several values. */
export type KeyEquality = PredicateOfKind<'in'>;

/** A condition that holds if at least one of several equalities holds. */
type EqualityKey = readonly KeyEquality[];

/** The conditions that select the records of a call. */
export interface CallSelection {
  /** Equal for calls that differ only in the values of their keys. */
  readonly shape: string;
  readonly keys: readonly EqualityKey[];
  readonly others: readonly Predicate[];
}

/**
 * Divides the conditions of a predicate that are joined by AND into keys, which are equalities whose values may differ between calls, and
 * others.
 */
export function callSelection(predicate: Predicate): CallSelection {
  const keys: EqualityKey[] = [];
  const otherConditions: Predicate[] = [];
  for (const item of conjuncts(predicate)) {
    const alternatives = item.kind === 'or' ? item.items : [item];
    if (alternatives.every(isKeyEquality)) keys.push(alternatives);
    else otherConditions.push(item);
  }
  return { shape: callShapeOf(keys, otherConditions), keys, others: otherConditions };
}

function callShapeOf(keys: readonly EqualityKey[], others: readonly Predicate[]): string {
  let shape = others.length === 0 ? '' : stringifyJson(others);
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
  const [{ keys, others }] = selections as [CallSelection, ...CallSelection[]];
  const keyConditions = keys.map((key, i) =>
    or(
      key.map((equality, j) => {
        const values = new Set(selections.flatMap((one) => one.keys[i]![j]!.values));
        return freezePredicate({ ...equality, values: [...values] });
      }),
    ),
  );
  return and([...others, ...keyConditions]);
}

/**
 * Determines which selections of one shape select a record that satisfies their joined predicate, and therefore all their other conditions.
 * Values are compared in the form that the engine compares: if letter case is ignored, text is in lower case.
 */
export class KeyDispatcher {
  readonly #keys: readonly EqualityKey[];
  /** The index of the key whose values are looked up in `#byForm`. */
  readonly #first: number;
  readonly #byForm = new Map<string, number[]>();
  /** The other keys in which the selections differ, each with the compared forms of the values of each selection. */
  readonly #others: readonly {
    readonly key: number;
    readonly forms: readonly ReadonlySet<string>[];
  }[];

  constructor(selections: readonly CallSelection[]) {
    this.#keys = selections[0]!.keys;
    const forms = this.#keys.map((_, i) => selections.map(({ keys }) => comparedForms(keys[i]!)));
    const sizes = forms.length === 1 ? [0] : forms.map((own) => new Set(own.flat()).size);
    this.#first = sizes.indexOf(Math.max(...sizes));
    for (const [call, own] of forms[this.#first]!.entries())
      for (const form of own) {
        const calls = this.#byForm.get(form);
        if (calls === undefined) this.#byForm.set(form, [call]);
        else calls.push(call);
      }
    this.#others = forms.flatMap((own, key) => {
      const isSame = own.every((one) => one.length === sizes[key]);
      return key === this.#first || isSame ? [] : [{ key, forms: own.map((one) => new Set(one)) }];
    });
  }

  /** Returns the indices of the selections that select a record. The record must have all key fields. */
  callsSelecting(record: unknown): readonly number[] {
    const ownForms = this.#formsIn(record, this.#first);
    const found =
      ownForms.length === 1
        ? (this.#byForm.get(ownForms[0]!) ?? [])
        : ownForms.flatMap((form) => this.#byForm.get(form) ?? []);
    if (found.length === 0) return found;
    const distinct = found.length > 1 ? [...new Set(found)] : found;
    return this.#others.reduce<readonly number[]>((calls, { key, forms }) => {
      const ownForms = this.#formsIn(record, key);
      return calls.filter((call) => ownForms.some((form) => forms[call]!.has(form)));
    }, distinct);
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
  const [first] = key;
  if (key.length === 1 && first!.values.length === 1)
    return [comparedForm(first!, 0, first!.values[0])];
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

/** Returns the values of a record at a path; a list contributes each of its elements. */
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

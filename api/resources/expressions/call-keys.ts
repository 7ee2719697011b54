import { stringifyJson } from '../../../engine/core/json.js';
import { and, fieldKey, node, or, type OfKind, type Predicate } from '../../../engine/query/predicate/predicate.js'; // prettier-ignore
import { lowerCase } from '../../../engine/text/fold.js';

/** A condition that a value of a field is one of some values. */
export type KeyEquality = OfKind<'in'>;

/** A condition that is true if one of several equalities is. */
type Key = readonly KeyEquality[];

/** The conditions that select the records of a call. */
export interface CallSelection {
  /** Equal for calls that differ only in the values of their keys. */
  readonly shape: string;
  readonly keys: readonly Key[];
  readonly others: readonly Predicate[];
}

/** The keys of a predicate: its conditions, joined by AND, that are equalities, of which the values may be those of many calls. */
export function callSelection(predicate: Predicate): CallSelection {
  const keys: Key[] = [];
  const otherConditions: Predicate[] = [];
  for (const item of conjuncts(predicate)) {
    const alternatives = item.kind === 'or' ? item.items : [item];
    if (alternatives.every(isKey)) keys.push(alternatives);
    else otherConditions.push(item);
  }
  return { shape: shapeOf(keys, otherConditions), keys, others: otherConditions };
}

function shapeOf(keys: readonly Key[], others: readonly Predicate[]): string {
  let shape = others.length === 0 ? '' : stringifyJson(others);
  for (const key of keys) {
    shape += '\n';
    for (const { field, ignoreCase } of key) shape += `${fieldKey(field)}${ignoreCase}`;
  }
  return shape;
}

/** The conditions of a predicate that are joined by AND. */
export function conjuncts(predicate: Predicate): readonly Predicate[] {
  if (predicate.kind === 'all') return [];
  return predicate.kind === 'and' ? predicate.items.flatMap(conjuncts) : [predicate];
}

/** Values of these types are compared by their texts; values of other types are not. */
const keyTypes: ReadonlySet<string> = new Set(['string', 'integer', 'long']);

/** Whether a condition is an equality of which the values may be those of many calls. */
export function isKey(item: Predicate): item is KeyEquality {
  return item.kind === 'in' && keyTypes.has(item.field.type);
}

/** The paths of the fields of the keys of selections of one shape. */
export function keyPaths({ keys }: CallSelection): readonly (readonly string[])[] {
  const paths = keys.flatMap((key) => key.map(({ field }) => field.path));
  return [...new Map(paths.map((path) => [path.join('\0'), path])).values()];
}

/** A condition that holds for each record that at least one of the selections selects; they must have the same shape. */
export function joinedPredicate(selections: readonly CallSelection[]): Predicate {
  const [{ keys, others }] = selections as [CallSelection, ...CallSelection[]];
  const keyConditions = keys.map((key, i) =>
    or(
      key.map((equality, j) => {
        const values = new Set(selections.flatMap((one) => one.keys[i]![j]!.values));
        return node({ ...equality, values: [...values] });
      }),
    ),
  );
  return and([...others, ...keyConditions]);
}

/**
 * Tells which of some selections of one shape select a record. It has to satisfy their joined predicate, and so their other conditions. The
 * forms of values are those that the engine compares: texts in any letter case by their lower case.
 */
export class KeyDispatcher {
  readonly #keys: readonly Key[];
  /** The index of the key by whose values selections are looked up. */
  readonly #first: number;
  readonly #byForm = new Map<string, number[]>();
  /** The keys, other than `#first`, in which the selections differ, with the forms of the values of each selection. */
  readonly #others: readonly {
    readonly key: number;
    readonly forms: readonly ReadonlySet<string>[];
  }[];

  constructor(selections: readonly CallSelection[]) {
    this.#keys = selections[0]!.keys;
    const forms = this.#keys.map((_, i) => selections.map(({ keys }) => formsOf(keys[i]!)));
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

  /** The numbers of the selections that select a record, which has at least the fields of the keys. */
  selecting(record: unknown): readonly number[] {
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

  /** The numbers of the selections that select a record with this value, if their only key is of one field. */
  selectingValue(value: unknown): readonly number[] {
    return this.#byForm.get(formOf(this.#keys[0]![0]!, 0, value)) ?? [];
  }

  #formsIn(record: unknown, key: number): readonly string[] {
    return this.#keys[key]!.flatMap((equality, j) =>
      storedAt(record, equality.field.path).map((value) => formOf(equality, j, value)),
    );
  }
}

/** The different forms of the values of a key. */
function formsOf(key: Key): readonly string[] {
  const [first] = key;
  if (key.length === 1 && first!.values.length === 1) return [formOf(first!, 0, first!.values[0])];
  return [...new Set(key.flatMap((one, j) => one.values.map((value) => formOf(one, j, value))))];
}

function formOf({ field, ignoreCase }: KeyEquality, alternative: number, value: unknown): string {
  const text = String(value);
  const isText = field.type === 'string';
  return `${alternative} ${!isText ? text : ignoreCase ? lowerCase(text) : text.toWellFormed()}`;
}

/** The values of a record at a path; a list contributes each of its elements. */
export function storedAt(value: unknown, path: readonly string[], from = 0): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item) => storedAt(item, path, from));
  if (from === path.length) return [value];
  return storedAt((value as Readonly<Record<string, unknown>>)[path[from]!], path, from + 1);
}

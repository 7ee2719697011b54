import { coordinateValue } from '../../../engine/query/request/actions.js';
import type { Predicate } from '../../../engine/query/predicate/predicate.js';
import { isPair } from '../../../engine/query/request/filter.js';
import { callSelection, conjuncts, isKeyEquality, type CallSelection, type KeyEquality } from './call-keys.js'; // prettier-ignore

/** A filter that is a pair of a field with an action and a plain value. */
interface TemplateFilter {
  readonly name: string;
  readonly value: unknown;
  /** The condition of the filter if it is an equality of a string field, whose text may be replaced; otherwise null. */
  readonly equality: KeyEquality | null;
}

/**
 * Makes the selection of a call whose filters differ from parsed ones only in the texts of equalities. Its filters need not be parsed,
 * because an equality of a string field and a text is valid, and the same condition, whatever the text.
 */
export class SelectionTemplate {
  readonly #filters: readonly TemplateFilter[];
  readonly #selection: CallSelection;
  /** For each key of the selection, the index of its filter. */
  readonly #filterIndices: readonly number[];

  private constructor(filters: readonly TemplateFilter[], predicate: Predicate) {
    this.#filters = filters;
    this.#selection = callSelection(predicate);
    const conditions = conjuncts(predicate);
    this.#filterIndices = this.#selection.keys.map((key) =>
      conditions.findIndex(
        (condition) => condition === key[0] || (condition.kind === 'or' && condition.items === key),
      ),
    );
  }

  /**
   * Returns the template of a call that selects records only by a list of pairs whose values are no lists or objects; `predicate` is the
   * parsed list. Returns null for any other selection.
   */
  static ofCall(
    entities: unknown,
    filters: unknown,
    predicate: Predicate,
  ): SelectionTemplate | null {
    if (isPresent(entities) || !Array.isArray(filters) || isPair(filters)) return null;
    const conditions = conjuncts(predicate);
    // A pair gives exactly one condition. So if all filters are pairs, which the loop checks, and there is no other condition, condition i
    // is that of filter i. A query string adds conditions, and a filter that is no pair may give several or none.
    if (conditions.length !== filters.length) return null;
    const templateFilters: TemplateFilter[] = [];
    for (const [i, pair] of filters.entries()) {
      if (!isPair(pair) || (typeof pair[1] === 'object' && pair[1] !== null)) return null;
      const condition = conditions[i]!;
      const isText =
        isKeyEquality(condition) &&
        condition.field.type === 'string' &&
        typeof pair[1] === 'string';
      templateFilters.push({ name: pair[0], value: pair[1], equality: isText ? condition : null });
    }
    return new SelectionTemplate(templateFilters, predicate);
  }

  /** Returns the selection of a call; undefined if it does not match the template, so that its filters have to be parsed. */
  selection(entities: unknown, filters: unknown): CallSelection | undefined {
    if (isPresent(entities) || !Array.isArray(filters) || filters.length !== this.#filters.length)
      return undefined;
    for (let i = 0; i < filters.length; i++) {
      const pair: unknown = filters[i];
      const { name, value, equality } = this.#filters[i]!;
      if (!isPair(pair) || pair[0] !== name) return undefined;
      if (equality === null ? pair[1] !== value : typeof pair[1] !== 'string') return undefined;
    }
    const { shape, keys, otherConditions } = this.#selection;
    return {
      shape,
      otherConditions,
      keys: keys.map((key, k) => {
        const filterIndex = this.#filterIndices[k]!;
        const { equality } = this.#filters[filterIndex]!;
        if (equality === null) return key;
        const [, value] = filters[filterIndex] as [string, string];
        return [{ ...equality, values: [coordinateValue(equality.field, value) as string] }];
      }),
    };
  }
}

function isPresent(argument: unknown): boolean {
  return argument !== null && argument !== undefined;
}

import { node, type Predicate } from '../../predicate/predicate.js';

type Equality = Extract<Predicate, { kind: 'in' }>;

/** The items of an `or` with those that compare one field joined, so that its values are looked at once. */
export function joined(items: readonly Predicate[]): readonly Predicate[] {
  const equalities = new Map<string, Equality[]>();
  const others: Predicate[] = [];
  for (const item of items) {
    if (item.kind !== 'in') {
      others.push(item);
      continue;
    }
    const key = JSON.stringify([item.field.path, item.field.type, item.ignoreCase]);
    const same = equalities.get(key);
    if (same) same.push(item);
    else equalities.set(key, [item]);
  }
  const lists = [...equalities.values()].map((same) => {
    if (same.length === 1) return same[0]!;
    return node({ ...same[0]!, values: same.flatMap(({ values }) => values) });
  });
  return [...others, ...lists];
}

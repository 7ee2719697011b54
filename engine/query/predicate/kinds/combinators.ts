import { allOfTests, negatedTest, anyOfTests } from '../../memory/match/combine.js';
import { rowTest, type RowTest } from '../../memory/match/row-test.js';
import { rowCost, sumOfCosts } from '../predicate-cost.js';
import { supported, type PredicateKind, type MemoryContext, type SupportContext } from './kind.js';
import { freezePredicate, type PredicateOfKind, type Predicate } from '../predicate.js';

export const allRecords: PredicateKind<PredicateOfKind<'all'>> = {
  fields: () => [],
  cost: () => rowCost(0),
  needsWholeSegment: () => false,
  memorySupport: () => supported,
  mayHold:
    () =>
    ({ rows }) =>
      rows > 0,
  mustHold: () => () => true,
  sql: () => 'true',
  memory: () => rowTest(() => 'all'),
  document: () => () => true,
  requirement: () => ({}),
  describe: () => 'every record',
};

export const noRecords: PredicateKind<PredicateOfKind<'none'>> = {
  fields: () => [],
  cost: () => rowCost(0),
  needsWholeSegment: () => false,
  memorySupport: () => supported,
  mayHold: () => () => false,
  mustHold: () => () => false,
  sql: () => 'false',
  memory: () => rowTest(() => 'none'),
  document: () => () => false,
  requirement: () => ({}),
  describe: () => 'no record',
};

export const and: PredicateKind<PredicateOfKind<'and'>> = {
  fields: ({ items }, fieldsOf) => items.flatMap(fieldsOf),
  cost: ({ items }, costOf) => sumOfCosts(items.map(costOf)),
  needsWholeSegment: ({ items }, needsWholeSegment) => items.some(needsWholeSegment),
  memorySupport: ({ items }, context) => supportOfEvery(items, context),
  mayHold({ items }, { mayHold }) {
    const tests = items.map(mayHold);
    return (segment) => tests.every((test) => test(segment));
  },
  mustHold({ items }, { mustHold }) {
    const tests = items.map(mustHold);
    return (segment) => tests.every((test) => test(segment));
  },
  sql: ({ items }, { sql }) => `(${items.map(sql).join(' AND ')})`,
  memory: ({ items }, context) => allOfTests(rowTestsByCost(items, context)),
  document({ items }, { matches }) {
    const tests = items.map((item) => matches(item));
    return (document) => tests.every((test) => test(document));
  },
  requirement: () => ({}),
  describe: ({ items }, describe) => `(${items.map(describe).join(' and ')})`,
};

export const or: PredicateKind<PredicateOfKind<'or'>> = {
  fields: ({ items }, fieldsOf) => items.flatMap(fieldsOf),
  cost: ({ items }, costOf) => sumOfCosts(mergeEqualities(items).map(costOf)),
  needsWholeSegment: ({ items }, needsWholeSegment) => items.some(needsWholeSegment),
  memorySupport: ({ items }, context) => supportOfEvery(items, context),
  mayHold({ items }, { mayHold }) {
    const tests = items.map(mayHold);
    return (segment) => tests.some((test) => test(segment));
  },
  mustHold({ items }, { mustHold }) {
    const tests = items.map(mustHold);
    return (segment) => tests.some((test) => test(segment));
  },
  sql: ({ items }, { sql }) => `(${items.map(sql).join(' OR ')})`,
  memory: ({ items }, context) => anyOfTests(rowTestsByCost(mergeEqualities(items), context)),
  document({ items }, { matches }) {
    const tests = items.map((item) => matches(item));
    return (document) => tests.some((test) => test(document));
  },
  requirement: () => ({}),
  describe: ({ items }, describe) => `(${items.map(describe).join(' or ')})`,
};

export const not: PredicateKind<PredicateOfKind<'not'>> = {
  fields: ({ item }, fieldsOf) => fieldsOf(item),
  cost: ({ item }, costOf) => sumOfCosts([costOf(item), rowCost(0.2)]),
  needsWholeSegment: ({ item }, needsWholeSegment) => needsWholeSegment(item),
  memorySupport: ({ item }, { memorySupport }) => memorySupport(item),
  countByStatistics({ item }, { countByStatistics }) {
    const count = countByStatistics(item);
    return (segment) => {
      const negatedCount = count(segment);
      return negatedCount === undefined ? undefined : segment.rows - negatedCount;
    };
  },
  mayHold({ item }, { mustHold }) {
    const test = mustHold(item);
    return (segment) => !test(segment);
  },
  mustHold({ item }, { mayHold }) {
    const test = mayHold(item);
    return (segment) => !test(segment);
  },
  sql: ({ item }, { negatedSql }) => negatedSql(item),
  memory: ({ item }, context) => negatedTest(context.rowTest(item)),
  document({ item }, { matches }) {
    const test = matches(item);
    return (document) => !test(document);
  },
  requirement: () => ({}),
  describe: ({ item }, describe) => `not ${describe(item)}`,
};

function supportOfEvery(
  items: readonly Predicate[],
  { memorySupport }: SupportContext,
): ReturnType<SupportContext['memorySupport']> {
  for (const item of items) {
    const support = memorySupport(item);
    if (!support.supported) return support;
  }
  return supported;
}

function rowTestsByCost(items: readonly Predicate[], context: MemoryContext): readonly RowTest[] {
  return items
    .map((item) => ({ item, cost: context.costOf(item).perRow }))
    .sort((a, b) => a.cost - b.cost)
    .map(({ item }) => context.rowTest(item));
}

/**
 * Returns the items of an `or`, with equality conditions on the same field merged if they treat letter case alike, so that the values of
 * the field are read once. All equality conditions come last.
 */
function mergeEqualities(items: readonly Predicate[]): readonly Predicate[] {
  const equalities = new Map<string, PredicateOfKind<'in'>[]>();
  const otherItems: Predicate[] = [];
  for (const item of items) {
    if (item.kind !== 'in') {
      otherItems.push(item);
      continue;
    }
    const key = JSON.stringify([item.field.path, item.field.type, item.ignoreCase]);
    const sameField = equalities.get(key);
    if (sameField) sameField.push(item);
    else equalities.set(key, [item]);
  }
  const mergedEqualities = [...equalities.values()].map((same) => {
    if (same.length === 1) return same[0]!;
    return freezePredicate({ ...same[0]!, values: same.flatMap(({ values }) => values) });
  });
  return [...otherItems, ...mergedEqualities];
}

import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { filterActions } from './filter-actions.js';
import { expectCurrentSection, markdownTable } from '../../generated-page.js';
import { column } from './dataset.js';
import { filterPredicate } from './naive-filter.js';
import { RefusedRequest } from './naive-values.js';
import { randomFilters } from './random-filter.js';
import { randomDataset } from './random-records.js';
import { Random } from './random.js';

test('docs/queries.md describes every filter action', () => {
  const rows = filterActions().map(({ name, types, description }) => {
    const key = name === '' ? '`FIELD`' : `\`FIELD__${name}\``;
    return [key, types.map((type) => `\`${type}\``).join(' '), description];
  });
  const table = [['Key', 'Types', 'Finds the records of which a value of the field'], ...rows];
  expectCurrentSection('docs/queries.md', 'actions', markdownTable(table));
});

test('docs/queries.md has an example of every filter action', () => {
  const text = readFileSync('docs/queries.md', 'utf8');
  const untestedActions = filterActions().filter(
    ({ name }) => name !== '' && !text.includes(`__${name}", `),
  );
  expect(
    untestedActions.map(({ name }) => `add a row for ${name} to the examples of filters`),
  ).toEqual([]);
});

test('examples.txt has an example of every filter action', () => {
  const text = readFileSync('test/engine/query/examples.txt', 'utf8');
  const advice = filterActions()
    .filter(({ name }) => name !== '' && !text.includes(`__${name}"`))
    .map(({ name }) => `add an example of ${name} to test/engine/query/examples.txt`);
  expect(advice).toEqual([]);
});

test('the naive filter evaluates every action', () => {
  const columns = [column('field', 'string')];
  const isUnknown = (name: string): boolean => {
    try {
      filterPredicate([[name === '' ? 'field' : `field__${name}`, 'x']], columns);
    } catch (error) {
      return error instanceof RefusedRequest && error.message === `no action ${name}`;
    }
    return false;
  };
  const advice = filterActions()
    .filter(({ name }) => isUnknown(name))
    .map(({ name }) => `add ${name} to \`valuePredicate\` in naive-filter.ts`);
  expect(isUnknown('bogus')).toBe(true);
  expect(advice).toEqual([]);
});

test('random filters contain every action', () => {
  const random = new Random(1);
  const unseenActions = new Set(
    filterActions().map(({ name }) => (name === '' ? '",' : `__${name}",`)),
  );
  for (let i = 0; i < 2_000 && unseenActions.size > 0; i++) {
    const text = JSON.stringify(randomFilters(random, randomDataset(random)), bigintAsString);
    for (const key of unseenActions) if (text.includes(key)) unseenActions.delete(key);
  }
  const advice = [...unseenActions].map((key) => `add ${key} to \`actionsOf\` in random-filter.ts`);
  expect(advice).toEqual([]);
});

function bigintAsString(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

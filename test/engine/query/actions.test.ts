import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { filterActions } from '../../../engine/query/request/actions.js';
import { expectPage } from '../../written-page.js';
import { randomFilters } from './random-filter.js';
import { randomMade } from './random-records.js';
import { Random } from './random.js';

const page = 'docs/queries.md';

test('docs/queries.md describes every filter action', () => {
  const rows = filterActions().map(({ name, types, description }) => {
    const key = name === '' ? '`FIELD`' : `\`FIELD__${name}\``;
    return [key, types.map((type) => `\`${type}\``).join(' '), description];
  });
  const table = [['Key', 'Types', 'Finds the records of which a value of the field'], ...rows];
  const text = readFileSync(page, 'utf8');
  const [before, , after] = text.split(/(?<=<!-- actions: .* -->\n)|(?=<!-- end of actions -->)/);
  expectPage(page, `${before}\n${aligned(table)}\n\n${after}`);
});

test('random filters contain every action', () => {
  const random = new Random(1);
  const left = new Set(filterActions().map(({ name }) => (name === '' ? '",' : `__${name}",`)));
  for (let i = 0; i < 2_000 && left.size > 0; i++) {
    const text = JSON.stringify(randomFilters(random, randomMade(random)), writable);
    for (const key of left) if (text.includes(key)) left.delete(key);
  }
  expect([...left]).toEqual([]);
});

function writable(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** A Markdown table as Prettier writes it. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  const [header, ...rest] = rows;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(header!), rule, ...rest.map(line)].join('\n');
}

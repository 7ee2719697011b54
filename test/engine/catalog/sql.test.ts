import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { identifier, isOneOf, joinSql, sql } from '../../../engine/catalog/sql.js';

test('binds every value and inserts only fragments of SQL', () => {
  const condition = sql`name = ${"x' OR '1'='1"}`;
  const statement = sql`SELECT * FROM vaults WHERE ${condition} AND id = ${3} LIMIT ${true}`;
  expect(statement.text).toBe('SELECT * FROM vaults WHERE name = ? AND id = ? LIMIT ?');
  expect(statement.values).toEqual(["x' OR '1'='1", 3, 1]);
});

test('binds an object that only looks like a fragment of SQL', () => {
  const forgedSql = { text: '1; DROP TABLE vaults', texts: ['1; DROP TABLE vaults'], values: [] };
  const statement = sql`SELECT ${forgedSql as unknown as string}`;
  expect(statement.text).toBe('SELECT ?');
});

test('joins fragments in order', () => {
  const joinedSql = joinSql([sql`a = ${1}`, sql`b = ${2}`], sql` AND `);
  expect([joinedSql.text, joinedSql.values]).toEqual(['a = ? AND b = ?', [1, 2]]);
  expect(isOneOf(sql`id`, [1, 2, 3]).text).toBe('id IN (?, ?, ?)');
  expect(isOneOf(sql`id`, []).text).toBe('1 = 0');
});

test('rejects identifiers that are not plain names', () => {
  expect(identifier('vaultId').text).toBe('vault_id');
  for (const name of ['', 'a b', 'a;', 'A', 'a"', 'a_b', '1']) {
    expect(() => identifier(name)).toThrow('not a valid table or column name');
  }
});

test('Q1: only database.ts passes text to SQLite, and it concatenates none', () => {
  const folder = 'engine/catalog';
  for (const file of readdirSync(folder)) {
    const source = readFileSync(`${folder}/${file}`, 'utf8');
    const mayOpen = file === 'database.ts';
    expect([file, source.includes("'node:sqlite'")]).toEqual([file, mayOpen]);
    expect([file, source.match(/\b(?:prepare|exec)\(\s*(?:`[^`]*\$\{|[^)]*\+)/g)]).toEqual([
      file,
      null,
    ]);
    // The text of a statement must come from a template directly after the tag `sql`, never from a call.
    expect([file, file === 'sql.ts' ? null : source.match(/\bsql\(/g)]).toEqual([file, null]);
    const mayBeConstant = file === 'sql.ts' || file === 'migrations.ts';
    expect([file, mayBeConstant || !/\bconstantSql\(/.test(source)]).toEqual([file, true]);
  }
});

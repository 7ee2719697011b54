import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { readPattern } from '../../../../engine/query/memory/match/pattern.js';
import { Random } from '../random.js';

const own = process.env['STRANDLAKE_SEED'];
const seeds = own === undefined ? [1, Date.now() % 1_000_000_007] : [Number(own)];

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  await connection.run(`CREATE TABLE every AS SELECT i, chr(i::INTEGER) AS s FROM
    (SELECT i FROM range(1, 1114112) AS t(i) WHERE i < 55296 OR i > 57343)`);
});
afterAll(() => connection.closeSync());

const letters = ['a', 'A', 'b', 'k', 'K', '\u212a', 's', 'S', 'ſ', 'i', 'İ', 'ı', 'É', 'é', 'ß', '1', '9', ' ', '_', '.', '\n', '\t', '-', '😀', '𐐀', '\u2028', '名', ']', '}', '{', '^', '$', '|']; // prettier-ignore
const pieces = [
  '.', '.*', 'a', 'K', 's', '\\.', '[a-z]', '[A-Z_]', '[^a]', '[\\w-]', '\\d', '\\D', '\\W', '\\w', '\\s', '\\S', '[\\D]', '[^\\W\\n]', 'É', '[É-\u212a]', '😀', '^', '$', '\\b', '\\B',
  '\\x{e9}', '\\x41', '\\n', '[^\\n]', '\\A', '\\z', '-', '_', '[-a]', '[a-]', '[^-]', '\\]', '\\}', '[\\]a]', '[.]', '[$^]', '[|]', '名', ' ', '[{}]', '[(]', '!', '"', '#', '%', '&', ',', '/', ':', '~',
]; // prettier-ignore
const quantifiers = ['', '', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '*?', '+?', '??', '{1,2}?', '{0}']; // prettier-ignore

function pattern(random: Random, depth: number): string {
  const parts = random.list(random.below(4) + (depth > 0 ? 1 : 0), () => {
    if (depth === 3 || random.chance(0.75)) return random.pick(pieces) + random.pick(quantifiers);
    const other = random.chance(0.5) ? `|${pattern(random, depth + 1)}` : '';
    return `${random.pick(['(', '(?:'])}${pattern(random, depth + 1)}${other})${random.pick(quantifiers)}`;
  });
  return parts.join('');
}

test.each(seeds)('a pattern that is read matches what it matches in SQL (STRANDLAKE_SEED=%i)', async (seed) => {
  const random = new Random(seed);
  const texts = random.list(400, () => random.list(random.below(6), () => random.pick(letters)).join(''));
  const values = texts.map((text, i) => `(${i}, '${text.replaceAll("'", "''")}')`).join(', ');
  await connection.run(`CREATE OR REPLACE TABLE texts AS SELECT * FROM (VALUES ${values}) AS t(i, s)`);
  const statement = await connection.prepare('SELECT i FROM texts WHERE regexp_full_match(s, $1) ORDER BY i');
  let [read, literals] = [0, 0];
  for (let i = 0; i < 600; i++) {
    const source = random.pick(['', '', '(?i)', '(?s)', '(?is)']) + pattern(random, 0);
    const known = readPattern(source);
    if (known === undefined) continue;
    statement.bindVarchar(1, source);
    const rows = (await statement.runAndReadAll()).getRows().map(([place]) => Number(place));
    const own = texts.flatMap((text, place) => (text.includes(known.literal) && known.matches(text) ? [place] : []));
    expect({ seed, source, found: own }).toEqual({ seed, source, found: rows });
    read += 1;
    literals += known.literal === '' ? 0 : 1;
  }
  expect(read).toBeGreaterThan(300);
  expect(literals).toBeGreaterThan(60);
}, 30_000); // prettier-ignore

test.each(['.', '\\w', '\\d', '\\s', '[a-\\x{e9}]', '(?i)k', '(?i)i', '(?i)[A-S]'])(
  '%s matches the same of all code points',
  async (source) => {
    const known = readPattern(source)!;
    const rows = await connection.runAndReadAll(`SELECT i FROM every WHERE regexp_full_match(s, '${source}') ORDER BY i`);
    const own: number[] = [];
    for (let code = 1; code < 0x110000; code++) {
      if ((code < 0xd800 || code > 0xdfff) && known.matches(String.fromCodePoint(code))) own.push(code);
    }
    expect(own.join()).toBe(rows.getRows().map(([code]) => Number(code)).join());
  },
); // prettier-ignore

test.each([
  ['rs123[0-4]*9[0-9]*', 'rs123'],
  ['a(bc)+d', 'bc'],
  ['(?:ab|cd)xyz', 'xyz'],
  ['ab?cd', 'cd'],
  ['^abc$', 'abc'],
  ['(?i)abc-12', '-12'],
  ['a{2,3}', 'a'],
  ['(ab)c', 'abc'],
  ['a|b', ''],
  ['.*', ''],
  ['x*', ''],
  ['\\.\\x41b', '.Ab'],
])('all that %s matches holds "%s"', (source, literal) => {
  expect(readPattern(source)?.literal).toBe(literal);
});

test.each(['\\pL', '[[:alpha:]]', '(?P<x>a)', 'a(?i)b', '(?i)é', '\\Qa', '\\C', '(a)\\1', 'a**', '(a', 'a)', '[a', 'a{1001}', '((a{100}){100}){2}', '\ud800', '(?U)a', 'a{,2}', '[]a]', '\\07', '^*'])(
  '%s is left to the SQL engine',
  (source) => {
    expect(readPattern(source)).toBeUndefined();
  },
); // prettier-ignore

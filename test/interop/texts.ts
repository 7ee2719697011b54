import assert from 'node:assert/strict';
import type { ParamType } from '../../engine/query/sql/dialect/params.js';
import type { QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Dialect } from '../../engine/query/sql/dialect/dialect.js';
import type { Scalar } from '../../engine/query/predicate/predicate.js';
import { Random } from '../engine/query/random.js';
import type { InteropFixtures } from './tables.js';

/*
 * Compares how the two dialects treat single values: all characters, random numbers and random times. The allowed differences are
 * those of docs/decisions/0016-two-dialects.md.
 */

/** Expects that every character has the same JSON text in both engines. */
export async function compareJson(tables: InteropFixtures): Promise<void> {
  for (const part of splitIntoBatches(allCharacters()))
    await compareExpression(tables, 'string', part, (dialect, value) =>
      dialect.json(value, 'string'),
    );
}

/** Expects that every character but those with new case mappings folds alike in both engines, alone (but U+FEFF) and before a sigma. */
export async function compareFolding(tables: InteropFixtures): Promise<void> {
  const fold = (dialect: Dialect, value: string): string => dialect.fold(value);
  const oldCharacters = allCharacters().filter(
    (character) => !hasNewCaseMapping(character.codePointAt(0)!),
  );
  for (const part of splitIntoBatches(oldCharacters)) {
    await compareExpression(tables, 'string', part.filter((character) => character !== byteOrderMark), fold); // prettier-ignore
    await compareExpression(tables, 'string', part.map((character) => `a${character}Σ`), fold); // prettier-ignore
  }
}

/**
 * Expects that both engines write JSON texts of doubles of every size that are read back as the same doubles, and JSON texts of 32-bit
 * floats that denote the same float in both engines.
 */
export async function compareNumbers(tables: InteropFixtures, seed: number): Promise<void> {
  const random = new Random(seed);
  const numbers = random.list(
    4_000,
    () => (random.next() - 0.5) * 10 ** (random.integerBelow(50) - 25),
  );
  numbers.push(0, 1e15, 1e16, 12345678901234567000, 1e20, 1e21, 1e22, -1e17, 100, 0.1);
  numbers.push(1e-4, 9.9999e-5, 1e-5, -1.5e-5, 1e-6, 1e-7, Number.MAX_VALUE, Number.MIN_VALUE);
  const bits = new DataView(new ArrayBuffer(8));
  for (let i = 0; i < 4_000; i += 1) {
    bits.setBigUint64(
      0,
      (BigInt(random.integerBelow(2 ** 32)) << 32n) | BigInt(random.integerBelow(2 ** 32)),
    );
    numbers.push(bits.getFloat64(0));
  }
  const finiteNumbers = numbers.filter(Number.isFinite);
  const floats = finiteNumbers
    .map(Math.fround)
    .filter((one) => Number.isFinite(one) && !Object.is(one, -0));
  await compareExpression(tables, 'double', finiteNumbers, (dialect, value) =>
    dialect.json(value, 'double'),
  );
  await compareExpression(tables, 'float', floats, (dialect, value) =>
    dialect.json(value, 'float'),
  );
}

/** Expects that times from the year 1 to 9999 have the same JSON text in both engines, and begin the same units. */
export async function compareDates(tables: InteropFixtures, seed: number): Promise<void> {
  const random = new Random(seed);
  const [firstMicros, lastMicros] = [-62_135_596_800_000_000, 253_402_300_799_000_000];
  const micros = [
    0n,
    -1n,
    1n,
    1_000_000n,
    86_400_000_000n,
    -86_400_000_000n,
    BigInt(firstMicros),
    BigInt(lastMicros),
  ];
  for (let i = 0; i < 1_000; i += 1) {
    const moment = BigInt(Math.floor(firstMicros + random.next() * (lastMicros - firstMicros)));
    const wholeUnit = random.pick([1n, 1_000n, 1_000_000n, 86_400_000_000n]);
    micros.push(moment - (moment % wholeUnit));
  }
  const units = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'] as const;
  await compareExpression(tables, 'date', micros, (dialect, value) => dialect.json(value, 'date'));
  for (const unit of units)
    await compareExpression(tables, 'date', micros, (dialect, value) => dialect.json(dialect.truncate(value, unit), 'date')); // prettier-ignore
}

const byteOrderMark = '\ufeff';

/** Whether a letter got its lower case in Unicode 16 or 17, which DuckDB's tables do not include. */
function hasNewCaseMapping(code: number): boolean {
  const singleCodes = [0x1c89, 0xa7cb, 0xa7cc, 0xa7ce, 0xa7d2, 0xa7d4, 0xa7da, 0xa7dc];
  const isGaray = code >= 0x10d50 && code <= 0x10d65;
  const isBeriaErfe = code >= 0x16ea0 && code <= 0x16eb8;
  return singleCodes.includes(code) || isGaray || isBeriaErfe;
}

/** Returns all characters except surrogates and NUL, which no stored text contains. */
function allCharacters(): readonly string[] {
  const characters: string[] = [];
  for (let code = 1; code < 0x11_0000; code += 1)
    if (code < 0xd800 || code > 0xdfff) characters.push(String.fromCodePoint(code));
  return characters;
}

function splitIntoBatches<T>(list: readonly T[]): readonly (readonly T[])[] {
  const size = 300_000;
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size)); // prettier-ignore
}

async function compareExpression(
  { duckdb, clickhouse }: InteropFixtures,
  type: ParamType,
  values: readonly Scalar[],
  expression: (dialect: Dialect, value: string) => string,
): Promise<void> {
  const readTexts = async ({ engine }: { engine: QueryEngine }): Promise<readonly unknown[]> => {
    const dialect = engine.sql.engine.language([]);
    const list = dialect.spreadAll(dialect.bound(1, type, true));
    const sql = `SELECT ${expression(dialect, 'v')} FROM (SELECT ${list} AS v) AS listed`;
    return (await engine.sql.engine.run(sql, [{ type, value: values }])).map(([text]) => text);
  };
  const [duckdbTexts, clickhouseTexts] = [await readTexts(duckdb), await readTexts(clickhouse)];
  const differences = values.flatMap((value, i) =>
    (type === 'double'
      ? denotesNumber(duckdbTexts[i], value) && denotesNumber(clickhouseTexts[i], value)
      : duckdbTexts[i] === clickhouseTexts[i]) ||
    (type === 'float' && isSameFloat32(duckdbTexts[i], clickhouseTexts[i]))
      ? []
      : [[String(value), duckdbTexts[i], clickhouseTexts[i]]],
  );
  assert.deepEqual([differences.length, differences.slice(0, 5)], [0, []], type);
}

/** Whether two texts denote the same 32-bit float. */
function isSameFloat32(one: unknown, other: unknown): boolean {
  return Math.fround(Number(one)) === Math.fround(Number(other));
}

/** Whether a text denotes exactly the given double. */
function denotesNumber(text: unknown, value: Scalar): boolean {
  return typeof text === 'string' && Object.is(Number(text), value);
}

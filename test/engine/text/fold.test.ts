import { expect, test } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { caseFoldCode } from '../../../engine/text/fold.js';
import { byTier } from '../../tier.js';
import { isSeparator, separators } from '../../../engine/text/text-tokenizer.js';

/** Beyond the second plane, no letter has cases and nearly all letters are ideographs, so only the slow tier tests these codes. */
const endCodePoint = byTier(0x20000, 0x110000);

const hexEscape = (code: number): string => `\\x{${code.toString(16)}}`;

test('letters fold, and words end, where they do for the regular expressions of the SQL engine, code point by code point', async () => {
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  const selectCodes = async (sql: string): Promise<number[]> =>
    (await connection.runAndReadAll(sql)).getRows().map(([code]) => Number(code));
  await connection.run(`CREATE TABLE every AS SELECT i, chr(i::INTEGER) AS s FROM range(1, ${endCodePoint}) AS t(i)
    WHERE i NOT BETWEEN 55296 AND 57343`);
  const sqlSeparatorCodes = await selectCodes(
    `SELECT i FROM every WHERE regexp_full_match(s, '[${separators}]') ORDER BY i`,
  );
  const groups = new Map<number, number[]>();
  const separatorCodes: number[] = [];
  for (let code = 1; code < endCodePoint; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    if (isSeparator(code)) separatorCodes.push(code);
    const fold = caseFoldCode(code);
    // Characters that Strandlake does not fold and that have no cases are in no group. The patterns below must not match them.
    const isCased =
      fold !== code || /\p{Cased}|\p{CWCF}|\p{CWCM}/u.test(String.fromCodePoint(code));
    if (isCased || groups.has(fold)) groups.set(fold, [...(groups.get(fold) ?? []), code]);
  }
  expect(sqlSeparatorCodes).toEqual(separatorCodes);

  // For each bit, a pattern with the letters of all groups whose number has this bit must match exactly these letters: numbers of different
  // groups differ in a bit, so letters of different groups never match each other.
  const numberedGroups = [...groups.values()];
  for (let bit = 0; 1 << bit <= numberedGroups.length; bit++) {
    // Groups are numbered from 1, so that every number has a bit that is set.
    const chosenCodes = numberedGroups.filter((_, i) => ((i + 1) >> bit) & 1).flat().sort((a, b) => a - b); // prettier-ignore
    const pattern = `(?i:[${chosenCodes.map(hexEscape).join('')}])`;
    expect(await selectCodes(`SELECT i FROM every WHERE regexp_full_match(s, '${pattern}') ORDER BY i`)).toEqual(chosenCodes); // prettier-ignore
  }
  // The letters of a group must match each other.
  const pairs = numberedGroups.flatMap((group) =>
    group.map((code) => `('${hexEscape(group[0]!)}', ${code})`),
  );
  const codesApart =
    await selectCodes(`SELECT code FROM (VALUES ${pairs.join(', ')}) AS t(first, code)
    WHERE NOT regexp_full_match(chr(code), '(?i:' || first || ')')`);
  connection.closeSync();
  expect(codesApart).toEqual([]);
});

import { expect, test } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { lowerCase } from '../../../engine/text/fold.js';
import { byTier } from '../../tier.js';

/** Beyond the second plane, no letter has cases, so only the slow tier tests these codes. */
const endCodePoint = byTier(0x20000, 0x110000);

test('lower case is that of the SQL engine: every code point, alone and among others', async () => {
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  // The characters are passed as numbers, because the database driver drops a byte order mark.
  const rows = await connection.runAndReadAll(`SELECT i, unicode(l), length(l) FROM
    (SELECT i, lower(chr(i::INTEGER)) AS l FROM range(1, ${endCodePoint}) AS t(i) WHERE i NOT BETWEEN 55296 AND 57343)`);
  const wrongRows = rows.getRows().filter(([code, lower, length]) => {
    const text = lowerCase(String.fromCodePoint(Number(code)));
    return text !== String.fromCodePoint(Number(lower)) || Number(length) !== 1;
  });
  expect(wrongRows).toEqual([]);
  expect(rows.getRows()).toHaveLength(endCodePoint - 1 - 0x800);
  const texts = ['ΑΣ Σ', 'İstanbul', 'STRASSE ẞ', 'a\u0301B\u0301', '😀𐐀Z', 'e\u0000É', 'ǅ Ǆ', '\u212a1'];
  for (const text of texts) {
    const statement = await connection.prepare('SELECT lower($1)');
    statement.bindVarchar(1, text);
    expect(lowerCase(text)).toBe((await statement.runAndReadAll()).getRows()[0]![0]);
  }
  connection.closeSync();
}); // prettier-ignore

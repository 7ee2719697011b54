import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../../random.js';
import { castToColumns, parseRecordsByFastXmlParser } from './oracle.js';
import { importSource } from '../import-source.js';

const fixtureFolder = 'test/fixtures/xml';
/** The numbers of records in each file at depth 0 (always one) and, from the independent counts in SOURCES.md, at the depths 1 and 2. */
const recordCountCases = [
  ...readFileSync(`${fixtureFolder}/SOURCES.md`, 'utf8').matchAll(/^\| (\S+) \| (\d+) \/ (\d+)/gm),
].map(([, file, one, two]) => ({ file: file!, counts: [1, Number(one), Number(two)] }));

function readFixtureBytes(file: string): Uint8Array {
  const bytes = readFileSync(`${fixtureFolder}/${file}`);
  return file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

test('the folder has files', () => {
  expect(recordCountCases.length).toBe(14);
});

describe.each(recordCountCases)('$file', ({ file, counts }) => {
  const bytes = readFixtureBytes(file);
  const isLatin1 = file.includes('latin1');
  const text = Buffer.from(bytes).toString(isLatin1 ? 'latin1' : 'utf8');
  // Depth 0 would make the largest file a single record with more columns than a record may have.
  const depths = file === 'clinvar_combined.xml.gz' ? [1, 2] : [0, 1, 2];

  test.each(depths)(
    'at depth %d has the records of the independent count and of fast-xml-parser',
    async (depth) => {
      const importedFile = await importSource(bytes, 'xml', { params: { item_depth: depth } });
      expect(importedFile.error).toBeNull();
      expect(importedFile.rows).toHaveLength(counts[depth]!);
      const expectedRecords = castToColumns(
        parseRecordsByFastXmlParser(text, depth),
        importedFile.columns,
      );
      expect(importedFile.rows).toEqual(expectedRecords);
    },
  );

  test('gives the same records for any chunk size, compression and order of the chunks', async () => {
    const next = seededRandom(bytes.length);
    const params = { item_depth: file.includes('uniprot') ? 2 : 1 };
    const wholeRead = await importSource(bytes, 'xml', { params });
    for (const [layer, targetBytes] of [
      ['plain', 100],
      ['plain', 7_001],
      ['gzip', 3_000],
      ['bgzf', 20_011],
    ] as const) {
      const cutRead = await importSource(bytes, 'xml', {
        params,
        layer,
        targetBytes,
        shuffle: next,
      });
      expect({ ...cutRead, chunks: 0, rewritten: 0 }).toEqual({
        ...wholeRead,
        chunks: 0,
        rewritten: 0,
      });
      if (targetBytes === 100)
        expect(cutRead.chunks).toBeLessThanOrEqual(wholeRead.rows.length + 1);
    }
  });
});

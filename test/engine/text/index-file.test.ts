import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { parquetReadObjects } from 'hyparquet';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { SegmentFile } from '../../../engine/store/segment-file.js';
import { indexedName } from '../../../engine/text/index-writer.js';
import { ColumnReader } from '../../../engine/text/column-reader.js';
import { foldTerm } from '../../../engine/text/fold.js';
import { ColumnMatcher } from '../../../engine/text/column-matcher.js';
import { tokenize } from '../../../engine/text/text-tokenizer.js';
import { seededRandom } from '../../random.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from '../query/dataset.js';
import { pickRandom, randomText } from './random-strings.js';
import { seed } from '../../seed.js';

let engineFixture: EngineFixture;
beforeAll(async () => {
  engineFixture = await openEngineFixture(0);
});
afterAll(() => engineFixture.close());

function columnMatcherOf({ snapshot }: TestDataset): ColumnMatcher {
  const index = new SegmentFile({ path: snapshot.files[1]! }).textIndex!;
  const location = index.columns.get(indexedName(['t']))!;
  return new ColumnMatcher(new ColumnReader(index, location, new Map()));
}

describe(`the index of a segment (STRANDLAKE_SEED=${seed})`, () => {
  test.each([
    ['texts of their own', 0],
    ['shared texts', 30],
  ])('tells of every word where it is and how often: %s', async (_, sharedCount) => {
    const nextRandom = seededRandom(seed + sharedCount);
    const someTexts = Array.from({ length: sharedCount }, () => randomText(nextRandom));
    const texts = Array.from({ length: sharedCount ? 1500 : 300 }, () =>
      sharedCount ? pickRandom(nextRandom, someTexts) : randomText(nextRandom),
    );
    const dataset = await engineFixture.newDataset(
      [column('t', 'text')],
      [texts.map((t) => ({ t }))],
    );
    const matcher = columnMatcherOf(dataset);
    const { column: reader } = matcher;
    const foldedTexts = texts.map((text) =>
      tokenize(text ?? '').map((word) => Buffer.from(foldTerm(word)).toString()),
    );
    const { records, isShared, words: total } = reader.summary;
    expect({ records, isShared, total }).toEqual({
      records: texts.filter((text) => text !== null).length,
      isShared: sharedCount > 0,
      total: foldedTexts.flat().length,
    });
    const { lengths } = reader.texts();
    for (const word of [...new Set(foldedTexts.flat()), 'absent', 'zzz', '']) {
      const phrase = { kind: 'phrase', terms: [Buffer.from(word)] } as const;
      const expectedRows = foldedTexts.flatMap((text, row) => (text.includes(word) ? [row] : []));
      const phraseHits = matcher.hits(phrase);
      expect([word, ...reader.rowsOf(phraseHits.texts)]).toEqual([word, ...expectedRows]);
      expect(matcher.countRowsWithPhrase(phrase)).toBe(expectedRows.length);
      for (const [i, text] of phraseHits.texts.entries()) {
        const [row] = reader.rowsOf(Uint32Array.of(text));
        expect(phraseHits.times[i]).toBe(
          foldedTexts[row!]!.filter((other) => other === word).length,
        );
        expect(lengths[text]).toBe(foldedTexts[row!]!.length);
      }
    }
  });

  test('does not compare long terms with a long pattern for seconds', async () => {
    const rows = [{ t: 'a'.repeat(1_000_000) }, { t: 'aab' }];
    const matcher = columnMatcherOf(await engineFixture.newDataset([column('t', 'text')], [rows]));
    const endsWith = (text: string) =>
      ({ terms: [], pattern: ['any', Buffer.from(text)] }) as const;
    expect(matcher.hasTooManyTerms(endsWith(`${'a'.repeat(2_000)}b`))).toBe(true);
    expect(matcher.hasTooManyTerms(endsWith('ab'))).toBe(false);
    expect([...matcher.hits(endsWith('ab')).texts]).toEqual([1]);
  });

  test.each([
    ['lists of texts of their own', 0],
    ['lists of shared texts', 30],
  ])('tells of every word in which rows it is and how often: %s', async (_, sharedCount) => {
    const nextRandom = seededRandom(seed + sharedCount + 1);
    const someTexts = Array.from({ length: sharedCount }, () => randomText(nextRandom));
    const pickText = () =>
      sharedCount ? pickRandom(nextRandom, someTexts) : randomText(nextRandom);
    const belowLimit = (limit: number): number => Math.floor(nextRandom() * limit);
    const lists = Array.from({ length: sharedCount ? 700 : 200 }, () =>
      belowLimit(6) === 0 ? null : Array.from({ length: belowLimit(4) }, pickText),
    );
    const dataset = await engineFixture.newDataset(
      [listColumn(column('t', 'text'))],
      [lists.map((t) => ({ t }))],
    );
    const matcher = columnMatcherOf(dataset);
    const { column: reader } = matcher;
    const foldedLists = lists.map((list) =>
      (list ?? []).map((value) =>
        tokenize(value ?? '').map((word) => Buffer.from(foldTerm(word)).toString()),
      ),
    );
    const { records, isShared, isList, words: total } = reader.summary;
    expect({ records, isShared, isList, total }).toEqual({
      records: lists.filter((list) => list?.some((value) => value !== null)).length,
      isShared: sharedCount > 0,
      isList: true,
      total: foldedLists.flat(2).length,
    });
    const { lengths } = reader.texts();
    expect([...lengths]).toEqual(foldedLists.map((values) => values.flat().length));
    const words = [...new Set(foldedLists.flat(2)), 'absent', 'zzz', ''];
    const rowsWith = (holds: (value: readonly string[]) => boolean): readonly number[] =>
      foldedLists.flatMap((values, row) => (values.some(holds) ? [row] : []));
    for (const [i, word] of words.entries()) {
      const term = Buffer.from(word);
      const expectedRows = rowsWith((value) => value.includes(word));
      const termHits = matcher.hits({ terms: [term] });
      expect([word, ...termHits.texts]).toEqual([word, ...expectedRows]);
      expect(matcher.countRowsWithPhrase({ terms: [term] })).toBe(expectedRows.length);
      const occurrenceLists = expectedRows.map((row) =>
        foldedLists[row]!.flat().filter((other) => other === word),
      );
      expect([...termHits.times]).toEqual(occurrenceLists.map(({ length }) => length));
      // Both words must be in one value, and those of a phrase next to each other.
      const otherWord = words[(i * 7) % words.length]!;
      const terms = [term, Buffer.from(otherWord)];
      expect([...matcher.matchingTexts({ kind: 'terms', terms })]).toEqual(
        rowsWith((value) => value.includes(word) && value.includes(otherWord)),
      );
      const isPhrase = (value: readonly string[]): boolean =>
        value.some((first, at) => first === word && value[at + 1] === otherWord);
      expect([...matcher.matchingTexts({ kind: 'phrase', terms })]).toEqual(rowsWith(isPhrase));
      const isCrossed = foldedLists.some((values) => {
        const filledLists = values.filter(({ length }) => length > 0);
        return filledLists.some(
          (value, at) => value.at(-1) === word && filledLists[at + 1]?.[0] === otherWord,
        );
      });
      expect([word, otherWord, matcher.mayCrossValues({ terms })]).toEqual([
        word,
        otherWord,
        isCrossed,
      ]);
    }
  });

  test('has the lists that fit into a tenth of the file, the smallest first, and all texts that are no lists', async () => {
    const nextRandom = seededRandom(seed + 2);
    const randomWord = (): string => Math.floor(nextRandom() * 26 ** 6).toString(36);
    const randomWords = (): string => Array.from({ length: 6 }, randomWord).join(' ');
    const rows = Array.from({ length: 15_000 }, (_, i) => ({
      large: [randomWords()],
      small: [`breast ${i % 5}`, 'cancer'],
      t: randomWords(),
    }));
    const columns = [listColumn(column('large', 'text')), listColumn(column('small', 'text')), column('t', 'text')]; // prettier-ignore
    const { snapshot, fields } = await engineFixture.newDataset(columns, [rows]);
    const path = snapshot.files[1]!;
    const index = new SegmentFile({ path }).textIndex!;
    expect([...index.columns.keys()]).toEqual(['small', 't'].map((name) => indexedName([name])));
    const { sizes } = index.columns.get(indexedName(['small']))!.summary;
    const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(readFileSync(path).length / 10);
    const countMatches = async (
      field: 'large' | 'small' | 't',
      wanted: string,
    ): Promise<number> => {
      const request = parseQuery({ filters: [[`${field}__contains`, wanted]] }, fields);
      return (await runQuery(engineFixture.engine, snapshot, fields, request)).total;
    };
    const [wanted = ''] = rows[12_000]!.large[0]!.split(' ');
    const matchingRows = rows.filter(({ large: [value] }) => value!.split(' ').includes(wanted));
    expect(await countMatches('large', wanted)).toBe(matchingRows.length);
    expect(await countMatches('small', 'BREAST 3')).toBe(3_000);
    expect(await countMatches('t', rows[7]!.t)).toBe(1);
  });

  test('is made for texts alone, and no reader of Parquet sees it', async () => {
    const stringDataset = await engineFixture.newDataset(
      [column('t', 'string')],
      [[{ t: 'breast cancer' }]],
    );
    const path = stringDataset.snapshot.files[1]!;
    expect(new SegmentFile({ path }).textIndex).toBeUndefined();
    const textDataset = await engineFixture.newDataset(
      [column('t', 'text')],
      [[{ t: 'breast cancer' }]],
    );
    const bytes = readFileSync(textDataset.snapshot.files[1]!);
    expect(bytes.length).toBeGreaterThan(readFileSync(path).length);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    expect(await parquetReadObjects({ file, columns: ['t'] })).toEqual([{ t: 'breast cancer' }]);
  });

  test.each([
    ['of a text', column('t', 'text'), (text: string) => text],
    ['of a list', listColumn(column('t', 'text')), (text: string) => [text, 'breast', text]],
  ])(
    'that is not what was written, is told and never answers: %s',
    async (_, textColumn, valueOf) => {
      const rows = Array.from({ length: 50 }, (__, i) => ({ t: valueOf(`word${i} cancer`) }));
      const wholeDataset = await engineFixture.newDataset([textColumn], [rows]);
      const path = wholeDataset.snapshot.files[1]!;
      const bytes = readFileSync(path);
      const footerStart = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
      const summaryStart = footerStart - 8 - bytes.readUInt32LE(footerStart - 8);
      expect(bytes.subarray(footerStart - 4, footerStart).toString()).toBe('STX1');
      const request = parseQuery({ filters: [['t', 'cancer']] }, wholeDataset.fields);
      for (let at = summaryStart - 300; at < footerStart; at += 7) {
        const changedBytes = Buffer.from(bytes);
        changedBytes[at]! ^= 0xff;
        const files = [wholeDataset.snapshot.files[0]!, path.replace('.parquet', `-${at}.parquet`)];
        writeFileSync(files[1]!, changedBytes);
        // Block checksums (block-checksums.ts) detect every change, so they are removed to test what a change does that they miss.
        const segments = wholeDataset.snapshot.segments.map((segment) => ({
          ...segment,
          blockChecksums: undefined,
        }));
        const changedSnapshot = { ...wholeDataset.snapshot, datasetId: at, files, segments };
        const pendingQuery = runQuery(
          engineFixture.engine,
          changedSnapshot,
          wholeDataset.fields,
          request,
        );
        const outcome = await pendingQuery.then(
          ({ total }) => total,
          (error: { code?: string }) => error.code ?? String(error),
        );
        expect(
          typeof outcome === 'number' || outcome === 'damaged' ? '' : `${at}: ${outcome}`,
        ).toBe('');
      }
    },
  );
});

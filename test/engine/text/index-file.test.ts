import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { parquetReadObjects } from 'hyparquet';
import { parseQuery } from '../../../engine/query/request/request.js';
import { runQuery } from '../../../engine/query/plan/query.js';
import { SegmentFile } from '../../../engine/query/memory/segment-file.js';
import { indexedName } from '../../../engine/text/index-writer.js';
import { ColumnReader } from '../../../engine/text/column-reader.js';
import { foldTerm } from '../../../engine/text/fold.js';
import { ColumnMatcher } from '../../../engine/text/column-matcher.js';
import { tokenize } from '../../../engine/text/tokenizer.js';
import { random } from '../../random.js';
import { column, listOf, openBench, type Bench, type Dataset } from '../query/dataset.js';
import { pick, randomText } from './random-strings.js';
import { seed } from '../../seed.js';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench(0);
});
afterAll(() => bench.close());

function matcherOf({ snapshot }: Dataset): ColumnMatcher {
  const index = new SegmentFile({ path: snapshot.files[1]! }).textIndex!;
  const location = index.columns.get(indexedName(['t']))!;
  return new ColumnMatcher(new ColumnReader(index, location, new Map()));
}

describe(`the index of a segment (STRANDLAKE_SEED=${seed})`, () => {
  test.each([
    ['texts of their own', 0],
    ['shared texts', 30],
  ])('tells of every word where it is and how often: %s', async (_, shared) => {
    const one = random(seed + shared);
    const some = Array.from({ length: shared }, () => randomText(one));
    const texts = Array.from({ length: shared ? 1500 : 300 }, () => (shared ? pick(one, some) : randomText(one))); // prettier-ignore
    const dataset = await bench.dataset([column('t', 'text')], [texts.map((t) => ({ t }))]);
    const matcher = matcherOf(dataset);
    const { column: reader } = matcher;
    const folded = texts.map((text) =>
      tokenize(text ?? '').map((word) => Buffer.from(foldTerm(word)).toString()),
    );
    const { records, isShared, words: total } = reader.summary;
    expect({ records, isShared, total }).toEqual({
      records: texts.filter((text) => text !== null).length,
      isShared: shared > 0,
      total: folded.flat().length,
    });
    const { lengths } = reader.texts();
    for (const word of [...new Set(folded.flat()), 'absent', 'zzz', '']) {
      const phrase = { kind: 'phrase', terms: [Buffer.from(word)] } as const;
      const wanted = folded.flatMap((text, row) => (text.includes(word) ? [row] : []));
      const hits = matcher.hits(phrase);
      expect([word, ...reader.rowsOf(hits.texts)]).toEqual([word, ...wanted]);
      expect(matcher.rowsWith(phrase)).toBe(wanted.length);
      for (const [i, text] of hits.texts.entries()) {
        const [row] = reader.rowsOf(Uint32Array.of(text));
        expect(hits.times[i]).toBe(folded[row!]!.filter((other) => other === word).length);
        expect(lengths[text]).toBe(folded[row!]!.length);
      }
    }
  });

  test.each([
    ['lists of texts of their own', 0],
    ['lists of shared texts', 30],
  ])('tells of every word in which rows it is and how often: %s', async (_, shared) => {
    const one = random(seed + shared + 1);
    const some = Array.from({ length: shared }, () => randomText(one));
    const text = () => (shared ? pick(one, some) : randomText(one));
    const below = (limit: number): number => Math.floor(one() * limit);
    const lists = Array.from({ length: shared ? 700 : 200 }, () =>
      below(6) === 0 ? null : Array.from({ length: below(4) }, text),
    );
    const dataset = await bench.dataset([listOf(column('t', 'text'))], [lists.map((t) => ({ t }))]);
    const matcher = matcherOf(dataset);
    const { column: reader } = matcher;
    const folded = lists.map((list) =>
      (list ?? []).map((value) =>
        tokenize(value ?? '').map((word) => Buffer.from(foldTerm(word)).toString()),
      ),
    );
    const { records, isShared, isList, words: total } = reader.summary;
    expect({ records, isShared, isList, total }).toEqual({
      records: lists.filter((list) => list?.some((value) => value !== null)).length,
      isShared: shared > 0,
      isList: true,
      total: folded.flat(2).length,
    });
    const { lengths } = reader.texts();
    expect([...lengths]).toEqual(folded.map((values) => values.flat().length));
    const words = [...new Set(folded.flat(2)), 'absent', 'zzz', ''];
    const rowsWith = (holds: (value: readonly string[]) => boolean): readonly number[] =>
      folded.flatMap((values, row) => (values.some(holds) ? [row] : []));
    for (const [i, word] of words.entries()) {
      const term = Buffer.from(word);
      const wanted = rowsWith((value) => value.includes(word));
      const hits = matcher.hits({ terms: [term] });
      expect([word, ...hits.texts]).toEqual([word, ...wanted]);
      expect(matcher.rowsWith({ terms: [term] })).toBe(wanted.length);
      const times = wanted.map((row) => folded[row]!.flat().filter((other) => other === word));
      expect([...hits.times]).toEqual(times.map(({ length }) => length));
      // Two words have to be in one value.
      const other = words[(i * 7) % words.length]!;
      const terms = [term, Buffer.from(other)];
      expect([...matcher.texts({ kind: 'terms', terms })]).toEqual(
        rowsWith((value) => value.includes(word) && value.includes(other)),
      );
      const isPhrase = (value: readonly string[]): boolean =>
        value.some((first, at) => first === word && value[at + 1] === other);
      expect([...matcher.texts({ kind: 'phrase', terms })]).toEqual(rowsWith(isPhrase));
      const isCrossed = folded.some((values) => {
        const filled = values.filter(({ length }) => length > 0);
        return filled.some((value, at) => value.at(-1) === word && filled[at + 1]?.[0] === other);
      });
      expect([word, other, matcher.mayCrossValues({ terms })]).toEqual([word, other, isCrossed]);
    }
  });

  test('has the lists that fit into a tenth of the file, the smallest first, and all texts that are no lists', async () => {
    const one = random(seed + 2);
    const word = (): string => Math.floor(one() * 26 ** 6).toString(36);
    const text = (): string => Array.from({ length: 6 }, word).join(' ');
    const rows = Array.from({ length: 30_000 }, (_, i) => ({
      large: [text()],
      small: [`breast ${i % 5}`, 'cancer'],
      t: text(),
    }));
    const columns = [listOf(column('large', 'text')), listOf(column('small', 'text')), column('t', 'text')]; // prettier-ignore
    const { snapshot, fields } = await bench.dataset(columns, [rows]);
    const path = snapshot.files[1]!;
    const index = new SegmentFile({ path }).textIndex!;
    expect([...index.columns.keys()]).toEqual(['small', 't'].map((name) => indexedName([name])));
    const { sizes } = index.columns.get(indexedName(['small']))!.summary;
    const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(readFileSync(path).length / 10);
    const total = async (field: 'large' | 'small' | 't', wanted: string): Promise<number> => {
      const request = parseQuery({ filters: [[`${field}__contains`, wanted]] }, fields);
      return (await runQuery(bench.engine, snapshot, fields, request)).total;
    };
    const [wanted = ''] = rows[20_000]!.large[0]!.split(' ');
    const having = rows.filter(({ large: [value] }) => value!.split(' ').includes(wanted));
    expect(await total('large', wanted)).toBe(having.length);
    expect(await total('small', 'BREAST 3')).toBe(6_000);
    expect(await total('t', rows[7]!.t)).toBe(1);
  });

  test('is made for texts alone, and no reader of Parquet sees it', async () => {
    const none = await bench.dataset([column('t', 'string')], [[{ t: 'breast cancer' }]]);
    const path = none.snapshot.files[1]!;
    expect(new SegmentFile({ path }).textIndex).toBeUndefined();
    const some = await bench.dataset([column('t', 'text')], [[{ t: 'breast cancer' }]]);
    const bytes = readFileSync(some.snapshot.files[1]!);
    expect(bytes.length).toBeGreaterThan(readFileSync(path).length);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    expect(await parquetReadObjects({ file, columns: ['t'] })).toEqual([{ t: 'breast cancer' }]);
  });

  test.each([
    ['of a text', column('t', 'text'), (text: string) => text],
    ['of a list', listOf(column('t', 'text')), (text: string) => [text, 'breast', text]],
  ])('that is not what was written, is told and never answers: %s', async (_, of, valueOf) => {
    const rows = Array.from({ length: 50 }, (__, i) => ({ t: valueOf(`word${i} cancer`) }));
    const whole = await bench.dataset([of], [rows]);
    const path = whole.snapshot.files[1]!;
    const bytes = readFileSync(path);
    const footer = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
    const summary = footer - 8 - bytes.readUInt32LE(footer - 8);
    expect(bytes.subarray(footer - 4, footer).toString()).toBe('STX1');
    const request = parseQuery({ filters: [['t', 'cancer']] }, whole.fields);
    for (let at = summary - 300; at < footer; at += 7) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 0xff;
      const files = [whole.snapshot.files[0]!, path.replace('.parquet', `-${at}.parquet`)];
      writeFileSync(files[1]!, changed);
      // The checksums find every change (block-checksums.ts); this is what happens to one that gets past them.
      const segments = whole.snapshot.segments.map((segment) => ({
        ...segment,
        blockChecksums: undefined,
      }));
      const changedSnapshot = { ...whole.snapshot, datasetId: at, files, segments };
      const asked = runQuery(bench.engine, changedSnapshot, whole.fields, request);
      const outcome = await asked.then(
        ({ total }) => total,
        (error: { code?: string }) => error.code ?? String(error),
      );
      expect(typeof outcome === 'number' || outcome === 'damaged' ? '' : `${at}: ${outcome}`).toBe(
        '',
      );
    }
  });
});

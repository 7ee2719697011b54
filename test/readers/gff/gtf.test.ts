import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../engine/core/types.js';
import { readerForFile } from '../../../readers/index.js';
import { seededRandom } from '../../random.js';
import { lenientParams } from '../import-pieces.js';
import { importSource, importErrorMessage, withoutCoordinates } from '../import-source.js';
import { describeColumnTypes } from '../rows.js';
import { seed } from '../../seed.js';

const fixtureFolder = 'test/fixtures/gtf';

/** The number of features in each file, counted with awk; see SOURCES.md beside the files. */
const featureCounts: readonly (readonly [string, number])[] = [
  ['ensembl_grch37_head.gtf.gz', 995],
  ['gencode_real_head.gtf', 8],
  ['refseq_ucsc.gtf', 24],
  ['stringtie_B16.gtf', 1000],
  ['ensembl_mouse_81.gtf', 58],
  ['gencode_v19_chr20.gtf', 73],
  ['ensembl_grch37_trun100.gtf', 95],
  ['volvox.gtf', 40],
  ['demo_comments.gtf', 26],
  ['ncbi_hg38_MYC.gtf', 19],
  ['wustl.gtf', 24],
  ['example_comments.gtf.gz', 237],
  ['flybase_FBgn0031208.gtf', 19],
  ['comments_between_rows.gtf.gz', 237],
];

function readFixtureText(name: string): string {
  const bytes = readFileSync(`${fixtureFolder}/${name}`);
  return (bytes[0] === 31 ? gunzipSync(bytes) : bytes).toString('utf8');
}

describe('real files', () => {
  test.each(featureCounts)(
    '%s: %i features, each equal to a split of its line',
    async (name, count) => {
      expect(readerForFile(name).name).toBe('gtf');
      const { rows, columns, error, findings } = await importSource(
        readFileSync(`${fixtureFolder}/${name}`),
        'gtf',
      );
      expect([error, findings.warnings]).toEqual([null, 0]);
      expect(rows.length).toBe(count);
      const attributes = columns.find((column) => column.name === 'attributes')!.children!;
      const listKeys = new Set(
        attributes.filter(({ isList }) => isList).map((column) => column.name),
      );
      const lines = readFixtureText(name)
        .split(/\r?\n/)
        .filter((line) => line.trim() !== '' && !line.startsWith('#'));
      const foundFeatures = rows.map(withoutCoordinates);
      expect(foundFeatures).toEqual(lines.map((line) => naiveFeature(line, listKeys)));
    },
  );

  test('any split, compression and order of the chunks gives the same records', async () => {
    console.log(`gtf cuts seed ${seed}`);
    const next = seededRandom(seed);
    for (const [name] of featureCounts) {
      const text = readFixtureText(name);
      const wholeRead = await importSource(text, 'gtf');
      for (const layer of ['plain', 'gzip', 'bgzf'] as const) {
        const targetBytes = 1000 + Math.floor((next() * text.length) / 2);
        const cutRead = await importSource(text, 'gtf', { layer, targetBytes, shuffle: next });
        expect(cutRead.rows).toEqual(wholeRead.rows);
        expect(describeColumnTypes(cutRead.columns)).toBe(describeColumnTypes(wholeRead.columns));
      }
    }
  });

  /** Parses a line in the simplest way: no fixture has an escaped quote, and semicolons in values are always in quotes. */
  function naiveFeature(line: string, listKeys: ReadonlySet<string>): Row {
    const [seqid, source, type, start, end, score, strand, phase, attributesText] = line
      .split('\t')
      .map((text) => (text === '.' ? null : text));
    const values = new Map<string, string[]>();
    for (const [, key, quoted, plain] of attributesText!.matchAll(
      /([^\s;]+) +(?:"([^"]*)"|([^";]+))/g,
    ))
      values.set(key!, [...(values.get(key!) ?? []), quoted ?? plain!.trim()]);
    return {
      seqid: seqid!,
      source: source!,
      type: type!,
      start: Number(start),
      end: Number(end),
      score: score === null ? null : Number(score),
      strand: strand!,
      phase: phase === null ? null : Number(phase),
      attributes: Object.fromEntries(
        [...values].map(([key, all]) => [key, listKeys.has(key) ? all : all[0]!]),
      ),
    };
  }
});

const gtfLine = (attributes: string): string =>
  ['chr2', 's', 'exon', '5', '9', '0.5', '-', '0', attributes].join('\t');

describe('F12: rules of the specification', () => {
  test.each<[string, string, Row | null]>([
    ['quotes are left out', 'gene_id "a"; exon_number 2;', { gene_id: 'a', exon_number: '2' }],
    ['semicolons in quotes belong to the value', 'x "a; b"; y "c;"', { x: 'a; b', y: 'c;' }],
    ['quotes in a value do too', 'x "say "hi" now"; y "b"', { x: 'say "hi" now', y: 'b' }],
    ['a repeated key is one list', 't "a"; x "1"; t "b"; t "c";', { t: ['a', 'b', 'c'], x: '1' }],
    ['an empty text is a value', 'transcript_id ""; x "1"', { transcript_id: '', x: '1' }],
    ['nothing has to separate but a semicolon', 'a "1";b "2";c 3', { a: '1', b: '2', c: '3' }],
    ['semicolons and spaces may trail', ' a "1" ;; ; ', { a: '1' }],
    ['without a value: the empty text', 'a "1"; basic; b "2"', { a: '1', basic: '', b: '2' }],
    ['escapes are none', 'a "%09"; b "\\"', { a: '%09', b: '\\' }],
    ['plain values may hold spaces', 'a b c; d 1', { a: 'b c', d: '1' }],
    ['a point has none', '.', null],
  ])('%s: %s', async (_, text, attributes) => {
    const { rows, error } = await importSource(gtfLine(text), 'gtf');
    expect(error).toBeNull();
    expect(rows[0]!.attributes ?? null).toEqual(attributes);
  });

  test('attributes are stored also if the first record is rejected within its attributes', async () => {
    const text = [gtfLine('a "1"; b "2'), gtfLine('a "3"'), gtfLine('a "4"')].join('\n');
    const { rows, findings } = await importSource(text, 'gtf', { validation: lenientParams });
    expect(findings.examples).toMatchObject([{ line: 1, level: 'error' }]);
    expect(rows.map(({ attributes }) => attributes)).toEqual([{ a: '3' }, { a: '4' }]);
  });

  test('an attribute without a value is a warning', async () => {
    const { findings } = await importSource(`${gtfLine('a 1')}\n${gtfLine('a 1; b')}`, 'gtf');
    expect(findings.examples).toMatchObject([
      { line: 2, level: 'warning', message: 'an attribute has no value: it is the empty text' },
    ]);
  });

  test.each([
    ['a quote that does not end', 'a "1; b 2', 'the quoted value of an attribute does not end'],
    [
      'a value without a name',
      '"1"; b 2',
      'an attribute begins with its value: a name is expected',
    ],
  ])('%s is refused with its line', async (_, text, message) => {
    const { error } = await importSource(
      `${gtfLine('a 1')}\n${gtfLine(text)}\n${gtfLine('b 1')}`,
      'gtf',
    );
    expect(error).toBe(`file, line 2: field attributes: ${message}`);
  });

  test('8 columns are refused; the build gives coordinates', async () => {
    const shortLine = gtfLine('a 1').split('\t').slice(0, 8).join('\t');
    expect(await importErrorMessage(`${gtfLine('a 1')}\n${shortLine}`, 'gtf')).toBe(
      'file, line 2: expected 9 columns separated by tabs, found 8 columns',
    );
    const { rows } = await importSource(`#!genome-build GRCh38.p13\n${gtfLine('a 1')}`, 'gtf');
    expect(rows).toEqual([
      {
        genomic_coordinates: { build: 'GRCh38', chromosome: '2', start: 5, stop: 9 },
        seqid: 'chr2',
        source: 's',
        type: 'exon',
        start: 5,
        end: 9,
        score: 0.5,
        strand: '-',
        phase: 0,
        attributes: { a: '1' },
      },
    ]);
  });

  test('a line of sequence does not end the features: GTF has no sequences', async () => {
    expect(await importErrorMessage(`${gtfLine('a 1')}\n>chr2\nACGT`, 'gtf')).toContain(
      'file, line 2: expected 9 columns separated by tabs, found one column',
    );
  });

  test('text that is not GTF is refused with one message', async () => {
    expect(await importErrorMessage(gtfLine('ID=a;Parent=b'), 'gtf')).toContain(
      'set reader_params.reader to "gff3"',
    );
    expect(await importErrorMessage('<!DOCTYPE html>', 'gtf')).toContain('this is an HTML page');
  });
});

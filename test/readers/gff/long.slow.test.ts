import { expect, test } from '@jest/globals';
import { maxScannedBytes } from '../../../readers/text/scan-buffer.js';
import { seededRandom, type Random } from '../../random.js';
import { importSource } from '../import-source.js';
import { seed } from '../../seed.js';

const pickRandom = <T>(next: Random, values: readonly T[]): T =>
  values[Math.floor(next() * values.length)]!;

/** How random lines of a format are written: the head of the file, random attributes, some of them unusual, and their separator. */
interface FeatureDialect {
  readonly head: string;
  readonly attribute: (next: Random, isOdd: boolean) => string;
  readonly end: string;
}

const unusualCells = {
  seqid: ['chr2', 'a%20b', '%zz', '.', '', '>x', ' '],
  source: ['.', '', 'a b', 'x;y', 'c="d"'],
  start: ['', '.', '0', 'x', '1e3', '9000000000'],
  stop: ['', '.', '1', '+7'],
  score: ['1e-5', 'nan', 'inf', 'x', '', '+1.'],
  strand: ['?', '', 'x', '++'],
  phase: ['0', '1', '2', '3', '', '01'],
};

const gff3Dialect: FeatureDialect = {
  head: '##gff-version 3\n##sequence-region 1 1 248956422\n',
  attribute: (next, isOdd) =>
    isOdd
      ? pickRandom(next, [
          '',
          ' ',
          'Note=',
          'x',
          '=y',
          'a b=c',
          ' ID = 7 ',
          'Note=a,,b',
          'k%3D=v%zz',
          'Note=%ff',
          'Note=%41%2C,b',
          'p=q=r',
          'Note=a\tb',
          'Note=,',
        ])
      : pickRandom(next, [
          `ID=e${next()}`,
          'Parent=a,b',
          'Note=say%2C it',
          `tag=${'x'.repeat(next() * 2000)}`,
          'tag=é',
          'a%20b=c',
        ]),
  end: ';',
};
const gtfDialect: FeatureDialect = {
  // The reader distinguishes GTF from GFF3 by the first feature, so the first feature is always an ordinary one.
  head: '#!genome-build GRCh38\nchr1\ttest\texon\t1\t2\t.\t+\t.\tgene_id "g";\n',
  attribute: (next, isOdd) =>
    isOdd
      ? pickRandom(next, [
          '',
          ' ',
          'level',
          '"x"',
          'k ""',
          'k "a;b"',
          'k "a"b"',
          'k "a" ',
          'k  "a"',
          'k a"b',
          'k "a',
          'k"v"',
          'k "a""',
          'k "a\tb"',
        ])
      : ` ${pickRandom(next, [`gene_id "g${next()}"`, 'tag "a"', 'level 2', `note "${'x'.repeat(next() * 2000)}"`, 'tag "é"'])}`,
  end: ';',
};

function randomFeatures(
  next: Random,
  { head, attribute, end: separator }: FeatureDialect,
  share: number,
): string {
  const lineEnd = pickRandom(next, ['\n', '\r\n']);
  const orUnusual = <T>(usual: T, others: readonly T[]): T =>
    next() < share / 9 ? pickRandom(next, others) : usual;
  let text = head.replaceAll('\n', lineEnd);
  while (text.length < 1.2 * maxScannedBytes) {
    const from = 1 + Math.floor(next() * 1e6);
    const line = [
      orUnusual(pickRandom(next, ['1', 'chrX', '2']), unusualCells.seqid),
      orUnusual(pickRandom(next, ['havana', '.']), unusualCells.source),
      orUnusual('exon', ['.', '']),
      orUnusual(String(from), unusualCells.start),
      orUnusual(String(from + 9), unusualCells.stop),
      orUnusual(pickRandom(next, ['.', '0.5']), unusualCells.score),
      orUnusual(pickRandom(next, ['+', '-', '.']), unusualCells.strand),
      orUnusual(pickRandom(next, ['.', '2']), unusualCells.phase),
      orUnusual(
        Array.from({ length: 1 + next() * 5 }, () => attribute(next, next() < share / 9)).join(
          separator,
        ),
        ['.', '', 'a=1\tb=2'],
      ) + orUnusual('', [separator, `${separator} `]),
    ];
    text += line.join('\t') + lineEnd;
    if (next() < share)
      text += pickRandom(next, ['###', '# x\t"', '', ' ', 'one\ttwo', '##FAST']) + lineEnd;
  }
  return text;
}

// F12, F15: lines that are read in runs must give the same records as lines that are read one by one, whatever errors other lines have.
for (const [reader, dialect] of Object.entries({ gff3: gff3Dialect, gtf: gtfDialect }))
  test(`${reader}: runs of lines give the records of single lines (seed ${seed})`, async () => {
    const next = seededRandom(seed);
    for (const share of [0, 0.1]) {
      for (const disable of [true, false]) {
        const text = randomFeatures(next, dialect, share);
        const validation = { disable, raiseOnErrors: false, strict: false, allowNewFields: true };
        const importInRuns = await importSource(text, reader, { validation, targetBytes: 1 << 20 });
        // In small chunks most lines are the first of their chunk, and such a line is never read as part of a run.
        const importByLine = await importSource(text, reader, { validation, targetBytes: 400 });
        expect(importByLine.chunks).toBeGreaterThan(100);
        expect(importInRuns.findings).toEqual(importByLine.findings);
        expect(importInRuns.error).toBe(importByLine.error);
        // An import with errors stores nothing, so its records are not compared.
        if (importInRuns.findings.errors > 0) continue;
        expect(importInRuns.rows).toEqual(importByLine.rows);
        expect(importInRuns.columns).toEqual(importByLine.columns);
      }
    }
  });

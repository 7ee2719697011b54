import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../engine/core/types.js';
import { seededRandom } from '../../random.js';
import { importSource, importErrorMessage, type SourceOptions } from '../import-source.js';
import { describeColumnTypes } from '../rows.js';
import { seed } from '../../seed.js';

/*
 * The real files with which this reader was developed may not be copied (GPL, or no licence), so these documents were written in the
 * layouts of schema 4 (Illumina Annotation Engine 1.3) and 6 (Nirvana 3.12). The oracle is JSON.parse of the whole document.
 */

const headerOfSchema6 = {
  annotator: 'Nirvana 3.12.0',
  creationTime: '2020-11-09 17:25:26',
  genomeAssembly: 'GRCh38',
  schemaVersion: 6,
  dataVersion: '91.27.60',
  dataSources: [{ name: 'VEP', version: '91', description: 'a "positions":[ in a text' }],
  samples: ['mother'],
};
const headerOfSchema4 = {
  ...headerOfSchema6,
  annotator: 'Illumina Annotation Engine 1.3.3.1633',
  genomeAssembly: 'GRCh37',
  schemaVersion: 4,
};

const positionOfSchema6 = (i: number): Row => ({
  chromosome: i % 7 === 0 ? 'chrX' : '16',
  position: 23_603_511 + i,
  ...(i % 5 === 0 && { svEnd: 23_700_000 + i, svLength: 96_489 }),
  refAllele: i % 3 === 0 ? 'TG' : 'N',
  altAlleles: ['T', '<DEL>'].slice(0, 1 + (i % 2)),
  quality: i % 2 === 0 ? 165 : 0.5,
  filters: ['PASS'],
  cytogeneticBand: '16p12.2',
  samples: [
    { genotype: '0/1', variantFrequencies: [0.5], totalDepth: 30 + i, isEmpty: i % 11 === 0 },
  ],
  variants: [
    {
      vid: `16-${i}-TG-T`,
      chromosome: '16',
      begin: 23_603_512,
      isLowComplexityRegion: true,
      transcripts: [{ transcript: 'ENST00000261584.8', consequence: ['frameshift_variant'] }],
    },
  ],
});
const positionOfSchema4 = (i: number): Row => ({
  chromosome: 'chr1',
  refAllele: 'TCC',
  position: 9_775_924 + i,
  altAlleles: ['TTT'],
  variants: [{ altAllele: 'TT', begin: 9_775_925, vid: '1:9775925:9775926:TT' }],
});

const genes = [
  { name: 'PALB2', omim: [{ mimNumber: 610_355 }] },
  { name: 'LDLR', position: 1 },
];

interface NirvanaParts {
  readonly header?: unknown;
  readonly positions: readonly Row[];
  readonly genes?: readonly unknown[];
}

/** Returns a document in the layout that Nirvana writes. */
function nirvanaText(
  { header = headerOfSchema6, positions, genes: tail }: NirvanaParts,
  end = '\n',
): string {
  const lines = (values: readonly unknown[]) =>
    values.map((one) => JSON.stringify(one)).join(`,${end}`);
  const closingText = tail ? `],"genes":[${end}${lines(tail)}${end}]}` : ']}';
  return `{"header":${JSON.stringify(header)},"positions":[${end}${lines(positions)}${end}${closingText}${end}`;
}

const numbersBelow = (count: number) => Array.from({ length: count }, (_, i) => i);
const partsOfSchema6 = { positions: numbersBelow(60).map(positionOfSchema6), genes };
const partsOfSchema4 = {
  header: headerOfSchema4,
  positions: numbersBelow(20).map(positionOfSchema4),
};

/** Returns the records that JSON.parse reads, with coordinates and with all columns in every record. */
function naiveRecords(text: string, build: string | null): Row[] {
  const { positions } = JSON.parse(text) as { positions: Row[] };
  const names = new Set(positions.flatMap((one) => Object.keys(one)));
  return positions.map((one) => {
    const row: Row = Object.fromEntries([...names].map((name) => [name, one[name] ?? null]));
    if (build === null) return row;
    const start = one.position as number;
    const stop = (one.svEnd as number | undefined) ?? start + String(one.refAllele).length - 1;
    const chromosome = String(one.chromosome).replace(/^chr/, '');
    return { genomic_coordinates: { build, chromosome, start, stop }, ...row };
  });
}

describe('positions', () => {
  test.each<[string, NirvanaParts, string, number]>([
    ['schema 6 with genes and samples', partsOfSchema6, 'GRCh38', 60],
    ['schema 6 without genes', { positions: partsOfSchema6.positions }, 'GRCh38', 60],
    ['schema 6 without a position', { positions: [], genes }, 'GRCh38', 0],
    ['schema 4', partsOfSchema4, 'GRCh37', 20],
  ])('of %s are those that JSON.parse reads', async (_, parts, build, count) => {
    for (const end of ['\n', '\r\n']) {
      const text = nirvanaText(parts, end);
      const importedFile = await importSource(text, 'Nirvana');
      expect(importedFile.error).toBeNull();
      expect([
        importedFile.genomeBuild,
        importedFile.rows.length,
        importedFile.findings.warnings,
      ]).toEqual([build, count, 0]);
      expect(importedFile.rows).toEqual(naiveRecords(text, build));
      expect(importedFile.about).toEqual(parts.header ?? headerOfSchema6);
    }
  });

  test('have no coordinates when the assembly is not human, unless the parameter names the build', async () => {
    const text = nirvanaText({
      ...partsOfSchema6,
      header: { ...headerOfSchema6, genomeAssembly: 'SARSCoV2' },
    });
    const readWithoutBuild = await importSource(text, 'nirvana');
    expect(readWithoutBuild.genomeBuild).toBeNull();
    expect(readWithoutBuild.rows).toEqual(naiveRecords(text, null));
    const readWithBuild = await importSource(text, 'nirvana', {
      params: { genome_build: 'GRCh37' },
    });
    expect(readWithBuild.rows).toEqual(naiveRecords(text, 'GRCh37'));
  });

  test('are the same for any split, compression and order, and never include the genes', async () => {
    console.log(`nirvana cuts seed ${seed}`);
    const next = seededRandom(seed);
    for (const parts of [
      partsOfSchema6,
      partsOfSchema4,
      { positions: partsOfSchema6.positions, genes: partsOfSchema6.positions },
    ]) {
      const text = nirvanaText(parts);
      const wholeRead = await importSource(text, 'nirvana');
      expect(wholeRead.rows.length).toBe(parts.positions.length);
      for (let round = 0; round < 15; round++) {
        const layer = (['plain', 'gzip', 'bgzf'] as const)[round % 3]!;
        const targetBytes = 1 + Math.floor(next() ** 2 * text.length);
        const cutRead = await importSource(text, 'nirvana', { layer, targetBytes, shuffle: next });
        expect(cutRead.error).toBeNull();
        expect(cutRead.rows).toEqual(wholeRead.rows);
        expect(describeColumnTypes(cutRead.columns)).toBe(describeColumnTypes(wholeRead.columns));
        expect(cutRead.findings).toEqual(wholeRead.findings);
      }
    }
  });

  test('are added to a dataset that has some', async () => {
    const text = nirvanaText(partsOfSchema6);
    const { columns, rows } = await importSource(text, 'nirvana');
    const repeatedRead = await importSource(text, 'nirvana', {
      known: columns,
      targetBytes: 3_000,
    });
    expect([repeatedRead.error, repeatedRead.findings.counts]).toEqual([null, {}]);
    expect(repeatedRead.rows).toEqual(rows);
  });

  test('may be longer than a chunk', async () => {
    const longPosition: Row = { ...positionOfSchema6(1), note: 'x'.repeat(30_000) };
    const text = nirvanaText({
      positions: [positionOfSchema6(0), longPosition, positionOfSchema6(2)],
    });
    const { rows, error } = await importSource(text, 'nirvana', { targetBytes: 500 });
    expect([error, rows.length]).toEqual([null, 3]);
  });
});

describe('F13: the layout of the file', () => {
  const cutOffMessage =
    'file: the bracket that closes the positions is missing: the file was cut off';
  const text = nirvanaText(partsOfSchema6);
  const lines = text.split('\n');
  const importError = async (source: string, options: SourceOptions = {}) =>
    (await importSource(source, 'nirvana', options)).error;

  test('a file truncated at any byte before the positions end is refused', async () => {
    console.log(`nirvana truncation seed ${seed}`);
    const next = seededRandom(seed);
    const bodyFrom = lines[0]!.length + 1;
    const end = text.indexOf('\n],"genes"') + 1;
    for (let round = 0; round < 40; round++) {
      const size = bodyFrom + Math.floor(next() * (end - bodyFrom));
      for (const targetBytes of [500, 1 << 20])
        expect(await importError(text.slice(0, size), { targetBytes })).not.toBeNull();
    }
    const atLine = lines.slice(0, 20).join('\n');
    expect(await importError(atLine)).toBe(cutOffMessage);
    expect(await importError(`${atLine}\n`)).toBe(cutOffMessage);
    expect(await importError(atLine.slice(0, -9))).toContain('file, line 20: column ');
    expect(await importError(lines[0]!)).toBe(cutOffMessage);
  });

  test('what follows the positions is not read', async () => {
    const end = text.indexOf('],"genes"');
    for (const size of [end + 1, end + 9, text.length - 9])
      expect(await importError(text.slice(0, size))).toBeNull();
  });

  test.each<[string, string, string]>([
    [
      'a file without a header',
      text.replace(/^\{"header":.*?"positions"/, '{"positions"'),
      'there is no header object',
    ],
    [
      'a header that is a text',
      text.replace(/^\{"header":.*(?=,"positions":\[\n)/, '{"header":"x"'),
      'there is no header object',
    ],
    [
      'a pretty-printed file',
      JSON.stringify(JSON.parse(text), null, 2),
      'this file is pretty-printed',
    ],
    [
      'a file on one line',
      JSON.stringify(JSON.parse(text)),
      'the positions must stand on lines of their own',
    ],
    ['a list', '[\n{"a":1}\n]', 'this file is pretty-printed'],
    ['JSON lines', '{"a":1}\n{"a":2}\n', 'set reader_params.reader to "json"'],
    ['a page', '<html>', 'this is an HTML page'],
    ['blank lines first', `\n${text}`, 'the first line must hold the header'],
    [
      'a first line of 17 MiB',
      text.replace('{"header":{', `{"header":{"a":"${'x'.repeat(17 << 20)}",`),
      'the first line is longer than 16777216 bytes',
    ],
    [
      'a position without a place',
      nirvanaText({ positions: [positionOfSchema6(0), { a: 1 }] }),
      'file, line 3: field chromosome: a position of Nirvana has',
    ],
    [
      'a position that is no object',
      text.replace('\n{"chromosome"', '\n[1],\n{"chromosome"'),
      'file, line 2: column 1: each line must hold one JSON object',
    ],
    [
      'two positions on a line',
      lines.join('\n').replace(',\n{"chromosome":"16"', ',{"chromosome":"16"'),
      'file, line 2: column',
    ],
  ])('%s is refused', async (_, source, message) => {
    expect(await importErrorMessage(source, 'nirvana')).toContain(message);
  });

  test('an empty file has no records', async () => {
    const { rows, error, warnings } = await importSource('', 'nirvana');
    expect([rows, error, warnings]).toEqual([[], null, ['the file is empty']]);
  });

  test('an empty list of positions on the first line has no records', async () => {
    const source = `{"header":${JSON.stringify(headerOfSchema6)},"positions":[]}`;
    expect(await importError(source)).toBeNull();
    expect(await importError(`${source}\n`)).toBeNull();
    // The byte FF is no UTF-8, and its replacement takes three bytes.
    const oddText = '{"header":{"annotator":"x\xff"},"positions":[],"genes":[]}';
    const { rows, error } = await importSource(Buffer.from(oddText, 'latin1'), 'nirvana');
    expect([rows, error]).toEqual([[], null]);
  });

  test('the last position may share its line with the bracket', async () => {
    const joinedText = text
      .replace('\n],"genes"', '],"genes"')
      .replace('}],"genes":[', '} ] ,"genes":[');
    const { rows, error } = await importSource(joinedText, 'nirvana');
    expect([error, rows.length]).toEqual([null, 60]);
  });
});

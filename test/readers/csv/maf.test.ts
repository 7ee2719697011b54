import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../engine/core/types.js';
import { tableFormatOf } from '../../../readers/index.js';
import { seededRandom } from '../../random.js';
import { lenientParams } from '../import-pieces.js';
import { importSource } from '../import-source.js';
import { seed } from '../../seed.js';

/**
 * Returns the coordinates and the variant of each row of a MAF file, parsed in the simplest way: no fixture has quotes or an allele of the
 * reverse strand.
 */
function naiveCoordinatesOf(
  text: string,
  requestedBuild?: string,
): (readonly [unknown, unknown])[] {
  const [head, ...lines] = text
    .split(/\r?\n/)
    .filter((line) => line !== '' && !line.startsWith('#'));
  const columns = head!.toLowerCase().split('\t');
  return lines.map((line) => {
    const cells = line.split('\t');
    const cellOf = (name: string) => cells[columns.indexOf(name)] ?? '';
    const build =
      requestedBuild ??
      { 37: 'GRCh37', hg19: 'GRCh37', GRCh37: 'GRCh37', GRCh38: 'GRCh38' }[cellOf('ncbi_build')]!;
    const chromosome = cellOf('chromosome').replace(/^chr/, '');
    const [start, stop] = [Number(cellOf('start_position')), Number(cellOf('end_position'))];
    const [reference, firstAllele, secondAllele] = [
      cellOf('reference_allele'),
      cellOf('tumor_seq_allele1'),
      cellOf('tumor_seq_allele2'),
    ];
    const allele = secondAllele !== reference || firstAllele === '' ? secondAllele : firstAllele;
    const place = { build, chromosome, start, stop };
    return [place, `${build}-${chromosome}-${start}-${stop}-${allele}`.toUpperCase()] as const;
  });
}

test.each<[string, string | undefined, string]>([
  ['tcga_ov_head.maf', undefined, 'variant_2'],
  ['tcga_test.maf', undefined, 'variant'],
  ['vcf2maf_grch38.maf', undefined, 'variant'],
  ['vcf2maf_input.maf', undefined, 'variant'],
  ['genome_nexus_input.maf', undefined, 'variant'],
  ['tcga_brca.maf.gz', 'GRCh37', 'variant'],
])('%s: each row has coordinates and a variant (build %s)', async (file, requestedBuild, name) => {
  const bytes = readFileSync(`test/fixtures/csv/${file}`);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  const params = requestedBuild === undefined ? {} : { genome_build: requestedBuild };
  const expectedPlaces = naiveCoordinatesOf(text, requestedBuild);
  const next = seededRandom(seed);
  for (const targetBytes of [1 << 20, 1 + Math.floor(next() * text.length)]) {
    const { rows, error, columns, genomeBuild } = await importSource(bytes, 'tsv', {
      params,
      targetBytes,
    });
    expect(error).toBeNull();
    expect(rows.map((row) => [row['genomic_coordinates'], row[name]])).toEqual(expectedPlaces);
    expect(genomeBuild).toBe((expectedPlaces[0]![0] as Row)['build']);
    expect(columns.slice(-2).map((column) => [column.name, column.type])).toEqual([
      ['genomic_coordinates', 'object'],
      [name, 'string'],
    ]);
  }
});

const mafHeader =
  'Hugo_Symbol\tNCBI_Build\tChromosome\tStart_Position\tEnd_Position\tStrand\tReference_Allele\tTumor_Seq_Allele1\tTumor_Seq_Allele2\n';
const mafLine = (...cells: string[]) => `g\t${cells.join('\t')}\n`;
const importPositions = async (text: string, params: Record<string, unknown> = {}) =>
  (await importSource(mafHeader + text, 'tsv', { params })).rows.map(
    ({ genomic_coordinates: place, variant }) => [place, variant],
  );
const coordinatesAt = (build: string, start: number, stop: number, chromosome = '1') => ({
  build,
  chromosome,
  start,
  stop,
});

describe('the rows of a MAF file', () => {
  test.each<[string, string[], unknown]>([
    [
      'a substitution',
      ['37', 'chr1', '5', '5', '+', 'A', 'A', 't'],
      [coordinatesAt('GRCh37', 5, 5), 'GRCH37-1-5-5-T'],
    ],
    [
      'a deletion',
      ['hg38', '1', '5', '7', '+', 'ACG', 'ACG', '-'],
      [coordinatesAt('GRCh38', 5, 7), 'GRCH38-1-5-7--'],
    ],
    [
      'an insertion',
      ['GRCh38.p13', '1', '5', '6', '+', '-', '-', 'GA'],
      [coordinatesAt('GRCh38', 5, 6), 'GRCH38-1-5-6-GA'],
    ],
    [
      'an alternate allele that comes first',
      ['38', 'X', '5', '5', '+', 'A', 'G', 'A'],
      [coordinatesAt('GRCh38', 5, 5, 'X'), 'GRCH38-X-5-5-G'],
    ],
    [
      'the reference alone',
      ['38', '1', '5', '5', '+', 'A', 'A', 'A'],
      [coordinatesAt('GRCh38', 5, 5), 'GRCH38-1-5-5-A'],
    ],
    [
      'the reverse strand',
      ['38', '1', '5', '7', '-', 'AAA', 'AAA', 'ACG'],
      [coordinatesAt('GRCh38', 5, 7), 'GRCH38-1-5-7-CGT'],
    ],
    [
      'no end',
      ['38', '1', '5', '', '+', 'AC', '', 'G'],
      [coordinatesAt('GRCh38', 5, 6), 'GRCH38-1-5-6-G'],
    ],
    [
      'an allele that is none',
      ['38', '1', '5', '5', '+', 'A', 'A', '<DEL>'],
      [coordinatesAt('GRCh38', 5, 5), null],
    ],
    ['no allele', ['38', '1', '5', '5', '+', 'A', '', ''], [coordinatesAt('GRCh38', 5, 5), null]],
    [
      'quotes',
      ['"38"', '"chr1"', '5', '5', '+', '"A"', 'A', '"T"'],
      [coordinatesAt('GRCh38', 5, 5), 'GRCH38-1-5-5-T'],
    ],
    ['no position', ['38', '1', 'x', '5', '+', 'A', 'A', 'T'], [null, null]],
    ['no chromosome', ['38', '', '5', '5', '+', 'A', 'A', 'T'], [null, null]],
    ['another genome', ['mm10', '1', '5', '5', '+', 'A', 'A', 'T'], [null, null]],
  ])('have coordinates and a variant: %s', async (_, cells, want) => {
    const otherLine = mafLine('37', '2', '1', '1', '+', 'C', 'C', 'G');
    const otherPosition = [coordinatesAt('GRCh37', 1, 1, '2'), 'GRCH37-2-1-1-G'];
    expect(await importPositions(mafLine(...cells) + otherLine)).toEqual([want, otherPosition]);
    // The last row has too many cells for the fast path, so the general path parses it.
    expect(await importPositions(otherLine + mafLine(...cells, ''))).toEqual([otherPosition, want]);
  });

  test('have those of the request instead of those of the file, with a warning', async () => {
    const text =
      mafLine('37', '1', '5', '5', '+', 'A', 'A', 'T') +
      mafLine('', '1', '6', '6', '+', 'A', 'A', 'T');
    expect(await importPositions(text, { genome_build: 'GRCh38' })).toEqual([
      [coordinatesAt('GRCh38', 5, 5), 'GRCH38-1-5-5-T'],
      [coordinatesAt('GRCh38', 6, 6), 'GRCH38-1-6-6-T'],
    ]);
    const readWithBuild = await importSource(mafHeader + text, 'tsv', {
      params: { genome_build: 'GRCh38' },
    });
    expect(readWithBuild.warnings).toEqual([
      'NCBI_Build names GRCh37, but GRCh38 is asked for: positions are read as of GRCh38',
    ]);
    expect(await importPositions(text)).toEqual([
      [coordinatesAt('GRCh37', 5, 5), 'GRCH37-1-5-5-T'],
      [null, null],
    ]);
    const readWithComment = await importSource(`## Reference hg19\n${mafHeader}${text}`, 'tsv');
    expect(readWithComment.rows[1]).toMatchObject({ variant: 'GRCH37-1-6-6-T' });
  });

  test('have none if nothing names the build, or known_sources is off; nor have tables for queries of files', async () => {
    const text = mafHeader + mafLine('mm10', '1', '5', '5', '+', 'A', 'A', 'T');
    const knownText = mafHeader + mafLine('37', '1', '5', '5', '+', 'A', 'A', 'T');
    const { readerParams } = tableFormatOf('x.tsv');
    for (const [file, params] of [
      [text, {}],
      [knownText, { known_sources: false }],
      [knownText, readerParams],
    ] as const) {
      const { rows, genomeBuild } = await importSource(file, 'tsv', { params });
      expect(Object.keys(rows[0]!)).toHaveLength(9);
      expect(genomeBuild).toBeNull();
    }
    await expect(importSource(knownText, 'tsv', { params: { known_sources: 1 } })).rejects.toThrow(
      'known_sources: expected true or false',
    );
  });

  test.each([
    ['none, if the dataset has that column', ['variant'], undefined],
    ['others, if the dataset has others as well', ['variant', 'variant_2'], 'GRCH37-1-5-5-T'],
    ['others, if the dataset does not have that column', [], 'GRCH37-1-5-5-T'],
  ])('of a file with a column variant: %s', async (_, names, variant_2) => {
    const known = names.map((name) => ({ name, physical: name, type: 'string', isList: false }) as const); // prettier-ignore
    const header = mafHeader.replace('Hugo_Symbol', 'variant');
    const lines = mafLine('37', '1', '5', '5', '+', 'A', 'A', 'T').repeat(3);
    const { rows, columns } = await importSource(header + lines, 'tsv', { known });
    expect(rows.map((row) => [row['variant'], row['variant_2']])).toEqual(rows.map(() => ['g', variant_2])); // prettier-ignore
    expect(columns.some(({ name }) => name === 'variant_2')).toBe(variant_2 !== undefined);
  });

  test('keep the types of the dataset, and reject what does not fit them', async () => {
    const variantColumn = {
      name: 'variant',
      physical: 'variant',
      type: 'long',
      isList: false,
      isDeclared: true,
    } as const;
    const { error } = await importSource(
      mafHeader + mafLine('37', '1', '5', '5', '+', 'A', 'A', 'T'),
      'tsv',
      { known: [variantColumn] },
    );
    expect(error).toContain('line 2: field variant: ');
    const validation = { ...lenientParams, maxRejected: 5 };
    const rejectedRead = await importSource(
      mafHeader + mafLine('37', '1', '5', '5', '+', 'A', 'A', 'T'),
      'tsv',
      { known: [variantColumn], validation },
    );
    expect([rejectedRead.stored, rejectedRead.rejected]).toEqual([0, 1]);
  });
});

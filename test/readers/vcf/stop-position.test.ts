import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readWholeFile } from '../read-all.js';

const fixtureFolder = 'test/fixtures/vcf';
const folder = mkdtempSync(join(tmpdir(), 'strandlake-extent-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface PlacedRecord {
  readonly genomic_coordinates: { chromosome: string; start: number; stop: number };
  readonly variant: string;
  readonly allele: string;
  readonly reference_allele: string;
  readonly alternate_alleles: readonly string[];
}

/** Returns the stop positions of the records of a line, in the order of its alleles. */
async function importStops(version: string, line: string): Promise<number[]> {
  const path = join(folder, 'extent.vcf');
  const [alt, info, samples = ''] = line.split(' ') as [string, string, string?];
  const names = samples
    .split('\t')
    .slice(1)
    .map((_, i) => `\tS${i}`)
    .join('');
  const columns = samples === '' ? '' : `\tFORMAT${names}`;
  writeFileSync(
    path,
    `##fileformat=VCFv${version}
##INFO=<ID=END,Number=1,Type=Integer,Description="x">
##INFO=<ID=SVLEN,Number=${version >= '4.4' ? 'A' : '.'},Type=Integer,Description="x">
##FORMAT=<ID=LEN,Number=1,Type=Integer,Description="x">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO${columns}
1\t100\t.\tAC\t${alt}\t.\t.\t${info}${samples === '' ? '' : `\t${samples}`}
`,
  );
  const { rows, notes } = await readWholeFile(path, 'vcf');
  expect(notes).toEqual([]);
  return (rows as unknown as PlacedRecord[]).map((row) => {
    const { start, stop } = row.genomic_coordinates;
    expect(row.variant).toBe(`GRCH37-1-${start}-${stop}-${row.allele.toUpperCase()}`);
    return stop;
  });
}

/** The cases follow VCF 4.0 to 4.3, section 3, and VCF 4.4 and 4.5, sections 1.6.1 and 3. REF has two bases, so it ends at position 101. */
const stopCases: readonly (readonly [string, string, readonly number[]])[] = [
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL> END=900', [900]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL> SVLEN=-50', [150]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL> SVLEN=50', [150]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DUP:TANDEM> SVLEN=50', [150]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<INV> SVLEN=50', [150]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL:ME:ALU> SVLEN=.', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL> .', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL> END=5', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL> END=5;SVLEN=-50', [150]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL>,<DUP> SVLEN=-50,70', [150, 170]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<DEL>,T,<DUP> SVLEN=-50,.,70', [150, 101, 170]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<INS> SVLEN=300', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<INS:ME:L1> END=101;SVLEN=6027', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', 'T SVLEN=300;END=900', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '* END=900', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', 'A[2:33[ END=900;SVLEN=40', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '.TC SVLEN=40', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', 'A<ctg1> SVLEN=40', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<BND> END=900;SVLEN=40', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<TRA> END=900', [101]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<NON_REF> END=900', [900]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<*> END=900', [900]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', 'T,<NON_REF> END=900', [101, 900]],
  ['4.0 4.1 4.2 4.3 4.4 4.5', '<CN0>,<CN2> END=900', [900, 900]],
  // Up to version 4.3, END belongs to the record, and SVLEN is a difference of lengths.
  ['4.0 4.1 4.2 4.3', '<DEL> END=900;SVLEN=-50', [900]],
  ['4.0 4.1 4.2 4.3', '<INS> END=102;SVLEN=300', [102]],
  ['4.0 4.1 4.2 4.3', '<INV> SVLEN=0', [101]],
  ['4.0 4.1 4.2 4.3', '<CNV> SVLEN=50', [101]],
  ['4.0 4.1 4.2 4.3', '<CNV> END=900;SVLEN=50', [900]],
  // From version 4.4 on, END belongs to the longest allele, and SVLEN is a length.
  ['4.4 4.5', '<DEL>,<DUP> END=170;SVLEN=50,70', [150, 170]],
  ['4.4 4.5', '<DEL>,<INS> END=150;SVLEN=50,300', [150, 101]],
  ['4.4 4.5', '<CNV:TR> SVLEN=50', [150]],
  ['4.4 4.5', '<CNV> SVLEN=.;END=900', [900]],
  // From version 4.5 on, samples state the length of reference blocks.
  ['4.5', '<*> . LEN\t11\t31\t.', [130]],
  ['4.5', 'T,<*> . GT:LEN\t0:11\t0', [101, 110]],
  ['4.5', '<*> END=900 LEN\t11\t31', [900]],
  ['4.4', '<*> . LEN\t11\t31', [101]],
];

describe('the stop position of a record', () => {
  test.each(
    stopCases.flatMap(([versions, line, want]) =>
      versions.split(' ').map((version) => [version, line, want] as const),
    ),
  )('VCF %s: %j stops at %j', async (version, line, want) => {
    expect(await importStops(version, line)).toEqual(want);
  });

  test('is the END that bcftools computes, for symbolic alleles', async () => {
    const oracleLines = readFileSync(`${fixtureFolder}/extents.bcftools.tsv`, 'utf8')
      .trimEnd()
      .split('\n');
    const byFile = Map.groupBy(oracleLines, (line) => line.split('\t')[0]!);
    for (const [name, lines] of byFile) {
      const rows = (await readWholeFile(`${fixtureFolder}/${name}`, 'vcf'))
        .rows as unknown as PlacedRecord[];
      for (const line of lines) {
        const [, chrom, pos, alt, end] = line.split('\t') as string[];
        const matchingRecords = rows.filter(
          ({ genomic_coordinates: coordinates, alternate_alleles: alternates }) =>
            coordinates.chromosome === chrom!.replace(/^chr/, '') &&
            coordinates.start === Number(pos) &&
            alternates.join(',') === alt,
        );
        expect(matchingRecords.length).toBeGreaterThanOrEqual(alt!.split(',').length);
        for (const {
          allele,
          reference_allele: ref,
          genomic_coordinates: coordinates,
        } of matchingRecords) {
          // The END of a translocation is a position on another chromosome, which bcftools does not take into account.
          const isStretch = allele.startsWith('<') && allele !== '<TRA>';
          const expectedStop = isStretch ? Number(end) : Number(pos) + ref.length - 1;
          expect([line, allele, coordinates.stop]).toEqual([line, allele, expectedStop]);
        }
      }
    }
  });
});

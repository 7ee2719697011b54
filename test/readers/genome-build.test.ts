import { readFileSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { importSource } from './import-source.js';

/** The lengths of the chromosomes, as declared in real files of the build; for T2T-CHM13v2.0, as in its assembly report. */
const contigLengthsByBuild: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  GRCh37: contigLengthsOf('test/fixtures/vcf/gnomad_csq.vcf.gz'),
  GRCh38: contigLengthsOf('test/fixtures/vcf/vcf_truncated_bgzf.vcf.gz'),
  'T2T-CHM13': new Map(
    `1 248387328 2 242696752 3 201105948 4 193574945 5 182045439 6 172126628 7 160567428 8 146259331 9 150617247
    10 134758134 11 135127769 12 133324548 13 113566686 14 101161492 15 99753195 16 96330374 17 84276897 18 80542538
    19 61707364 20 66210255 21 45090682 22 51324926 X 154259566 Y 62460029`
      .split(/\s+/)
      .flatMap((word, i, all) => (i % 2 === 0 ? [[word, all[i + 1]!] as const] : [])),
  ),
};

function contigLengthsOf(path: string): ReadonlyMap<string, string> {
  const text = gunzipSync(readFileSync(path), { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  const contigMatches = text.matchAll(/^##contig=<ID=(?:chr)?(\d+|X|Y),(?:.*,)?length=(\d+)/gm);
  return new Map([...contigMatches].map(([, name, length]) => [name!, length!]));
}

const vcfRecord = '1\t5\t.\tA\tT\t.\t.\t.\n';
const columnLine = '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
const contigLine = (name: string, length: string) => `##contig=<ID=${name},length=${length}>\n`;
const readVcf = (meta: string, params = {}) =>
  importSource(`##fileformat=VCFv4.2\n${meta}${columnLine}${vcfRecord}`, 'vcf', { params });

describe.each(Object.entries(contigLengthsByBuild))('%s', (build, contigs) => {
  test('is recognised by the length of any of its chromosomes', async () => {
    expect(contigs.size).toBe(24);
    for (const [name, length] of contigs) {
      const { rows, genomeBuild } = await readVcf(contigLine(name, length));
      expect([name, genomeBuild]).toEqual([name, build]);
      expect(rows[0]).toMatchObject({
        genomic_coordinates: { build },
        variant: `${build.toUpperCase()}-1-5-5-T`,
      });
      expect((await readVcf(contigLine(`chr${name}`, length))).genomeBuild).toBe(build);
      const gff = `##gff-version 3\n##sequence-region ${name} 1 ${length}\n${name}\t.\tgene\t5\t9\t.\t+\t.\tID=a\n`;
      expect((await importSource(gff, 'gff3')).genomeBuild).toBe(build);
    }
  });

  test('is guessed in silence only where nothing speaks against it', async () => {
    const allContigLines = [...contigs].map(([name, length]) => contigLine(name, length)).join('');
    const namedWarnings = build === 'T2T-CHM13' ? [/T2T-CHM13.* neither/] : [];
    const matchingTexts = (patterns: readonly RegExp[]) =>
      patterns.map((pattern) => expect.stringMatching(pattern));
    expect((await readVcf(allContigLines)).warnings).toEqual(matchingTexts(namedWarnings));
    const otherBuild = build === 'GRCh37' ? 'GRCh38' : 'GRCh37';

    const readWithParameter = await readVcf(allContigLines, { genome_build: otherBuild });
    expect(readWithParameter.genomeBuild).toBe(otherBuild);
    expect(readWithParameter.warnings).toEqual([expect.stringContaining(`the lengths of ${build}, but ${otherBuild} is asked for`)]);

    const misnamedRead = await readVcf(`##reference=${otherBuild}.fa\n${allContigLines}`);
    expect(misnamedRead.genomeBuild).toBe(build);
    expect(misnamedRead.warnings).toEqual(
      matchingTexts([new RegExp(`header names ${otherBuild}, but .*lengths of ${build}`), ...namedWarnings]),
    );

    const mixedRead = await readVcf(`${allContigLines}${contigLine('chr3', '17')}${contigLine('GL000192.1', '547496')}`);
    expect(mixedRead.genomeBuild).toBe(build);
    expect(mixedRead.warnings).toEqual(matchingTexts([new RegExp(`chr3 does not have the length of ${build}`), ...namedWarnings]));
  }); // prettier-ignore
});

test('lengths of no known build are a warning, whatever the file names', async () => {
  for (const meta of ['', '##reference=hg19.fa\n']) {
    const { genomeBuild, warnings } = await readVcf(`${meta}${contigLine('20', '62435964')}`);
    expect(genomeBuild).toBe('GRCh37');
    expect(warnings).toEqual([expect.stringContaining('none of GRCh37, GRCh38, T2T-CHM13')]);
  }
});

test('a file that tells nothing is read as GRCh37, and one that names its build as that', async () => {
  expect(await readVcf('')).toMatchObject({ genomeBuild: 'GRCh37', warnings: [] });
  expect(await readVcf(contigLine('GL000192.1', '547496'))).toMatchObject({ genomeBuild: 'GRCh37', warnings: [] }); // prettier-ignore
  expect(await readVcf('##reference=GRCh38.fa\n')).toMatchObject({ genomeBuild: 'GRCh38', warnings: [] }); // prettier-ignore
  expect((await readVcf('##reference=chm13v2.0.fa\n')).genomeBuild).toBe('T2T-CHM13');
});

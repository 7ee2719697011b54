import { gunzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import {
  referenceSequence,
  sequenceId,
} from '../../../../api/resources/ga4gh-beacon/reference-sequences.js';
import { genomeBuildOfAlias } from '../../../../engine/core/build-names.js';

test('the accessions of GRCh38 are those that ClinVar gives its variants', () => {
  const text = gunzipSync(readFileSync('examples/clinvar_grch38_2026_69k.vcf.gz')).toString();
  const accessionByChromosome = new Map<string, string>();
  for (const line of text.split('\n')) {
    const chromosome = line.slice(0, line.indexOf('\t'));
    if (chromosome.startsWith('#') || accessionByChromosome.has(chromosome)) continue;
    const accession = /[\t;]CLNHGVS=(NC_\d+\.\d+):/.exec(line)?.[1];
    if (accession !== undefined) accessionByChromosome.set(chromosome, accession);
  }
  expect(accessionByChromosome.size).toBeGreaterThan(5);
  for (const [chromosome, accession] of accessionByChromosome) {
    expect(sequenceId('GRCh38', chromosome)).toBe(`refseq:${accession}`);
    const plainNames = chromosome === 'MT' ? ['MT', 'M'] : [chromosome];
    for (const name of [accession, `refseq:${accession}`]) {
      const build = chromosome === 'MT' ? null : 'GRCh38';
      expect(referenceSequence(name, undefined)).toEqual({
        build,
        names: [...plainNames, accession],
      });
    }
    const namedSequence = { build: 'GRCh38', names: [...plainNames, accession] };
    for (const name of [chromosome, `chr${chromosome}`, accession])
      expect(referenceSequence(name, 'hg38')).toEqual(namedSequence);
  }
});

test.each([
  ['NC_000001.10', 'GRCh37', '1'],
  ['NC_000023.10', 'GRCh37', 'X'],
  ['NC_000024.9', 'GRCh37', 'Y'],
  ['NC_060925.1', 'T2T-CHM13', '1'],
  ['NC_060948.1', 'T2T-CHM13', 'Y'],
])('%s is a sequence of %s', (accession, build, chromosome) => {
  expect(referenceSequence(accession, undefined)).toEqual({ build, names: [chromosome, accession] }); // prettier-ignore
});

test('contigs without an accession keep their names', () => {
  expect(referenceSequence('chrUn_KI270302v1', 'GRCh38')).toEqual({ build: 'GRCh38', names: ['UN_KI270302V1'] }); // prettier-ignore
  expect(sequenceId('GRCh38', 'HLA-A*01:01')).toBe('GRCh38:HLA-A*01:01');
  expect(sequenceId(undefined, 'NT_113901.1')).toBe('refseq:NT_113901.1');
});

test.each([
  ['GRCh38', 'GRCh38'],
  ['grch37.p13', 'GRCh37'],
  ['hg19', 'GRCh37'],
  ['hs1', 'T2T-CHM13'],
  ['T2T-CHM13v2.0', 'T2T-CHM13'],
  ['GCF_000001405.12', undefined],
  ['GCF_000001405.13', 'GRCh37'],
  ['GCA_000001405.1', 'GRCh37'],
  ['GCF_000001405.25', 'GRCh37'],
  ['GCF_000001405.26', 'GRCh38'],
  ['GCA_000001405.14', 'GRCh37'],
  ['GCA_000001405.15', 'GRCh38'],
  ['GCF_009914755.1', 'T2T-CHM13'],
  ['mm10', undefined],
  ['GRCh39', undefined],
  ['constructor', undefined],
  ['', undefined],
])('the assembly %j is %s', (name, build) => {
  expect(genomeBuildOfAlias(name)).toBe(build);
});

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { importSource } from '../import-source.js';

type Info = Record<string, string | string[] | null | undefined>;

const columns = '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
const key = (id: string, number: string, description = 'x') =>
  `##INFO=<ID=${id},Number=${number},Type=String,Description="${description}">\n`;

async function read(meta: string, info: string, params: Record<string, unknown> = {}) {
  const text = `##fileformat=VCFv4.1\n${meta}${columns}1\t5\t.\tA\tT\t.\t.\t${info}\n`;
  const { rows, findings } = await importSource(text, 'vcf', { params });
  expect(findings.errors).toBe(0);
  return rows[0]!['info'] as Info;
}

const clinvar = `##source=ClinVar\n${key('CLNDN', '.')}${key('CLNDISDB', '.')}${key('CLNREVSTAT', '.')}${key('CLNSIG', '.', 'multiple values are separated by a vertical bar')}${key('GENEINFO', '1')}${key('MC', '.')}`;
const values =
  'CLNDN=Cancer,_familial|not_provided;CLNDISDB=MedGen:1,OMIM:2|.;CLNREVSTAT=criteria_provided,_single_submitter;CLNSIG=Pathogenic,_low_penetrance|risk;GENEINFO=BRCA2:675|LOC1:9;MC=SO:1|a,SO:2|b';

test('keys of ClinVar are split at bars, and GENEINFO gives genes', async () => {
  expect(await read(clinvar, values)).toEqual({
    CLNDN: ['Cancer,_familial', 'not_provided'],
    CLNDISDB: ['MedGen:1,OMIM:2', null],
    CLNREVSTAT: ['criteria_provided,_single_submitter'],
    CLNSIG: ['Pathogenic,_low_penetrance', 'risk'],
    GENEINFO: 'BRCA2:675|LOC1:9',
    GENEINFO_gene: ['BRCA2', 'LOC1'],
    MC: ['SO:1|a', 'SO:2|b'],
  });
});

test('parameters switch the known sources off, or split any key', async () => {
  const plain = await read(clinvar, values, { known_sources: false });
  expect(plain).toMatchObject({ CLNDN: ['Cancer', '_familial|not_provided'], GENEINFO: 'BRCA2:675|LOC1:9' });
  expect(plain).not.toHaveProperty('GENEINFO_gene');
  const split = { 'info.CLNDN': null, 'info.GENEINFO': '|', 'info.MC': '|', 'info.NONE': '/' };
  expect(await read(clinvar, values, { split })).toMatchObject({
    CLNDN: ['Cancer', '_familial|not_provided'],
    GENEINFO: ['BRCA2:675', 'LOC1:9'],
    GENEINFO_gene: ['BRCA2', 'LOC1'],
    MC: ['SO:1', 'a,SO:2', 'b'],
  });
  const asked = { split: { 'info.CLNDN': '|' }, known_sources: false };
  expect((await read(clinvar, values, asked))['CLNDN']).toEqual(['Cancer,_familial', 'not_provided']);
  for (const bad of ['|', ['|'], { CLNDN: '|' }, { 'info.CLNDN': '||' }, { 'info.CLNDN': 1 }])
    await expect(read(clinvar, values, { split: bad })).rejects.toThrow(/split: expected/);
}); // prettier-ignore

test.each([
  ['dbSNP', `##source=dbSNP\n${key('FREQ', '.')}${key('GENEINFO', '1')}`, 'FREQ=A:0.9,0.1|B:1,0;GENEINFO=TP53:7157', { FREQ: ['A:0.9,0.1', 'B:1,0'], GENEINFO: 'TP53:7157', GENEINFO_gene: ['TP53'] }],
  ['COSMIC', `##source=COSMICv99\n${key('GENE', '1')}`, 'GENE=KRAS_ENST00000311936', { GENE: 'KRAS_ENST00000311936', GENE_gene: ['KRAS'] }],
  ['1000 Genomes', `##source=1000GenomesPhase3Pipeline\n${key('VT', '1')}`, 'VT=SNP,INDEL', { VT: ['SNP', 'INDEL'] }],
  ['gnomAD', `##source=gnomAD\n${key('dp_hist', 'A', 'Depth; bin edges are: 0|5|10')}`, 'dp_hist=1|2', { dp_hist: ['1', '2'] }],
  ['none', key('CLNREVSTAT', '.') + key('FREQ', '.'), 'CLNREVSTAT=a,b|c;FREQ=a,b|c', { CLNREVSTAT: ['a', 'b|c'], FREQ: ['a', 'b|c'] }],
])('keys of %s', async (_, meta, info, want) => {
  expect(await read(meta, info)).toEqual(want);
}); // prettier-ignore

test('the bundled file: every disease and gene is a value of its own', async () => {
  const text = gunzipSync(readFileSync('test/fixtures/vcf/clinvar_grch38.vcf.gz')).toString();
  const whole = await importSource(text, 'vcf');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const found = (info: string, name: string) => new RegExp(`(?:^|;)${name}=([^;]*)`).exec(info)?.[1];
  const rows = lines.flatMap((line) => {
    const [, , , , alt = '', , , info = ''] = line.split('\t');
    const genes = found(info, 'GENEINFO')?.split('|').map((one) => one.split(':')[0]);
    const want = { CLNDN: found(info, 'CLNDN')?.split('|'), genes };
    return alt.split(',').map(() => want);
  });
  const shown = whole.rows.map(({ info }) => ({ CLNDN: (info as Info)['CLNDN'], genes: (info as Info)['GENEINFO_gene'] }));
  expect(shown).toEqual(rows);
  const cut = await importSource(text, 'vcf', { targetBytes: 3000 });
  expect([cut.rows, cut.columns]).toEqual([whole.rows, whole.columns]);
}); // prettier-ignore

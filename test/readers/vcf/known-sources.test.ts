import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { importSource } from '../import-source.js';

type InfoValues = Record<string, string | string[] | null | undefined>;

const columnLine = '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
const infoKeyLine = (id: string, number: string, description = 'x') =>
  `##INFO=<ID=${id},Number=${number},Type=String,Description="${description}">\n`;

async function readInfo(meta: string, info: string, params: Record<string, unknown> = {}) {
  const text = `##fileformat=VCFv4.1\n${meta}${columnLine}1\t5\t.\tA\tT\t.\t.\t${info}\n`;
  const { rows, findings } = await importSource(text, 'vcf', { params });
  expect(findings.errors).toBe(0);
  return rows[0]!['info'] as InfoValues;
}

const clinvarHeader = `##source=ClinVar\n${infoKeyLine('CLNDN', '.')}${infoKeyLine('CLNDISDB', '.')}${infoKeyLine('CLNREVSTAT', '.')}${infoKeyLine('CLNSIG', '.', 'multiple values are separated by a vertical bar')}${infoKeyLine('GENEINFO', '1')}${infoKeyLine('MC', '.')}`;
const clinvarInfo =
  'CLNDN=Cancer,_familial|not_provided;CLNDISDB=MedGen:1,OMIM:2|.;CLNREVSTAT=criteria_provided,_single_submitter;CLNSIG=Pathogenic,_low_penetrance|risk;GENEINFO=BRCA2:675|LOC1:9;MC=SO:1|a,SO:2|b';

test('keys of ClinVar are split at bars, and GENEINFO gives genes', async () => {
  expect(await readInfo(clinvarHeader, clinvarInfo)).toEqual({
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
  const plainRead = await readInfo(clinvarHeader, clinvarInfo, { known_sources: false });
  expect(plainRead).toMatchObject({ CLNDN: ['Cancer', '_familial|not_provided'], GENEINFO: 'BRCA2:675|LOC1:9' });
  expect(plainRead).not.toHaveProperty('GENEINFO_gene');
  const separatorsByField = { 'info.CLNDN': null, 'info.GENEINFO': '|', 'info.MC': '|', 'info.NONE': '/' };
  expect(await readInfo(clinvarHeader, clinvarInfo, { split: separatorsByField })).toMatchObject({
    CLNDN: ['Cancer', '_familial|not_provided'],
    GENEINFO: ['BRCA2:675', 'LOC1:9'],
    GENEINFO_gene: ['BRCA2', 'LOC1'],
    MC: ['SO:1', 'a,SO:2', 'b'],
  });
  const splitParams = { split: { 'info.CLNDN': '|' }, known_sources: false };
  expect((await readInfo(clinvarHeader, clinvarInfo, splitParams))['CLNDN']).toEqual(['Cancer,_familial', 'not_provided']);
  for (const bad of ['|', ['|'], { CLNDN: '|' }, { 'info.CLNDN': '||' }, { 'info.CLNDN': '|,/' }, { 'info.CLNDN': 1 }])
    await expect(readInfo(clinvarHeader, clinvarInfo, { split: bad })).rejects.toThrow(/split: expected/);
}); // prettier-ignore

const describedKey = (id: string, description: string) => infoKeyLine(id, '.', description);
const vepDescription =
  'Consequence annotations from Ensembl VEP. Format: Allele|Consequence|SYMBOL|Gene';

test.each([
  ['a source line', '##source=ClinVar\n', 'CLNDISDB=MedGen:1,OMIM:2|MedGen:3;GENEINFO=TP53:7157', ['MedGen:1,OMIM:2', 'MedGen:3']],
  ['the meaning of its ids', '##ID=<Description="ClinVar Variation ID">\n', 'CLNDISDB=MedGen:1,OMIM:2;GENEINFO=TP53:7157', ['MedGen:1,OMIM:2']],
  ['its other keys', infoKeyLine('CLNSIG', '.') + infoKeyLine('CLNREVSTAT', '.'), 'CLNDISDB=A:1,B:2|C;GENEINFO=TP53:7157', ['A:1,B:2', 'C']],
])('ClinVar is recognized by %s, also without CLNDN', async (_, meta, info, diseases) => {
  const storedInfo = await readInfo(`${meta}${infoKeyLine('CLNDISDB', '.')}${infoKeyLine('GENEINFO', '1')}`, info);
  expect(storedInfo).toMatchObject({ CLNDISDB: diseases, GENEINFO_gene: ['TP53'] });
}); // prettier-ignore

test('where commas separate alleles and bars the diseases of one, both do', async () => {
  // INFO keys and values as in dbSNP build 155 and in ClinVar of January 2017.
  const keys = ['CLNVI', 'CLNORIGIN', 'CLNSIG', 'CLNDISDB', 'CLNDN', 'CLNREVSTAT', 'CLNACC', 'CLNHGVS', 'FREQ'];
  const dbsnp = `##source=dbSNP\n##dbSNP_BUILD_ID=155\n${keys.map((id) => infoKeyLine(id, '.')).join('')}`;
  const line = 'FREQ=Estonian:0.9998,0.0002|TOMMO:0.9999,.;CLNVI=.,ARUP_Laboratories\\x2c_Molecular:108838|UniProtKB:P42898;CLNORIGIN=.,1;CLNSIG=.,2|2;CLNDISDB=.,MedGen:CN169374|MONDO:1/OMIM:236250;CLNDN=.,not_specified|Homocystinuria;CLNREVSTAT=.,single|mult;CLNACC=.,RCV000261696.8|RCV000534228.8;CLNHGVS=NC_000001.10:g.11850750=,NC_000001.10:g.11850750G>A';
  expect(await readInfo(dbsnp, line)).toEqual({
    FREQ: ['Estonian:0.9998,0.0002', 'TOMMO:0.9999,.'],
    CLNVI: [null, 'ARUP_Laboratories\\x2c_Molecular:108838', 'UniProtKB:P42898'],
    CLNORIGIN: [null, '1'],
    CLNSIG: [null, '2', '2'],
    CLNDISDB: [null, 'MedGen:CN169374', 'MONDO:1/OMIM:236250'],
    CLNDN: [null, 'not_specified', 'Homocystinuria'],
    CLNREVSTAT: [null, 'single', 'mult'],
    CLNACC: [null, 'RCV000261696.8', 'RCV000534228.8'],
    CLNHGVS: ['NC_000001.10:g.11850750=', 'NC_000001.10:g.11850750G>A'],
  });
  const oldHeader = `##source=ClinVar and dbSNP\n##dbSNP_BUILD_ID=149\n${infoKeyLine('CLNDBN', '.')}${infoKeyLine('CLNSIG', '.')}${infoKeyLine('GENEINFO', '1')}`;
  expect(await readInfo(oldHeader, 'CLNDBN=Cystic_fibrosis|Modifier\\x2c_of,Cystic_fibrosis;CLNSIG=5|0,5;GENEINFO=CFTR:1080')).toMatchObject({
    CLNDBN: ['Cystic_fibrosis', 'Modifier\\x2c_of', 'Cystic_fibrosis'],
    CLNSIG: ['5', '0', '5'],
    GENEINFO_gene: ['CFTR'],
  });
  const splitParams = { split: { 'info.GENEINFO': '|,' }, known_sources: true };
  expect(await readInfo(clinvarHeader, 'GENEINFO=A:1,B:2|C:3', splitParams)).toMatchObject({ GENEINFO: ['A:1', 'B:2', 'C:3'], GENEINFO_gene: ['A', 'B', 'C'] });
}); // prettier-ignore

test.each([
  ['VEP', describedKey('CSQ', vepDescription), 'CSQ'],
  ['VEP', `##VEP="v109" time="2024-01-15"\n${describedKey('CSQ', 'Format: Allele|SYMBOL')}`, 'CSQ'],
  ['VEP', `##source=gnomAD\n${describedKey('vep', vepDescription)}`, 'vep'],
  ['VEP', describedKey('ANN', vepDescription), 'ANN'],
  ['SnpEff', describedKey('ANN', "Functional annotations: 'Allele | Annotation | Gene_Name | Gene_ID' "), 'ANN'],
  ['SnpEff', `##SnpEffVersion="3.1b"\n${describedKey('EFF', "Predicted effects for this variant.Format: 'Effect ( Effect_Impact | Gene_Name | ERRORS )' ")}`, 'EFF'],
  ['none', `##VEP=v77\n${describedKey('CSQ', 'Format: Allele|Gene|Feature')}`, null],
  ['none', describedKey('ANN', 'Format: Allele|SYMBOL'), null],
])('the genes of %s: %s', async (source, meta, id) => {
  const { header } = await importSource(`##fileformat=VCFv4.2\n${meta}${columnLine}`, 'vcf');
  const part = source === 'VEP' ? 'SYMBOL' : 'Gene_Name';
  const { meanings } = header as { meanings: unknown };
  expect(meanings).toEqual(id === null ? [] : [{ id, source, genesPath: [id, part] }]);
}); // prettier-ignore

test.each([
  ['dbSNP', `##source=dbSNP\n${infoKeyLine('FREQ', '.')}${infoKeyLine('GENEINFO', '1')}`, 'FREQ=A:0.9,0.1|B:1,0;GENEINFO=TP53:7157', { FREQ: ['A:0.9,0.1', 'B:1,0'], GENEINFO: 'TP53:7157', GENEINFO_gene: ['TP53'] }],
  ['COSMIC', `##source=COSMICv99\n${infoKeyLine('GENE', '1')}`, 'GENE=KRAS_ENST00000311936', { GENE: 'KRAS_ENST00000311936', GENE_gene: ['KRAS'] }],
  ['1000 Genomes', `##source=1000GenomesPhase3Pipeline\n${infoKeyLine('VT', '1')}`, 'VT=SNP,INDEL', { VT: ['SNP', 'INDEL'] }],
  ['gnomAD', infoKeyLine('nhomalt', 'A') + infoKeyLine('grpmax', 'A') + infoKeyLine('age_hist', 'A', 'Ages; bin edges are: 30|35'), 'age_hist=1|2', { age_hist: ['1', '2'] }],
  ['gnomAD', `##source=gnomAD\n${infoKeyLine('dp_hist', 'A', 'Depth; bin edges are: 0|5|10')}`, 'dp_hist=1|2', { dp_hist: ['1', '2'] }],
  ['none', infoKeyLine('CLNREVSTAT', '.') + infoKeyLine('FREQ', '.'), 'CLNREVSTAT=a,b|c;FREQ=a,b|c', { CLNREVSTAT: ['a', 'b|c'], FREQ: ['a', 'b|c'] }],
])('keys of %s', async (_, meta, info, want) => {
  expect(await readInfo(meta, info)).toEqual(want);
}); // prettier-ignore

test('the bundled file: every disease and gene is a value of its own', async () => {
  const text = gunzipSync(readFileSync('test/fixtures/vcf/clinvar_grch38.vcf.gz')).toString();
  const wholeRead = await importSource(text, 'vcf');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const infoValueOf = (info: string, name: string) => new RegExp(`(?:^|;)${name}=([^;]*)`).exec(info)?.[1];
  const rows = lines.flatMap((line) => {
    const [, , , , alt = '', , , info = ''] = line.split('\t');
    const genes = infoValueOf(info, 'GENEINFO')?.split('|').map((one) => one.split(':')[0]);
    const expectedInfo = { CLNDN: infoValueOf(info, 'CLNDN')?.split('|'), genes };
    return alt.split(',').map(() => expectedInfo);
  });
  const shownInfo = wholeRead.rows.map(({ info }) => ({ CLNDN: (info as InfoValues)['CLNDN'], genes: (info as InfoValues)['GENEINFO_gene'] }));
  expect(shownInfo).toEqual(rows);
  const cutRead = await importSource(text, 'vcf', { targetBytes: 3000 });
  expect([cutRead.rows, cutRead.columns]).toEqual([wholeRead.rows, wholeRead.columns]);
}); // prettier-ignore

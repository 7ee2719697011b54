import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import VCF from '@gmod/vcf';
import { describe, expect, test } from '@jest/globals';
import { readWholeFile } from '../read-all.js';

const fixtureFolder = 'test/fixtures/vcf';

function readFixtureText(name: string): string {
  const bytes = readFileSync(`${fixtureFolder}/${name}`);
  return (bytes[0] === 31 ? gunzipSync(bytes) : bytes).toString('utf8');
}

/** The number of record lines in each file, counted with bcftools 1.16 (see SOURCES.md beside the files), and its compression. */
const recordCounts: readonly (readonly [string, number, string])[] = [
  ['spec_simple_4.3.vcf', 5, 'plain'],
  ['multi_1233_samples.vcf', 2, 'plain'],
  ['haploid_chrY.vcf', 2, 'plain'],
  ['sites_1kg.vcf', 171, 'plain'],
  ['freebayes_7_samples.vcf', 104, 'plain'],
  ['clinvar_grch38.vcf.gz', 50, 'bgzf'],
  ['clinvar_grch37_2019.vcf.gz', 72, 'bgzf'],
  ['gnomad_csq.vcf.gz', 127, 'gzip'],
  ['snpeff_ann_chr22.vcf', 20, 'plain'],
  ['trio_str.vcf.gz', 80, 'bgzf'],
  ['trio_sv_csq.vcf.gz', 19, 'bgzf'],
  ['trio_ann_and_csq.vcf.gz', 680, 'bgzf'],
  ['hail_100_samples.vcf.gz', 346, 'bgzf'],
  ['all_4.3_features_utf8.vcf', 25, 'plain'],
  ['mutect2_tumour.vcf', 7, 'plain'],
  ['gvcf_blocks.vcf', 5, 'plain'],
  ['sniffles_translocations.vcf', 140, 'plain'],
  ['strelka_somatic.vcf', 20, 'plain'],
  ['exac_csq.vcf.gz', 148, 'bgzf'],
  ['vep_grch38_sites.vcf', 173, 'plain'],
  ['cnv.vcf', 200, 'plain'],
  ['spec_4.4.vcf', 9, 'plain'],
  ['structural.vcf', 7, 'plain'],
  ['snpeff_eff_old.vcf', 10, 'plain'],
  ['vep_annotated_grch38.vcf', 4, 'plain'],
  ['vep_csq_split.vcf.gz', 802, 'bgzf'],
  ['breakends_cgi.vcf.gz', 3791, 'bgzf'],
];

describe('real files', () => {
  test.each(recordCounts)('%s: %i lines, all stored', async (name, lines) => {
    const importedFile = await readWholeFile(`${fixtureFolder}/${name}`, 'vcf');
    expect(importedFile.notes.filter((note) => note.level === 'reject')).toEqual([]);
    expect(importedFile.lines).toBe(lines);
  });

  test.each(recordCounts)('%s: every value is what @gmod/vcf reads (F9)', async (name) => {
    const text = readFixtureText(name).replaceAll('\r', '');
    const fileLines = text.split('\n');
    const start = fileLines.findIndex((line) => line.startsWith('#CHROM'));
    const header = fileLines.slice(0, start + 1).map((line) => line.replace(/\t+$/, ''));
    const parser = new VCF({ header: header.join('\n'), strict: false });
    const { rows, columns } = await readWholeFile(`${fixtureFolder}/${name}`, 'vcf');
    const types = new Map(
      columns[0]!.find((one) => one.name === 'info')?.children!.map((one) => [one.name, one]) ?? [],
    );
    let rowIndex = 0;
    for (const line of fileLines.slice(start + 1).filter((one) => one !== '')) {
      const parsedRecord = parser.parseLine(line);
      const fields = line.split('\t');
      for (const alt of fields[4] === '.' ? [fields[3]!] : fields[4]!.split(',')) {
        const row = rows[rowIndex++] as Record<string, never>;
        const chromosome = parsedRecord.CHROM!.replace(/^chr/i, '');
        expect(row.genomic_coordinates).toMatchObject({ chromosome, start: parsedRecord.POS });
        expect(row.reference_allele).toBe(parsedRecord.REF);
        expect(row.allele).toBe(alt);
        expect(row.alternate_alleles).toEqual(parsedRecord.ALT ?? []);
        expect(row.qual).toEqual(parsedRecord.QUAL ?? undefined);
        expect(row.row_id).toBe(parsedRecord.ID?.join(';'));
        expect(row.filter).toEqual(
          parsedRecord.FILTER === 'PASS' ? [] : (parsedRecord.FILTER ?? undefined),
        );
        compareInfo((row.info ?? {}) as Record<string, unknown>, fields[7]!, types, name);
      }
    }
    expect(rowIndex).toBe(rows.length);
  });

  /** Compares the INFO values of a record with the text of the line, split by the test and converted to the types of the columns. */
  function compareInfo(
    info: Record<string, unknown>,
    text: string,
    types: ReadonlyMap<
      string,
      { readonly type: string; readonly isList: boolean; readonly children?: unknown }
    >,
    file: string,
  ): void {
    // Fields whose values ClinVar separates by bars, according to its release notes.
    const barSeparatedKeys = /^(?:CLN|ONC|SCI)(?:DN|DISDB|REVSTAT)|^(?:CLNVI|RS)$/;
    // Fields in which ClinVar, until 2017, separated the alleles by commas and the values of one allele by bars.
    const alleleSeparatedKeys = /^CLN(?:ACC|SIG|REVSTAT)$/;
    const seenKeys = new Set<string>();
    for (const item of text === '.' ? [] : text.split(';').filter((one) => one !== '')) {
      const [key, ...rest] = item.split('=') as [string, ...string[]];
      if (seenKeys.has(key)) continue;
      seenKeys.add(key);
      const value = rest.length === 0 ? null : rest.join('=');
      const column = types.get(key)!;
      if (column.children !== undefined) continue; // another test covers annotations
      const valueOfPart = (part: string): unknown => {
        if (part === '.' || part === '') return null;
        if (column.type === 'boolean') return part === '1';
        if (column.type === 'integer' || column.type === 'double')
          return part.toLowerCase() === 'nan' ? null : Number(part);
        return part.includes('%') ? expect.any(String) : part;
      };
      const storedValue = info[key] ?? null;
      const isBarSeparated = file.includes('clinvar') && barSeparatedKeys.test(key);
      const isAlleleSeparated = file.startsWith('trio') && alleleSeparatedKeys.test(key);
      const separator = isBarSeparated ? '|' : isAlleleSeparated ? /[,|]/ : ',';
      if (value === null) expect(storedValue).toBe(column.type === 'boolean' ? true : null);
      else if (column.isList)
        expect(storedValue).toEqual(
          value === '.' || value === '' ? null : value.split(separator).map(valueOfPart),
        );
      else if (column.type === 'string') expect(storedValue).toEqual(valueOfPart(value));
      else expect(storedValue).toEqual(valueOfPart(value.split(',')[0]!));
    }
    expect(Object.keys(info).filter((key) => !seenKeys.has(key.replace(/_gene$/, '')))).toEqual([]);
  }

  test('genotypes and typed FORMAT values equal what @gmod/vcf reads', async () => {
    for (const name of [
      'spec_simple_4.3.vcf',
      'freebayes_7_samples.vcf',
      'strelka_somatic.vcf',
      'hail_100_samples.vcf.gz',
    ]) {
      const fileLines = readFixtureText(name).split('\n');
      const start = fileLines.findIndex((line) => line.startsWith('#CHROM'));
      const parser = new VCF({ header: fileLines.slice(0, start + 1).join('\n'), strict: false });
      const { rows } = await readWholeFile(`${fixtureFolder}/${name}`, 'vcf');
      let rowIndex = 0;
      for (const line of fileLines.slice(start + 1).filter((one) => one !== '')) {
        const parsedSamples = parser.parseLine(line).SAMPLES() as Record<
          string,
          Record<string, unknown[]>
        >;
        const alternateCount = line.split('\t')[4]!.split(',').length;
        for (let allele = 0; allele < alternateCount; allele++) {
          const storedSamples = rows[rowIndex++]!.sample as Record<string, unknown>[];
          expect(storedSamples.map((one) => one.name)).toEqual(parser.samples);
          // The values of a line are compared in one comparison, because a hundred samples have too many values for single ones.
          const [foundValues, expectedValues]: [unknown[], unknown[]] = [[], []];
          for (const sample of storedSamples) {
            for (const [key, values] of Object.entries(parsedSamples[sample.name as string]!)) {
              const value = sample[key] ?? null;
              const isMissing = (values ?? []).every((one) => one === undefined || one === null);
              foundValues.push([
                sample.name,
                key,
                value === null || Array.isArray(value) ? value : [value],
              ]);
              expectedValues.push([
                sample.name,
                key,
                value === null && isMissing ? null : values.map((one) => one ?? null),
              ]);
            }
          }
          expect(foundValues).toEqual(expectedValues);
        }
      }
    }
  });

  test('annotations become objects keyed by the names in the header (F10)', async () => {
    const { rows } = await readWholeFile(`${fixtureFolder}/snpeff_ann_chr22.vcf`, 'vcf');
    const lines = readFixtureText('snpeff_ann_chr22.vcf')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    for (const [i, line] of lines.entries()) {
      const text = /(?:^|;)ANN=([^;\t]*)/.exec(line.split('\t')[7]!)![1]!;
      const ann = (rows[i]!.info as { ANN: Record<string, unknown>[] }).ANN;
      expect(ann).toHaveLength(text.split(',').length);
      for (const [k, one] of text.split(',').entries()) {
        const parts = one.split('|');
        expect(ann[k]!.Allele).toBe(parts[0]);
        expect(ann[k]!.Annotation).toEqual(parts[1]!.split('&'));
        expect(ann[k]!.Gene_Name).toBe(parts[3]);
        expect(ann[k]!.HGVS_c ?? '').toBe(parts[9]);
      }
    }
  });

  test('the genome build comes from contig lengths, the reference or the parameter', async () => {
    const readBuild = async (name: string, params = {}) =>
      (await readWholeFile(`${fixtureFolder}/${name}`, 'vcf', { params })).genomeBuild;
    expect(await readBuild('clinvar_grch38.vcf.gz')).toBe('GRCh38');
    expect(await readBuild('exac_csq.vcf.gz')).toBe('GRCh37');
    expect(await readBuild('vep_grch38_sites.vcf')).toBe('GRCh37'); // GRCh37 is the default, because the file does not show its build
    expect(await readBuild('vep_grch38_sites.vcf', { genome_build: 'grch38' })).toBe('GRCh38');
  });
});

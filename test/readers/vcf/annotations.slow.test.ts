import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { seededRandom as seeded } from '../../random.js';
import type { Columns } from '../../../engine/core/types.js';
import { lenientParams } from '../import-pieces.js';
import { importSource } from '../import-source.js';
import { readWholeFile } from '../read-all.js';
import { seed } from '../../seed.js';

const fixtureFolder = 'test/fixtures/vcf';
const folder = mkdtempSync(join(tmpdir(), 'strandlake-annotations-'));
afterAll(() => rmSync(folder, { recursive: true }));

type ImportedRow = Record<string, unknown>;
type Annotation = Record<string, unknown> | string | undefined;

const coordinatesOf = (row: ImportedRow) =>
  row.genomic_coordinates as { chromosome: string; start: number };
const infoOf = (row: ImportedRow) => (row.info ?? {}) as Record<string, Annotation | Annotation[]>;

function importExploded(
  name: string,
  key: string,
  path = `${fixtureFolder}/${name}`,
  targetBytes?: number,
) {
  const params = { explode_annotations: true, annotations_key: key };
  return readWholeFile(
    path,
    'vcf',
    targetBytes === undefined ? { params } : { params, targetBytes },
  );
}

/**
 * Returns the names that annotations may use for an allele, according to the manuals of the tools and without the code of the product: the
 * allele itself, and at indels whose alleles share their first base also the allele without this base, or `-` if nothing remains.
 */
function alleleNamesOf(allele: string, alleles: readonly string[]): string[] {
  const plainAlleles = alleles.filter((one) => one !== '*');
  const isIndel = plainAlleles.some((one) => one.length !== plainAlleles[0]!.length);
  const isShared = new Set(plainAlleles.map((one) => one[0])).size === 1;
  return isIndel && isShared && allele !== '*'
    ? [allele, allele.length > 1 ? allele.slice(1) : '-']
    : [allele];
}

/**
 * Returns the rows that an import with exploded annotations must have: one for each annotation of a row's allele or of none of the
 * alternate alleles, or one without annotation.
 */
function explodeRows(rows: readonly ImportedRow[], key: string): ImportedRow[] {
  return rows.flatMap((row) => {
    const list = infoOf(row)[key];
    if (list === undefined || list === null) return [row];
    const alternates = row.alternate_alleles as string[];
    const alleles = [row.reference_allele as string, ...alternates];
    const ownAnnotations = (list as Annotation[]).filter((one) => {
      const allele = (one as Record<string, unknown>).Allele as string | undefined;
      if (alternates.length < 2 || allele === undefined) return true;
      if (alleleNamesOf(row.allele as string, alleles).includes(allele)) return true;
      return !alternates.some((other) => alleleNamesOf(other, alleles).includes(allele));
    });
    const { [key]: _, ...rest } = infoOf(row);
    if (ownAnnotations.length === 0) return [{ ...row, info: rest }];
    return ownAnnotations.map((one) => ({ ...row, info: { ...rest, [key]: one } }));
  });
}

describe('explode_annotations makes one record per annotation (F10)', () => {
  test.each([
    ['snpeff_ann_chr22.vcf', 'ANN'],
    ['trio_sv_csq.vcf.gz', 'CSQ'],
    ['exac_csq.vcf.gz', 'CSQ'],
    ['vep_annotated_grch38.vcf', 'CSQ'],
    ['vep_csq_split.vcf.gz', 'CSQ'],
    ['snpeff_eff_old.vcf', 'EFF'],
    ['gnomad_csq.vcf.gz', 'CSQ'], // declared in the header, but in no line
    ['sites_1kg.vcf', 'ANN'], // not declared in the header
  ])('%s by %s: the records with lists, one per element', async (name, key) => {
    const listedRead = await readWholeFile(`${fixtureFolder}/${name}`, 'vcf', {
      params: { annotations_key: key },
    });
    const importedFile = await importExploded(name, key);
    expect(importedFile.notes.filter((note) => note.level === 'reject')).toEqual([]);
    expect(importedFile.rows).toEqual(explodeRows(listedRead.rows, key));
    const column = importedFile.columns[0]!.find((one) => one.name === 'info')?.children!.find(
      (one) => one.name === key,
    );
    expect(column?.isList ?? false).toBe(false);
  });

  test('CSQ annotations equal those of bcftools +split-vep', async () => {
    const oracleRows = gunzipSync(readFileSync(`${fixtureFolder}/annotations.split-vep.tsv.gz`))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    for (const name of new Set(oracleRows.map(([file]) => file!))) {
      const { rows } = await importExploded(name, 'CSQ');
      const foundLines = rows.flatMap((row) => {
        const firstAnnotation = infoOf(row).CSQ as Record<string, string | string[]> | undefined;
        if (firstAnnotation === undefined) return [];
        const parts = [
          firstAnnotation.Allele,
          firstAnnotation.Consequence,
          firstAnnotation.Feature,
          firstAnnotation.HGVSc,
        ].map((part) => (Array.isArray(part) ? part.join('&') : (part ?? '.')));
        const alternates = (row.alternate_alleles as string[]).join(',');
        return [[coordinatesOf(row).start, alternates, ...parts].join('\t')];
      });
      const expectedLines = oracleRows
        .filter(([file]) => file === name)
        .map((line) => line.slice(1).join('\t'));
      expect(foundLines.sort()).toEqual(expectedLines.sort());
    }
  });

  test('an annotation of one of several alleles is part of the record of that allele only', async () => {
    const { rows } = await importExploded('vep_annotated_grch38.vcf', 'CSQ');
    const pairs = rows
      .filter((row) => coordinatesOf(row).start === 7676200)
      .map((row) => [row.allele, (infoOf(row).CSQ as Record<string, unknown>).Allele]);
    expect(pairs).toEqual([
      ['A', 'A'],
      ['C', 'C'],
    ]);
  });

  test('old SnpEff effects are split at their brackets', async () => {
    const { rows } = await importExploded('snpeff_eff_old.vcf', 'EFF');
    expect(infoOf(rows[0]!).EFF).toEqual({
      Effect: 'DOWNSTREAM',
      Effect_Impact: 'MODIFIER',
      Amino_Acid_length: '85',
      Gene_Name: 'FAM138A',
      Gene_BioType: 'protein_coding',
      Coding: 'CODING',
      Transcript: 'ENST00000417324',
    });
    const effects = [
      ...readFileSync(`${fixtureFolder}/snpeff_eff_old.vcf`, 'utf8').matchAll(/[A-Z_]+\(/g),
    ].length;
    expect(rows).toHaveLength(effects);
  });

  const format = `Description="Functional annotations: 'Allele | Annotation | Gene_Name'"`;
  const versionLine = '##fileformat=VCFv4.3\n';
  const columnLine = '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
  const declaredText = `${versionLine}##INFO=<ID=ANN,Number=.,Type=String,${format}>\n${columnLine}`;
  const cases: readonly (readonly [string, string, string, string, readonly unknown[]])[] = [
    ['pipes missing', declaredText, 'T', 'ANN=T|a,T', [{ Allele: 'T', Annotation: ['a'] }, { Allele: 'T' }]],
    ['parts empty', declaredText, 'T', 'ANN=||,T||G', [{}, { Allele: 'T', Gene_Name: 'G' }]],
    ['an annotation empty', declaredText, 'T', 'ANN=T|a|G,', [{ Allele: 'T', Annotation: ['a'], Gene_Name: 'G' }, {}]],
    ['value missing', declaredText, 'T', 'ANN=.', [undefined]],
    ['value empty', declaredText, 'T', 'ANN=', [{}]],
    ['no value', declaredText, 'T', 'ANN', [undefined]],
    ['key absent', declaredText, 'T', 'DP=3', [undefined]],
    ['INFO missing', declaredText, 'T', '.', [undefined]],
    ['key twice', declaredText, 'T', 'ANN=T|a;ANN=T|b', [{ Allele: 'T', Annotation: ['a'] }]],
    ['key behind others', declaredText, 'T', 'XANN=1;;ANN=T|a;Y', [{ Allele: 'T', Annotation: ['a'] }]],
    ['escapes', declaredText, 'T', 'ANN=T|a%2Cb', [{ Allele: 'T', Annotation: ['a,b'] }]],
    ['another allele', declaredText, 'T', 'ANN=G|a', [{ Allele: 'G', Annotation: ['a'] }]],
    ['an allele of none', declaredText, 'T,G', 'ANN=C|a', [{ Allele: 'C', Annotation: ['a'] }, { Allele: 'C', Annotation: ['a'] }]],
    ['an allele without', declaredText, 'T,G', 'ANN=G|a,G|b', [undefined, { Allele: 'G', Annotation: ['a'] }, { Allele: 'G', Annotation: ['b'] }]],
    ['no format', `${versionLine}##INFO=<ID=ANN,Number=.,Type=String,Description="x">\n${columnLine}`, 'T', 'ANN=T|a,T|b', ['T|a', 'T|b']],
    [
      'one value promised',
      `${versionLine}##INFO=<ID=ANN,Number=1,Type=String,Description="x">\n${columnLine}`,
      'T',
      'ANN=T|a,T|b',
      ['T|a', 'T|b'],
    ],
    ['not declared', versionLine + columnLine, 'T', 'ANN=T|a,T|b', ['T|a', 'T|b']],
    ['a flag', `${versionLine}##INFO=<ID=ANN,Number=0,Type=Flag,Description="x">\n${columnLine}`, 'T', 'ANN', [true]],
    ['numbers', `${versionLine}##INFO=<ID=ANN,Number=A,Type=Integer,Description="x">\n${columnLine}`, 'T', 'ANN=1,2', [1, 2]],
  ]; // prettier-ignore
  test.each(cases)('%s', async (_name, head, alt, info, want) => {
    const path = join(folder, 'case.vcf');
    writeFileSync(path, `${head}1\t5\t.\tA\t${alt}\t.\t.\t${info}\n1\t6\t.\tA\tC\t.\t.\tDP=1\n`);
    const { rows, notes } = await importExploded('case.vcf', 'ANN', path);
    expect(notes.filter((note) => note.level === 'reject')).toEqual([]);
    expect(rows.slice(0, -1).map((one) => infoOf(one).ANN)).toEqual(want);
    expect(coordinatesOf(rows.at(-1)!).start).toBe(6);
  });

  test('existing fields of the dataset keep their types', async () => {
    const path = join(folder, 'given.vcf');
    writeFileSync(path, `${declaredText}1\t5\t.\tA\tT\t.\t.\tANN=T|a,T|b\n`);
    const firstAnnotation = { Allele: 'T', Annotation: ['a'] };
    const secondAnnotation = { Allele: 'T', Annotation: ['b'] };
    const readAnnotations = async (explodes: boolean, known: Columns) => {
      const params = { explode_annotations: explodes };
      const { rows, columns, notes } = await readWholeFile(path, 'vcf', { params, known });
      return { annotations: rows.map((row) => infoOf(row).ANN), columns: columns[0]!, notes };
    };
    const listedRead = await readAnnotations(false, []);
    const explodedRead = await readAnnotations(true, []);
    expect(listedRead.annotations).toEqual([[firstAnnotation, secondAnnotation]]);
    expect(explodedRead.annotations).toEqual([firstAnnotation, secondAnnotation]);
    // If the dataset stores lists in the field, each exploded annotation becomes a list of one element.
    expect((await readAnnotations(true, listedRead.columns)).annotations).toEqual([
      [firstAnnotation],
      [secondAnnotation],
    ]);
    // If the dataset stores a single value in the field, the first annotation of a list is stored, with a warning.
    const readAsSingleValues = await readAnnotations(false, explodedRead.columns);
    expect(readAsSingleValues.annotations).toEqual([firstAnnotation]);
    expect(readAsSingleValues.notes).toMatchObject([
      { level: 'warn', line: declaredText.split('\n').length, code: 303, field: 'info.ANN' },
    ]);
  });

  test('more parts than the header names are kept as extra, with a warning per annotation', async () => {
    const path = join(folder, 'parts.vcf');
    const [infoWithOnePart, infoWithExtraParts] = ['ANN=T|a', 'ANN=T|a,T|a|b|c||d%2Ce,T|a||,T|a||||x'];
    const lines = [infoWithOnePart, infoWithOnePart, infoWithExtraParts].map((ann, i) => `1\t${i + 5}\t.\tA\tT\t.\t.\t${ann}\n`);
    writeFileSync(path, declaredText + lines.join(''));
    const firstAnnotation = { Allele: 'T', Annotation: ['a'] };
    const expectedAnnotations = [firstAnnotation, { ...firstAnnotation, Gene_Name: 'b', extra: ['c', null, 'd,e'] }, firstAnnotation, { ...firstAnnotation, extra: [null, null, 'x'] }];
    const { rows, notes } = await readWholeFile(path, 'vcf');
    expect(rows.map((row) => infoOf(row).ANN)).toEqual([[firstAnnotation], [firstAnnotation], expectedAnnotations]);
    const warning = { level: 'warn', line: 6, code: 301, field: 'info.ANN' };
    expect(notes).toMatchObject([warning, warning]);
    const explodedRead = await importExploded('parts.vcf', 'ANN', path);
    expect(explodedRead.rows.map((row) => infoOf(row).ANN)).toEqual([firstAnnotation, firstAnnotation, ...expectedAnnotations]);
    // The lines before the last have no further parts (the key `extra`); the records are the same if these lines are in chunks of their
    // own.
    const text = declaredText + lines.join('');
    const wholeRead = await importSource(text, 'vcf');
    const cutRead = await importSource(text, 'vcf', { targetBytes: 20, isReadTwice: true });
    expect(cutRead.chunks).toBeGreaterThan(2);
    expect(cutRead.rows).toEqual(wholeRead.rows);
    expect(cutRead.columns).toEqual(wholeRead.columns);
    const laterRead = await importSource(text, 'vcf', { known: wholeRead.columns });
    expect(laterRead.columns).toEqual(wholeRead.columns);
    expect(laterRead.rows).toEqual(wholeRead.rows);
    const strictRead = await importSource(text, 'vcf', { validation: { ...lenientParams, strict: true } });
    expect(strictRead.findings).toMatchObject({ errors: 1, records: 1 });
  }); // prettier-ignore

  test('ten thousand annotations on one line are ten thousand records', async () => {
    const path = join(folder, 'many.vcf');
    const annotationTexts = Array.from({ length: 10_000 }, (_, i) => `T|a${i}|G`);
    writeFileSync(
      path,
      `${declaredText}1\t5\t.\tA\tT\t.\t.\tDP=3;ANN=${annotationTexts.join(',')};Z=1\n`,
    );
    const { rows } = await importExploded('many.vcf', 'ANN', path);
    expect(rows).toHaveLength(10_000);
    for (const [i, one] of rows.entries()) {
      const ANN = { Allele: 'T', Annotation: [`a${i}`], Gene_Name: 'G' };
      expect(one.info).toEqual({ DP: '3', ANN, Z: '1' });
    }
  });

  test('a line whose records would repeat too much is refused before a record is created (T0: vcfLineRecordBytes)', async () => {
    const path = join(folder, 'large.vcf');
    const info = `ANN=${'T|a,'.repeat(300_000)}T|a;NOTE=${'x'.repeat(3000)}`;
    writeFileSync(path, `${declaredText}1\t5\t.\tA\tT\t.\t.\t${info}\n1\t6\t.\tA\tC\t.\t.\t.\n`);
    const { rows, notes } = await importExploded('large.vcf', 'ANN', path);
    expect(rows).toHaveLength(1);
    expect(notes).toMatchObject([{ level: 'reject', line: 4, code: 0 }]);
    expect(notes[0]!.message).toMatch(
      /^the 300001 records of this line would repeat \d+ bytes each, and 256 MiB is the most that a line may make: split its alleles/,
    );
  });

  test(`any split gives the same records (seed ${seed})`, async () => {
    const random = seeded(seed);
    const expectedRows = (await importExploded('vep_csq_split.vcf.gz', 'CSQ')).rows;
    for (let round = 0; round < 3; round++) {
      const size = 1 + Math.floor(random() * 700_000);
      const path = `${fixtureFolder}/vep_csq_split.vcf.gz`;
      expect((await importExploded('', 'CSQ', path, size)).rows).toEqual(expectedRows);
    }
  });

  test.each([['yes'], [1], ['true']])('explode_annotations %p is refused', async (value) => {
    const params = { explode_annotations: value };
    await expect(
      readWholeFile(`${fixtureFolder}/sites_1kg.vcf`, 'vcf', { params }),
    ).rejects.toThrow(/explode_annotations: expected true or false/);
  });
});

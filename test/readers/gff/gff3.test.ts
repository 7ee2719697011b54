import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { util } from '@gmod/gff';
import { describe, expect, test } from '@jest/globals';
import type { Columns, Row } from '../../../engine/core/types.js';
import { readerForFile } from '../../../readers/index.js';
import { seededRandom } from '../../random.js';
import { lenientParams } from '../import-pieces.js';
import { importSource, importErrorMessage, withoutCoordinates } from '../import-source.js';
import { describeColumnTypes } from '../rows.js';
import { seed } from '../../seed.js';
import { byTier } from '../../tier.js';

const fixtureFolder = 'test/fixtures/gff3';

/** The number of features in each file, counted with awk; see SOURCES.md beside the files. */
const featureCounts: readonly (readonly [string, number])[] = [
  ['gencode_vM22.gff3', 70],
  ['gencode_vM22.gff3.gz', 70],
  ['ncbi_ASM69900v1.gff3', 185],
  ['ensembl_grch38_97.gff3', 82],
  ['canonical_gene.gff3', 23],
  ['child_before_parent.gff3', 2],
  ['url_encoding.gff3', 1],
  ['with_fasta.gff3', 12],
  ['with_fasta_artemis.gff3', 12],
  ['ordered_cofeatures.gff3', 4],
  ['ncbi_grch38_with_fasta.gff', 20],
  ['protein_domains_messy.gff3', 1009],
  ['tomato_syncs.gff3', 249],
  ['directives.gff3', 0],
  ['quantitative.gff3', 7],
  ['mm9_ensembl.gff3', 190],
  ['fly_FBgn0031208.gff', 27],
  ['nonascii.gff3', 25],
  ['ncbi_hg38_MYC.gff', 15],
  ['ensembl_MYC.gff3', 76],
];

function readFixtureText(name: string): string {
  const bytes = readFileSync(`${fixtureFolder}/${name}`);
  return (bytes[0] === 31 ? gunzipSync(bytes) : bytes).toString('utf8');
}

/** Returns the feature lines of a file, found by a simple filter as in awk. */
function featuresOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  const fasta = lines.findIndex((line) => line.startsWith('##FASTA') || line.startsWith('>'));
  return lines
    .slice(0, fasta < 0 ? undefined : fasta)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
}

describe('real files', () => {
  test.each(featureCounts)('%s: %i features, each as @gmod/gff reads it', async (name, count) => {
    expect(readerForFile(name).name).toBe('gff3');
    const text = readFixtureText(name);
    const { rows, columns, error } = await importSource(
      readFileSync(`${fixtureFolder}/${name}`),
      'gff3',
    );
    expect(error).toBeNull();
    expect(rows.length).toBe(count);
    const listKeys = listsOf(columns);
    const expectedFeatures = featuresOf(text).map((line) => oracleFeature(line, listKeys));
    const foundFeatures = rows.map(withoutCoordinates);
    expect(foundFeatures).toEqual(expectedFeatures);
  });

  test('any split, compression and order of the chunks gives the same records', async () => {
    console.log(`gff3 cuts seed ${seed}`);
    const next = seededRandom(seed);
    const layers = ['plain', 'gzip', 'bgzf'] as const;
    for (const [i, [name]] of featureCounts.filter(([file]) => !file.endsWith('.gz')).entries()) {
      const text = readFixtureText(name);
      const wholeRead = await importSource(text, 'gff3');
      for (const layer of byTier<readonly (typeof layers)[number][]>([layers[i % 3]!], layers)) {
        const targetBytes = 1 + Math.floor((next() * text.length) / 2);
        const cutRead = await importSource(text, 'gff3', { layer, targetBytes, shuffle: next });
        expect(cutRead.rows).toEqual(wholeRead.rows);
        expect(describeColumnTypes(cutRead.columns)).toBe(describeColumnTypes(wholeRead.columns));
        expect(cutRead.findings).toEqual(wholeRead.findings);
      }
    }
  });

  function listsOf(columns: Columns): ReadonlySet<string> {
    const attributes = columns.find(({ name }) => name === 'attributes')?.children ?? [];
    return new Set(attributes.filter(({ isList }) => isList).map(({ name }) => name));
  }

  function oracleFeature(line: string, listKeys: ReadonlySet<string>): Row {
    const { seq_id, attributes, phase, ...rest } = util.parseFeature(line);
    const entries = Object.entries(attributes ?? {}).map(([key, values]) => [
      key,
      listKeys.has(key) ? values : values![0],
    ]);
    // The oracle (@gmod/gff) leaves out attributes without a value, for which the reader stores the empty text.
    const emptyKeys = line
      .split('\t')[8]!
      .split(';')
      .filter((one) => /^\s*[^=\s][^=]*(?:=\s*)?$/.test(one))
      .map((one) => one.replace('=', '').trim());
    for (const key of emptyKeys) entries.push([key, listKeys.has(key) ? [''] : '']);
    return {
      seqid: seq_id,
      ...rest,
      phase: phase === null ? null : Number(phase),
      attributes: attributes === null ? null : Object.fromEntries(entries),
    } as Row;
  }
});

const gff3Line = (attributes: string, columns: Record<number, string> = {}): string => {
  const cells = ['c1', 's', 'gene', '5', '9', '.', '+', '.', attributes];
  for (const [i, text] of Object.entries(columns)) cells[Number(i)] = text;
  return cells.join('\t');
};

test('many values per line are in the rows of their lines', async () => {
  const values = (row: number) => Array.from({ length: 1 + (row % 90) }, (_, i) => `${row}.${i}`);
  const attributes = Array.from({ length: 1_000 }, (_, row) => ({
    ID: `f${row}`,
    x: values(row),
    ...(row % 3 === 0 && { y: values(row + 1).join('+') }),
  }));
  const lines = attributes.map(({ ID, x, y }) =>
    gff3Line(`ID=${ID};x=${x.join(',')}${y === undefined ? '' : `;y=${y}`}`),
  );
  const { rows } = await importSource(lines.join('\n'), 'gff3');
  expect(rows.map((row) => row['attributes'])).toEqual(attributes);
});

describe('F12: rules of the specification', () => {
  test.each<[string, string, Row]>([
    ['values are listed by commas', 'ID=a;x=1,2', { ID: 'a', x: ['1', '2'] }],
    [
      'some keys are lists always',
      'Parent=p;Note=n;Alias=a;Dbxref=d;Ontology_term=o',
      {
        Parent: ['p'],
        Note: ['n'],
        Alias: ['a'],
        Dbxref: ['d'],
        Ontology_term: ['o'],
      },
    ],
    ['escapes do not separate', 'x=1%2C2;y=a%3Bb%3dc%09d%25', { x: '1,2', y: 'a;b=c\td%' }],
    ['escapes are UTF-8', 'x=%C3%A9;%C3%A9=x', { x: 'é', é: 'x' }],
    ['what is no escape stays', 'x=100%;y=%zz%4', { x: '100%', y: '%zz%4' }],
    ['more = belong to the value', 'x=a=b', { x: 'a=b' }],
    ['semicolons may trail and repeat', ';;x=1;; ;', { x: '1' }],
    ['spaces around are left out', ' x = 1 , 2 ; y =3 ', { x: ['1', '2'], y: '3' }],
    ['a key that comes twice is one list', 'x=1;y=2;x=3,4', { x: ['1', '3', '4'], y: '2' }],
    ['keys may differ by letter case alone', 'dbxref=a;Dbxref=b', { dbxref: 'a', Dbxref: ['b'] }],
    [
      'special keys are data',
      '__proto__=a;constructor=b',
      JSON.parse('{"__proto__":"a","constructor":"b"}'),
    ],
    ['a date is a text', 'x=2024-01-02;y=5', { x: '2024-01-02', y: '5' }],
    ['without a value: the empty text', 'x=;y', { x: '', y: '' }],
    ['an empty value in a list is left out', 'x=,1,;y=,', { x: '1', y: '' }],
  ])('%s: %s', async (_, text, attributes) => {
    const { rows, error } = await importSource(gff3Line(text), 'gff3');
    expect(error).toBeNull();
    expect(JSON.stringify(rows[0]!.attributes)).toBe(JSON.stringify(attributes));
  });

  test.each<[string, string, string, number]>([
    ['no value', 'x', 'an attribute has no "=": its value is the empty text', 0],
    ['an empty one in a list', 'x=1,', 'a list of values has an empty one, which is left out', 0],
    ['no UTF-8', 'x=%FF', 'an escape that is not UTF-8 was replaced by U+FFFD', 0],
  ])('warns of %s', async (_, text, message, code) => {
    const { findings, rows } = await importSource(gff3Line(text), 'gff3');
    expect(findings.examples).toMatchObject([{ level: 'warning', line: 1, code, message }]);
    expect(rows.length).toBe(1);
    const strictParams = {
      disable: false,
      raiseOnErrors: false,
      strict: true,
      allowNewFields: false,
    };
    const refusedRead = await importSource(gff3Line(text), 'gff3', { validation: strictParams });
    expect(refusedRead.error).toMatch(/^file, line 1: /);
    expect(refusedRead.error).toContain(message);
    expect(refusedRead.rows).toEqual([]);
  });

  test('a dot is null, and so is an empty column', async () => {
    const text = [
      gff3Line('.', { 0: '.', 1: '.', 2: '.', 3: '.', 4: '.', 6: '.' }),
      gff3Line('', { 1: '' }),
    ];
    const { rows } = await importSource(text.join('\n'), 'gff3', {
      params: { genome_build: 'GRCh37' },
    });
    const nulls = { score: null, phase: null };
    expect(rows[0]).toEqual({
      genomic_coordinates: null,
      seqid: null,
      source: null,
      type: null,
      start: null,
      end: null,
      strand: null,
      ...nulls,
    });
    expect(rows[1]).toEqual({
      genomic_coordinates: { build: 'GRCh37', chromosome: 'c1', start: 5, stop: 9 },
      seqid: 'c1',
      source: null,
      type: 'gene',
      start: 5,
      end: 9,
      strand: '+',
      ...nulls,
    });
  });

  test('escapes are decoded in the first three columns; numbers and strands are parsed', async () => {
    const text = gff3Line('.', {
      0: 'chr%31',
      1: 'a%09b',
      2: 'x%20',
      5: '-1.5e-3',
      6: '?',
      7: '2',
    });
    const { rows } = await importSource(text, 'gff3', { params: { genome_build: 'grch38' } });
    expect(rows).toEqual([
      {
        genomic_coordinates: { build: 'GRCh38', chromosome: '1', start: 5, stop: 9 },
        seqid: 'chr1',
        source: 'a\tb',
        type: 'x ',
        start: 5,
        end: 9,
        score: -0.0015,
        strand: '?',
        phase: 2,
      },
    ]);
  });

  test.each<[string, string, string]>([
    [
      '8 columns',
      gff3Line('x').split('\t').slice(0, 8).join('\t'),
      'expected 9 columns separated by tabs, found 8 columns',
    ],
    ['10 columns', gff3Line('x\ty'), 'expected 9 columns separated by tabs, found 10 columns'],
    [
      'spaces for tabs',
      gff3Line('x').replaceAll('\t', ' '),
      'expected 9 columns separated by tabs, found one column',
    ],
    [
      'start 0',
      gff3Line('', { 3: '0' }),
      'a position counts from 1, 0 is none (code 301, Invalid Value for Field)',
    ],
    [
      'a start below 0',
      gff3Line('', { 3: '-4' }),
      'a position counts from 1, -4 is none (code 301, Invalid Value for Field)',
    ],
    [
      'a start that is no number',
      gff3Line('', { 3: '1e3' }),
      'a position counts from 1, "1e3" is no whole number (code 301, Invalid Value for Field)',
    ],
    [
      'start behind end',
      gff3Line('', { 3: '10' }),
      'the feature ends at 9, before its start 10 (code 301, Invalid Value for Field)',
    ],
    [
      'an unknown strand',
      gff3Line('', { 6: 'X' }),
      'the strand "X" is none of "+", "-", "." and "?" (code 301, Invalid Value for Field)',
    ],
    [
      'an unknown phase',
      gff3Line('', { 7: '3' }),
      'the phase "3" is none of 0, 1, 2 and "." (code 301, Invalid Value for Field)',
    ],
    [
      'a score that is no number',
      gff3Line('', { 5: 'high' }),
      'the score "high" is no number (code 301, Invalid Value for Field)',
    ],
    ['an attribute without a name', gff3Line('=x'), 'an attribute has no name before its "="'],
  ])('refuses %s with the line', async (_, bad, message) => {
    for (const targetBytes of [1, 1000]) {
      const text = `# a comment\n${gff3Line('ID=a')}\n\n${bad}\n${gff3Line('ID=b')}\n`;
      const { error, findings, rows } = await importSource(text, 'gff3', { targetBytes });
      const { field } = findings.examples[0]!;
      expect(error).toBe(`file, line 4: ${field === null ? '' : `field ${field}: `}${message}`);
      expect([findings.errors, findings.records, rows.length]).toEqual([1, 1, 2]);
    }
  });

  test.each(['gff3', 'gtf'])('%s: a score that is NaN or infinite is null with a counted warning, and an error if it is declared or validation strict', async (reader) => {
    const text = ['0.5', 'NaN', '-Inf', 'nan', '1e999'].map((score) => gff3Line('', { 5: score })).join('\n');
    for (const targetBytes of [1, 1000]) {
      const { rows, findings, error } = await importSource(text, reader, { targetBytes });
      expect([error, rows.map(({ score }) => score)]).toEqual([null, [0.5, null, null, null, null]]);
      expect([findings.counts, findings.warnings, findings.errors]).toEqual([{ 304: 2, 305: 2 }, 4, 0]);
    }
    const strictParams = { ...lenientParams, strict: true };
    expect((await importSource(text, reader, { validation: strictParams })).findings).toMatchObject({ counts: { 304: 2, 305: 2 }, errors: 4 });
    const declaredColumn = { name: 'score', physical: 'score', type: 'double', isList: false, isDeclared: true } as const;
    const { error, findings } = await importSource(text, reader, { known: [declaredColumn] });
    expect([error, findings.counts]).toEqual(['file, line 2: field score: the value is NaN (code 304, NaN Value for Field); 3 more errors', { 304: 2, 305: 2 }]);
    const uncheckedImport = await importSource(text, reader, { known: [declaredColumn], validation: { ...lenientParams, disable: true } });
    expect([uncheckedImport.error, uncheckedImport.findings.counts, uncheckedImport.rows.length]).toEqual([null, {}, 5]);
  }); // prettier-ignore

  test('values that do not fit are null when validation is off', async () => {
    const validation = {
      disable: true,
      raiseOnErrors: false,
      strict: false,
      allowNewFields: false,
    };
    const text = gff3Line('ID=a', { 3: '0', 5: 'high', 6: 'X', 7: '7' });
    const { rows, error } = await importSource(text, 'gff3', { validation });
    expect(error).toBeNull();
    expect(rows[0]).toMatchObject({ start: null, end: 9, score: null, strand: null, phase: null });
  });
});

describe('the end of the features', () => {
  const features = Array.from({ length: 30 }, (_, i) => gff3Line(`ID=f${i};n=${i}`));
  const sequence = Array.from({ length: 40 }, (_, i) => `ACGT${'ACGT'.repeat(i % 9)}`);

  test.each([
    ['##FASTA', ['##FASTA', '>c1', ...sequence, '>c2', ...sequence]],
    ['a FASTA header', ['>c1 description', ...sequence]],
    ['##FASTA that stands twice', ['## fasta', ...sequence, '##FASTA', ...sequence]],
    ['lines that look like features', ['##FASTA', ...features, '>c1', gff3Line('ID=last')]],
  ])('is %s, for any split, compression and order', async (_, tail) => {
    console.log(`gff3 fasta seed ${seed}`);
    const next = seededRandom(seed);
    const text = [...features, '###', ...tail].join('\n');
    const wholeRead = await importSource(text, 'gff3');
    expect(wholeRead.error).toBeNull();
    expect(wholeRead.rows.map(({ attributes }) => (attributes as Row).n)).toEqual(
      features.map((_feature, i) => String(i)),
    );
    for (let round = 0; round < 20; round++) {
      const targetBytes = 1 + Math.floor(next() ** 2 * text.length);
      const layer = (['plain', 'gzip', 'bgzf'] as const)[round % 3]!;
      const cutRead = await importSource(text, 'gff3', { targetBytes, layer, shuffle: next });
      expect(cutRead.rows).toEqual(wholeRead.rows);
      expect([cutRead.error, cutRead.findings, cutRead.columns]).toEqual([
        null,
        wholeRead.findings,
        wholeRead.columns,
      ]);
    }
  });

  test('may come before the first feature', async () => {
    const { rows, error } = await importSource('##gff-version 3\n##FASTA\n>c1\nACGT\n', 'gff3');
    expect([rows, error]).toEqual([[], null]);
  });
});

describe('lines', () => {
  const lines = [
    '##gff-version 3',
    gff3Line('ID=a'),
    '# note',
    '###',
    gff3Line('ID=b'),
    gff3Line('ID=c,d'),
  ];
  test.each<[string, string]>([
    ['CR LF', lines.join('\r\n') + '\r\n'],
    ['CR LF, no last', lines.join('\r\n')],
    ['CR alone', lines.join('\r') + '\r'],
    ['blank lines', `\n\n${lines.join('\n  \n')}\n\n`],
    ['a byte order mark', `\ufeff${lines.join('\n')}`],
  ])('that end in %s give the same records', async (_, text) => {
    const { rows } = await importSource(lines.join('\n'), 'gff3');
    expect(rows.length).toBe(3);
    expect((await importSource(text, 'gff3')).rows).toEqual(rows);
  });

  test('that are not UTF-8 contain U+FFFD, with a warning', async () => {
    const bytes = Buffer.from(
      `${gff3Line('ID=a')}\n${gff3Line('ID=x\u00ff')}\n${gff3Line('ID=b')}`,
      'latin1',
    );
    const { rows, findings } = await importSource(bytes, 'gff3');
    expect(rows.map(({ attributes }) => (attributes as Row).ID)).toEqual(['a', 'x\ufffd', 'b']);
    expect(findings.examples).toMatchObject([{ line: 2, level: 'warning' }]);
  });

  test('that begin with `comment` are skipped, those with # always', async () => {
    const text = `// one\n#two\n${gff3Line('ID=a')}\ntrack name=x\n`;
    const { error } = await importSource(text, 'gff3');
    expect(error).toContain('file, line 1: expected 9 columns');
    const commentedRead = await importSource(`// one\n#two\n${gff3Line('ID=a')}\n//\n`, 'gff3', {
      params: { comment: '//' },
    });
    expect([commentedRead.error, commentedRead.rows.length]).toEqual([null, 1]);
    for (const bad of ['', 5, 'a\tb'])
      await expect(importSource('', 'gff3', { params: { comment: bad } })).rejects.toMatchObject({
        code: 'invalid',
      });
  });
});

describe('attributes over all records', () => {
  test('a key is a list everywhere when one record has several values', async () => {
    const text = Array.from({ length: 50 }, (_, i) =>
      gff3Line(`ID=${i};x=${i === 33 ? '1,2' : i}`),
    ).join('\n');
    for (const targetBytes of [1, 40, 200, 1 << 20]) {
      const { rows, columns } = await importSource(text, 'gff3', { targetBytes });
      expect(describeColumnTypes(columns)).toContain('attributes:{ID:string x:[string]}');
      expect(rows.map(({ attributes }) => (attributes as Row).x)).toEqual(
        rows.map((_, i) => (i === 33 ? ['1', '2'] : [String(i)])),
      );
    }
  });

  test('the types of an existing dataset are kept', async () => {
    const knownColumns = (await importSource(gff3Line('ID=a;n=5;m=x,y'), 'gff3')).columns.map(
      (column) =>
        column.name !== 'attributes'
          ? column
          : {
              ...column,
              children: column.children!.map((one) =>
                one.name === 'n' ? { ...one, type: 'long' as const } : one,
              ),
            },
    );
    const goodRead = await importSource(gff3Line('ID=b;n=7;m=z;new=1'), 'gff3', {
      known: knownColumns,
    });
    expect(goodRead.error).toBeNull();
    expect(goodRead.rows[0]!.attributes).toEqual({ ID: 'b', n: 7, m: ['z'], new: '1' });
    const severalRead = await importSource(gff3Line('ID=b,c'), 'gff3', { known: knownColumns });
    expect(severalRead.findings.counts).toEqual({ 303: 1 });
    expect(severalRead.rows[0]!.attributes).toEqual({ ID: 'b' });
    const badRead = await importSource(gff3Line('ID=b;n=x'), 'gff3', { known: knownColumns });
    expect(badRead.error).toContain('file, line 1:');
    expect(badRead.findings.counts).toEqual({ 301: 1 });
  });

  test('a dataset whose field `attributes` has another type refuses them', async () => {
    const knownColumns = [
      { name: 'attributes', physical: 'attributes', type: 'string', isList: false },
    ] as const;
    const { error, findings } = await importSource(
      `${gff3Line('ID=b')}\n${gff3Line('.')}`,
      'gff3',
      {
        known: knownColumns,
      },
    );
    expect(error).toBe(
      'file, line 1: field attributes: an object is not a valid string (code 301, Invalid Value for Field)',
    );
    expect(findings.errors).toBe(1);
  });

  test('a value longer than a string may be makes its field a text, with a warning', async () => {
    const { findings, error } = await importSource(gff3Line(`ID=${'x'.repeat(32_767)}`), 'gff3');
    expect([findings.counts, error]).toEqual([{ 306: 1 }, null]);
  });
});

describe('the genome build', () => {
  test.each<[string, string, string | null]>([
    ['of a length', '##sequence-region chr1 1 248956422', 'GRCh38'],
    ['of a length', '##sequence-region   X 1 155270560', 'GRCh37'],
    ['of a directive', '##genome-build NCBI GRCh38', 'GRCh38'],
    ['of a directive', '#!genome-build GRCh37.p13', 'GRCh37'],
    ['of an accession', '#!genome-build-accession NCBI:GCA_000001405.14', 'GRCh37'],
    ['of a description', '#description: human genome (GRCh38), version 26', 'GRCh38'],
    ['of two', '#description: human genome (GRCh38), mapped to GRCh37', null],
    ['of a mouse', '##sequence-region chr1 1 195471971\n#!genome-build GRCm38', null],
    ['of none', '##gff-version 3', null],
  ])('%s: %s', async (_, comments, build) => {
    const text = `${comments}\n${gff3Line('ID=a', { 0: 'chr7' })}\n`;
    const { rows, genomeBuild } = await importSource(text, 'gff3');
    expect(genomeBuild).toBe(build);
    expect(rows[0]!.genomic_coordinates).toEqual(
      build === null ? undefined : { build, chromosome: '7', start: 5, stop: 9 },
    );
  });
});

describe('GVF', () => {
  const gvf = (strand: string, attributes: string, start = 5, end = 5) =>
    ['chr16', 's', 'SNV', start, end, '.', strand, '.', attributes].join('\t');
  test.each<[string, string, string | null]>([
    ['one allele', gvf('+', 'ID=a;Variant_seq=G;Reference_seq=C;'), 'GRCH38-16-5-5-G'],
    ['one besides the reference', gvf('+', 'ID=a;Variant_seq=A,g;Reference_seq=G'), 'GRCH38-16-5-5-A'],
    ['other characters', gvf('.', 'Reference_seq=T;Variant_seq=.,A,^,!'), 'GRCH38-16-5-5-A'],
    ['a deletion', gvf('+', 'Variant_seq=ATC,-;Reference_seq=ATC', 5, 7), 'GRCH38-16-5-7--'],
    ['an insertion', gvf('+', 'Variant_seq=ATC;Reference_seq=-'), 'GRCH38-16-5-5-ATC'],
    ['the reverse strand', gvf('-', 'Variant_seq=AAC;Reference_seq=TTT', 5, 7), 'GRCH38-16-5-7-GTT'],
    ['two alleles', gvf('+', 'Variant_seq=A,T;Reference_seq=C'), null],
    ['the reference alone', gvf('+', 'Variant_seq=@,C;Reference_seq=C'), null],
    ['a sequence left out', gvf('+', 'Variant_seq=~837;Reference_seq=-'), null],
    ['no reference', gvf('+', 'Variant_seq=A;xReference_seq=C'), null],
  ])('a feature with %s', async (_, feature, variant) => {
    const text = `##gff-version 3\n##gvf-version 1.10\n##genome-build NCBI GRCh38\n${feature}\n${gvf('+', 'Variant_seq=T;Reference_seq=A')}\n`;
    for (const targetBytes of [1, 1000]) {
      const { rows, error } = await importSource(text, 'gff3', { targetBytes });
      expect([error, rows.map((row) => row.variant)]).toEqual([null, [variant, 'GRCH38-16-5-5-T']]);
      expect(rows[0]!.genomic_coordinates).toMatchObject({ build: 'GRCh38', chromosome: '16', start: 5 });
    }
  });

  test('has no variants without a build, and GFF3 has none', async () => {
    const feature = gvf('+', 'Variant_seq=T;Reference_seq=A');
    for (const text of [`##gvf-version 1.10\n${feature}`, `##genome-build GRCh38\n${feature}`])
      expect((await importSource(text, 'gff3')).rows[0]).not.toHaveProperty('variant');
    expect(readerForFile('x.gvf.gz').name).toBe('gff3');
  });
}); // prettier-ignore

test('text that is not GFF3 is refused with one message', async () => {
  expect(await importErrorMessage('<html>\n</html>', 'gff3')).toContain('this is an HTML page');
  expect(await importErrorMessage(`#x\n${gff3Line('gene_id "a"; x "b";')}`, 'gff3')).toContain(
    'set reader_params.reader to "gtf"',
  );
  expect(await importErrorMessage('<?xml version="1.0"?>', 'gff3')).toContain(
    'this is XML, not GFF3',
  );
  expect((await importSource('', 'gff3')).warnings).toEqual(['the file is empty']);
});

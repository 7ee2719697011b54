import { describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

let datasetId: number;
const { ann, vaultId, newFile } = await startServerFixture();

async function newDataset(more: object = {}): Promise<void> {
  const name = `d${Math.random()}`;
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name, ...more }));
}

/** Imports records, or the records of a file if `source` is an id. */
async function importRecords(source: readonly object[] | number, target_fields: unknown) {
  const sourceParams =
    typeof source === 'number' ? { object_id: source } : { data_records: source };
  const createdImport = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    ...sourceParams,
    target_fields,
    entity_params: { disable: true },
  });
  expect([createdImport.status, createdImport.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  const validation = (json['metadata'] as { validation: { warnings: { code: number }[] } })
    .validation;
  return { ...json, codes: validation.warnings.map(({ code }) => code) } as Record<string, unknown>;
}

async function fetchStoredRecords(): Promise<unknown> {
  const body = { exclude_fields: ['_id', '_commit'] };
  return (await ann.post(`/v2/datasets/${datasetId}/data`, body)).json['results'];
}

async function countRecords(filters: readonly unknown[]): Promise<unknown> {
  const answer = await ann.post(`/v2/datasets/${datasetId}/data`, { filters, limit: 0 });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.json['total'];
}

async function readField(name: string): Promise<Record<string, unknown> | undefined> {
  return listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=${name}`))[0];
}

describe('target fields', () => {
  test('give fields their types: of flat files, of objects and of lists of objects', async () => {
    await newDataset();
    await importRecords(await newFile('a.csv', 'zip,Petal.Width,n\n01234,1.5,7\n99999,2,8\n'), [
      { name: 'zip', data_type: 'string' },
      { name: 'Petal.Width', data_type: 'string' },
      { name: 'n', data_type: 'integer' },
    ]);
    expect(await fetchStoredRecords()).toEqual([
      { zip: '01234', 'Petal.Width': '1.5', n: 7 },
      { zip: '99999', 'Petal.Width': '2', n: 8 },
    ]);

    await newDataset();
    const sourceRecords = [
      { info: { af: 1, deep: [{ id: 5 }, { id: 6 }] }, items: [{ n: 1 }], one: { n: 2 } },
      { info: { af: 2 }, items: { n: 3 }, one: { n: 4 } },
    ];
    const fileId = await newFile(
      'a.json',
      sourceRecords.map((one) => JSON.stringify(one)).join('\n'),
    );
    const endedImport = await importRecords(fileId, [
      { name: 'info.af', data_type: 'double' },
      { name: 'info.deep.id', data_type: 'string' },
      { name: 'items.n', data_type: 'string' },
      { name: 'one.n', data_type: 'string', is_list: true },
      { name: 'absent.x', data_type: 'long' },
    ]);
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect(await fetchStoredRecords()).toEqual([
      {
        info: { af: 1, deep: [{ id: '5' }, { id: '6' }] },
        items: [{ n: '1' }],
        one: { n: ['2'] },
      },
      { info: { af: 2 }, items: [{ n: '3' }], one: { n: ['4'] } },
    ]);
    expect((await readField('info.af'))?.['data_type']).toBe('double');
    expect(await readField('absent.x')).toMatchObject({ data_type: 'long', is_valid: false });
  });

  test('without a value in the source are created, empty', async () => {
    await newDataset({ fields: [{ name: 'open' }] });
    const endedImport = await importRecords(
      [{ a: 1 }],
      [
        { name: 'gene', data_type: 'string', entity_type: 'gene', title: 'Gene', ordering: 4 },
        { name: 'info.AF', data_type: 'double', is_list: true },
        { name: 'later' },
        { name: 'things', data_type: 'object' },
        { name: 'open', data_type: 'long' },
        { name: 'gone', data_type: 'long', is_transient: true },
        { name: '_commit', data_type: 'string' },
      ],
    );
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect(await readField('gene')).toMatchObject({
      data_type: 'string',
      entity_type: 'gene',
      title: 'Gene',
      ordering: 4,
      is_valid: false,
    });
    expect(await readField('info.AF')).toMatchObject({ data_type: 'double', is_list: true });
    expect(await readField('later')).toMatchObject({ data_type: 'auto', is_list: null });
    expect(await readField('things')).toMatchObject({ data_type: 'object' });
    expect(await readField('open')).toMatchObject({ data_type: 'long' });
    expect(await readField('gone')).toBeUndefined();
    expect(await fetchStoredRecords()).toEqual([
      { a: 1, gene: null, later: null, open: null, things: null },
    ]);
    expect(await countRecords([['info.AF__gt', 0.5]])).toBe(0);
    expect(await countRecords([{ not: [['gene', 'BRCA2']] }])).toBe(1);
    await importRecords([{ gene: 'BRCA2', info: { AF: [1] }, open: 1.0, things: { n: 1 } }], []);
    expect(await readField('info.AF')).toMatchObject({ data_type: 'double', is_valid: true });
    expect(await countRecords([['info.AF__gt', 0.5]])).toBe(1);
    expect(await countRecords([['things.n', 1]])).toBe(1);
  });

  test('make lists, texts, blobs and dates, and refuse what does not fit', async () => {
    await newDataset();
    const endedImport = await importRecords(
      [
        { tags: 'a', when: '2020-02-03', body: 'x'.repeat(40_000), raw: 1 },
        { tags: ['b', 'c'], when: '2020-02-03T04:05:06Z', body: 'y', raw: 'z' },
      ],
      [
        { name: 'tags', data_type: 'string', is_list: true },
        { name: 'when', data_type: 'date' },
        { name: 'body', data_type: 'text' },
        { name: 'raw', data_type: 'blob' },
      ],
    );
    expect([endedImport['status'], endedImport['codes']]).toEqual(['completed', [302]]);
    expect(await fetchStoredRecords()).toEqual([
      { tags: ['a'], when: '2020-02-03', body: 'x'.repeat(40_000), raw: '1' },
      { tags: ['b', 'c'], when: '2020-02-03T04:05:06', body: 'y', raw: 'z' },
    ]);

    await newDataset();
    const failedImport = await importRecords([{ n: 'twelve' }], [{ name: 'n', data_type: 'long' }]);
    expect(failedImport['status']).toBe('failed');
    expect(String(failedImport['error_message'])).toContain('n');
    const listImport = await importRecords(
      [{ n: [1, 2] }],
      [{ name: 'n', data_type: 'long', is_list: false }],
    );
    expect([listImport['status'], listImport['codes']]).toEqual(['completed', [303]]);
    expect(await fetchStoredRecords()).toEqual([{ n: 1 }]);
  });

  test('describe new fields, given as an object by name or as whole resources', async () => {
    await newDataset();
    await importRecords([{ a: 'x', o: { b: 'y' } }], {
      a: {
        title: 'A title',
        description: 'Words',
        ordering: 7,
        is_hidden: true,
        entity_type: 'sample',
        url_template: 'https://example.org/{value}',
      },
      'o.b': { id: 5, class_name: 'DatasetField', dataset_id: 1, title: 'B', expression: null },
    });
    expect(await readField('a')).toMatchObject({
      title: 'A title',
      description: 'Words',
      ordering: 7,
      is_hidden: true,
      entity_type: 'sample',
      url_template: 'https://example.org/{value}',
      data_type: 'string',
    });
    expect(await readField('o.b')).toMatchObject({ title: 'B', data_type: 'string' });
  });

  test('describe anew what the dataset has, and leave the rest of it', async () => {
    await newDataset({ fields: [{ name: 'd', data_type: 'string', title: 'Old', ordering: 3 }] });
    await importRecords([{ a: 1, d: 'x' }], []);
    const fieldBefore = await readField('a');
    await importRecords(
      [{ a: 2 }],
      [
        { ...fieldBefore, title: 'New', description: null },
        { name: 'd', is_hidden: true },
      ],
    );
    expect(await readField('a')).toMatchObject({
      title: 'New',
      description: '',
      data_type: 'long',
    });
    expect(await readField('d')).toMatchObject({ title: 'Old', ordering: 3, is_hidden: true });
  });

  test('that are transient are read and not stored', async () => {
    await newDataset();
    const sourceRecords = [
      { a: 1, secret: 'x', o: { keep: 1, drop: 2 }, only: { drop: 1 }, l: [{ p: 1, q: 2 }] },
      { a: 2, o: { drop: 3 }, l: [] },
    ];
    const endedImport = await importRecords(
      sourceRecords,
      ['secret', 'o.drop', 'only.drop', 'l.q'].map((name) => ({ name, is_transient: true })),
    );
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect(await fetchStoredRecords()).toEqual([
      { a: 1, o: { keep: 1 }, l: [{ p: 1 }] },
      { a: 2, o: {}, l: [] },
    ]);
    expect(await readField('secret')).toBeUndefined();
    expect(await readField('o.drop')).toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ['another type than the dataset has', [{ name: 'a', data_type: 'string' }], 'of type long'],
    ['a list where there is none', [{ name: 'a', is_list: true }], 'no list in this dataset'],
    ['to store no more', [{ name: 'a', is_transient: true }], 'is stored in this dataset'],
    ['a name twice', [{ name: 'z' }, { name: 'z' }], 'given twice'],
    ['a wrong expression', [{ name: 'z', expression: '1 +' }], 'expression: Syntax error'],
    ['no name', [{ title: 'z' }], 'name: This field is required'],
  ])('refuses %s', async (_, target_fields, message) => {
    await newDataset();
    await importRecords([{ a: 1 }], []);
    const answer = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      data_records: [],
      target_fields,
    });
    expect([answer.status, answer.json]).toEqual([
      400,
      { target_fields: [expect.stringContaining(message)] },
    ]);
  });
});

const vcfText = [
  '##fileformat=VCFv4.2',
  '##reference=GRCh38',
  '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">',
  '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
  '##INFO=<ID=WHEN,Number=1,Type=String,Description="Date">',
  '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
  '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts1',
  '1\t100\trs1\tA\tG\t5\tPASS\tAF=0.25;DP=7;NEW=2.5;WHEN=2020-02-03\tGT:ZZ\t0/1:4',
  '',
].join('\n');

/** The ways to declare fields, each with a function that creates a dataset and returns the `target_fields` of its import. */
const fieldDeclarationMethods: readonly [
  string,
  (fields: readonly object[]) => Promise<readonly object[]>,
][] = [
  [
    'with the dataset',
    async (fields) => {
      await newDataset({ fields });
      return [];
    },
  ],
  [
    'one by one',
    async (fields) => {
      await newDataset();
      for (const one of fields) {
        const createdField = await ann.post('/v2/dataset_fields', {
          dataset_id: datasetId,
          ...one,
        });
        expect([createdField.status, createdField.text]).toEqual([201, expect.any(String)]);
      }
      return [];
    },
  ],
  [
    'with the import',
    async (fields) => {
      await newDataset();
      return fields;
    },
  ],
];

describe.each(fieldDeclarationMethods)('fields declared %s', (_, declare) => {
  test('have their types in nested records', async () => {
    const targetFields = await declare([
      { name: 'info.AF', data_type: 'double' },
      { name: 'info.l', is_list: true },
      { name: 'info.s', data_type: 'string', is_list: true },
      { name: 'info.one', is_list: false },
      { name: 'genomic_coordinates.start', data_type: 'integer' },
      { name: 'o', data_type: 'object' },
      { name: 'os', data_type: 'object', is_list: true },
      { name: 'none', data_type: 'object' },
      { name: 'either', data_type: 'double' },
    ]);
    const endedImport = await importRecords(
      [
        {
          info: { AF: 1, l: 3, s: 'x', one: [4, 5] },
          genomic_coordinates: { start: 7 },
          o: { n: 1 },
          os: { n: 1 },
          none: null,
          either: 1,
        },
        { info: { AF: 2, l: [4, 5], s: ['y'], one: 6 }, o: null, os: [{ n: 2 }], either: [2, 3] },
      ],
      targetFields,
    );
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect(new Set(endedImport['codes'] as number[])).toEqual(new Set([203, 302, 303]));
    expect(await fetchStoredRecords()).toEqual([
      {
        info: { AF: 1, l: [3], s: ['x'], one: 4 },
        genomic_coordinates: { start: 7 },
        o: { n: 1 },
        os: [{ n: 1 }],
        either: [1],
        none: null,
      },
      {
        info: { AF: 2, l: [4, 5], s: ['y'], one: 6 },
        genomic_coordinates: null,
        o: null,
        os: [{ n: 2 }],
        either: [2, 3],
        none: null,
      },
    ]);
    for (const [name, data_type, is_list] of [
      ['info.AF', 'double', null],
      ['info.l', 'long', true],
      ['info.s', 'string', true],
      ['info.one', 'long', false],
      ['genomic_coordinates.start', 'integer', null],
      ['o', 'object', null],
      ['os', 'object', true],
      ['none', 'object', null],
      ['either', 'double', true],
    ] as const) {
      const storedField = await readField(name);
      expect([name, storedField?.['data_type'], storedField?.['is_list'] || null]).toEqual([
        name,
        data_type,
        is_list || null,
      ]);
    }
    expect(await countRecords([['info.AF__gt', 1.5]])).toBe(1);
    expect(await countRecords([['info.l', 4]])).toBe(1);
    expect(await countRecords([['os.n', 2]])).toBe(1);
    expect(await countRecords([['either__gte', 3]])).toBe(1);
    await importRecords([{ none: { x: 1 } }], []);
    expect(await countRecords([['none.x', 1]])).toBe(1);
  });

  test('refuse what is no object', async () => {
    const targetFields = await declare([{ name: 'o', data_type: 'object' }]);
    const endedImport = await importRecords([{ o: 'text' }], targetFields);
    expect([endedImport['status'], endedImport['error_message']]).toEqual([
      'failed',
      expect.stringContaining('a string is not an object'),
    ]);
    const goodImport = await importRecords([{ o: { a: 1 } }], targetFields);
    expect(goodImport['status']).toBe('completed');
    expect(await fetchStoredRecords()).toEqual([{ o: { a: 1 } }]);
  });

  test('have their types in a VCF', async () => {
    const targetFields = await declare([
      { name: 'info.AF', data_type: 'string' },
      { name: 'info.DP', data_type: 'double', is_list: true },
      { name: 'info.NEW', data_type: 'double' },
      { name: 'info.WHEN', data_type: 'date' },
      { name: 'sample.ZZ', data_type: 'integer' },
      { name: 'genomic_coordinates.start', data_type: 'integer' },
      { name: 'row_id', data_type: 'text' },
    ]);
    const endedImport = await importRecords(await newFile('a.vcf', vcfText), targetFields);
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect(await fetchStoredRecords()).toMatchObject([
      {
        genomic_coordinates: { start: 100, stop: 100 },
        row_id: 'rs1',
        info: { AF: ['0.25'], DP: [7], NEW: 2.5, WHEN: '2020-02-03' },
        sample: [{ GT: '0/1', ZZ: 4 }],
      },
    ]);
    for (const [name, type] of [
      ['info.AF', 'string'],
      ['info.DP', 'double'],
      ['info.NEW', 'double'],
      ['info.WHEN', 'date'],
      ['sample.ZZ', 'integer'],
      ['genomic_coordinates.start', 'integer'],
      ['row_id', 'text'],
    ] as const)
      expect([name, (await readField(name))?.['data_type']]).toEqual([name, type]);
    expect(await countRecords([['info.NEW__gt', 2]])).toBe(1);
    expect(await countRecords([['info.WHEN__lt', '2021-01-01']])).toBe(1);
    expect(await countRecords([['genomic_coordinates.start__lte', 100]])).toBe(1);
  });

  test('have their types in tables and features', async () => {
    const fields = [
      { name: 'zip', data_type: 'string' },
      { name: 'l', is_list: true },
      { name: 'o.x', data_type: 'string' },
      { name: 'attributes.ID', data_type: 'string', is_list: true },
      { name: 'attributes.n', data_type: 'long' },
      { name: 'start', data_type: 'double' },
      { name: 'chromStart', data_type: 'double' },
      { name: 'name', is_list: true },
    ];
    let targetFields = await declare(fields);
    await importRecords(await newFile('a.csv', 'zip,l,o.x,o\n012,1,5,x\n'), targetFields);
    expect(await fetchStoredRecords()).toMatchObject([{ zip: '012', l: [1], 'o.x': '5', o: 'x' }]);

    targetFields = await declare(fields);
    const line = '1\tx\tgene\t5\t9\t.\t+\t.\tID=a;n=7\n';
    const featureFileId = await newFile('a.gff3', `##gff-version 3\n${line}`);
    expect((await importRecords(featureFileId, targetFields))['error_message']).toBeNull();
    expect(await fetchStoredRecords()).toMatchObject([
      { start: 5, attributes: { ID: ['a'], n: 7 } },
    ]);
    expect((await readField('attributes.n'))?.['data_type']).toBe('long');

    targetFields = await declare(fields);
    await importRecords(await newFile('a.bed', 'chr1\t5\t9\tx\n'), targetFields);
    expect(await fetchStoredRecords()).toMatchObject([{ chromStart: 5, name: ['x'] }]);
  });

  test('have their types in XML', async () => {
    const targetFields = await declare([
      { name: '@zip', data_type: 'integer' },
      { name: 'n', data_type: 'long' },
      { name: 'info.AF', data_type: 'double' },
      { name: 'info.l', is_list: true },
      { name: 'info.ns', data_type: 'integer', is_list: true },
      { name: 'info.deep.on', data_type: 'boolean' },
      { name: 'when', data_type: 'date', is_list: true },
      { name: 'o', data_type: 'object' },
      { name: 'os', data_type: 'object', is_list: true },
      { name: 'os.x', data_type: 'double' },
      { name: 'mixed.text', data_type: 'long' },
      { name: 'none', data_type: 'object' },
    ]);
    const endedImport = await importRecords(
      await newFile(
        'a.xml',
        `<r>
<i zip="01"><n>9007199254740993</n><info><AF>1</AF><l>3</l><ns>1</ns><deep><on>true</on></deep></info>
<when>2020-02-03</when><o><x>1</x></o><os><x>1</x></os><mixed unit="mm">7</mixed></i>
<i><n>8</n><info><AF>2.5</AF><l>4</l><l>5</l><ns>2</ns><ns>3</ns></info><os><x>2</x></os><os><x>3.5</x></os></i>
</r>`,
      ),
      targetFields,
    );
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    const text = (await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1 })).text;
    expect(text).toContain('"n":9007199254740993');
    expect(await fetchStoredRecords()).toMatchObject([
      {
        '@zip': 1,
        info: { AF: 1, l: ['3'], ns: [1], deep: { on: true } },
        when: ['2020-02-03'],
        o: { x: '1' },
        os: [{ x: 1 }],
        mixed: { '@unit': 'mm', text: 7 },
        none: null,
      },
      {
        n: 8,
        info: { AF: 2.5, l: ['4', '5'], ns: [2, 3] },
        when: null,
        os: [{ x: 2 }, { x: 3.5 }],
      },
    ]);
    for (const [name, type, isList] of [
      ['@zip', 'integer', false],
      ['n', 'long', false],
      ['info.AF', 'double', false],
      ['info.l', 'string', true],
      ['info.ns', 'integer', true],
      ['info.deep.on', 'boolean', false],
      ['when', 'date', true],
      ['o', 'object', false],
      ['os', 'object', true],
      ['os.x', 'double', false],
      ['mixed.text', 'long', false],
      ['none', 'object', false],
    ] as const) {
      const storedField = await readField(name);
      expect([name, storedField?.['data_type'], storedField?.['is_list'] === true]).toEqual([
        name,
        type,
        isList,
      ]);
    }
    expect(await countRecords([['info.AF__gt', 2]])).toBe(1);
    expect(await countRecords([['os.x__gte', 3]])).toBe(1);
    expect(await countRecords([['when__lt', '2021-01-01']])).toBe(1);

    for (const [xml, field, message] of [
      ['<n>x</n>', 'n', 'x'],
      ['<info><AF>high</AF></info>', 'info.AF', 'high'],
      ['<o>text</o>', 'o', 'is not an object'],
      ['<info><ns>1</ns><ns>y</ns></info>', 'info.ns', 'y'],
    ] as const) {
      const failedImport = await importRecords(
        await newFile('b.xml', `<r>\n<i>${xml}</i></r>`),
        targetFields,
      );
      expect([failedImport['status'], failedImport['error_message']]).toEqual([
        'failed',
        expect.stringMatching(new RegExp(`^b[-\\d]*.xml, line 2: field ${field}: .*${message}`)),
      ]);
    }
  });

  test('have their types in Nirvana JSON', async () => {
    const targetFields = await declare([
      { name: 'position', data_type: 'string' },
      { name: 'quality', data_type: 'long' },
      { name: 'genomic_coordinates.start', data_type: 'integer' },
      { name: 'filters', is_list: true },
      { name: 'samples', data_type: 'object', is_list: true },
      { name: 'samples.totalDepth', data_type: 'double' },
      { name: 'samples.alleleDepths', data_type: 'integer', is_list: true },
      { name: 'variants.begin', data_type: 'string' },
      { name: 'variants.transcripts.consequence', data_type: 'string', is_list: true },
      { name: 'none', data_type: 'object' },
    ]);
    const positions = [
      {
        chromosome: 'chr16',
        position: 23603511,
        refAllele: 'TG',
        quality: 165,
        filters: 'PASS',
        samples: { totalDepth: 30, alleleDepths: 4 },
        variants: [{ begin: 23603512, transcripts: [{ consequence: 'stop_gained' }] }],
      },
      {
        chromosome: '16',
        position: 23603600,
        refAllele: 'T',
        filters: ['q10', 's50'],
        samples: [{ totalDepth: 0.5 }, { alleleDepths: [1, 2] }],
      },
    ];
    const nirvanaTextOf = (entries: readonly object[]): string =>
      `{"header":{"annotator":"Nirvana 3.12.0","genomeAssembly":"GRCh38","schemaVersion":6},"positions":[\n${entries.map((one) => JSON.stringify(one)).join(',\n')}\n]}\n`;
    const endedImport = await importRecords(
      await newFile('a.json', nirvanaTextOf(positions)),
      targetFields,
    );
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect(await fetchStoredRecords()).toMatchObject([
      {
        genomic_coordinates: { build: 'GRCh38', chromosome: '16', start: 23603511, stop: 23603512 },
        position: '23603511',
        quality: 165,
        filters: ['PASS'],
        samples: [{ totalDepth: 30, alleleDepths: [4] }],
        variants: [{ begin: '23603512', transcripts: [{ consequence: ['stop_gained'] }] }],
        none: null,
      },
      {
        genomic_coordinates: { start: 23603600, stop: 23603600 },
        position: '23603600',
        quality: null,
        filters: ['q10', 's50'],
        samples: [{ totalDepth: 0.5 }, { alleleDepths: [1, 2] }],
      },
    ]);
    for (const [name, type, isList] of [
      ['position', 'string', false],
      ['quality', 'long', false],
      ['genomic_coordinates.start', 'integer', false],
      ['filters', 'string', true],
      ['samples', 'object', true],
      ['samples.totalDepth', 'double', false],
      ['samples.alleleDepths', 'integer', true],
      ['variants.begin', 'string', false],
      ['none', 'object', false],
    ] as const) {
      const storedField = await readField(name);
      expect([name, storedField?.['data_type'], storedField?.['is_list'] === true]).toEqual([
        name,
        type,
        isList,
      ]);
    }
    expect(await countRecords([['samples.totalDepth__lt', 1]])).toBe(1);
    expect(await countRecords([['position', '23603600']])).toBe(1);
    expect(await countRecords([['genomic_coordinates.start__lte', 23603511]])).toBe(1);

    for (const [change, field, message] of [
      [{ quality: 0.5 }, 'quality', '0.5'],
      [{ samples: 'mother' }, 'samples', 'is not an object'],
      [{ samples: [{ alleleDepths: [1, 'x'] }] }, 'samples.alleleDepths', 'x'],
    ] as const) {
      const fileId = await newFile(
        'b.json',
        nirvanaTextOf([positions[0]!, { ...positions[1], ...change }]),
      );
      const failedImport = await importRecords(fileId, targetFields);
      expect([failedImport['status'], failedImport['error_message']]).toEqual([
        'failed',
        expect.stringMatching(new RegExp(`^b[-\\d]*.json, line 3: field ${field}: .*${message}`)),
      ]);
    }
  });

  test('refuse what their types cannot store', async () => {
    const targetFields = await declare([{ name: 'info.AF', data_type: 'object' }]);
    const endedImport = await importRecords(await newFile('a.vcf', vcfText), targetFields);
    expect([endedImport['status'], endedImport['error_message']]).toEqual([
      'failed',
      expect.stringContaining('field info.AF is of type object'),
    ]);
  });
});

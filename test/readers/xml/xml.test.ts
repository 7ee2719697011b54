import { describe, expect, test } from '@jest/globals';
import { readerForFile, readerNamed } from '../../../readers/index.js';
import { seededRandom, type Random } from '../../random.js';
import { castToColumns, parseRecordsByFastXmlParser } from './oracle.js';
import { importSource } from '../import-source.js';

async function importRecords(text: string, params: Record<string, unknown> = {}) {
  const { rows, error } = await importSource(text, 'xml', { params });
  expect(error).toBeNull();
  return rows;
}

test('is chosen by .xml, also compressed, and by its name in any letter case', () => {
  for (const name of ['a.xml', 'a.XML.gz', 'a.xml.bgz'])
    expect(readerForFile(name).name).toBe('xml');
  expect(readerNamed('XML').name).toBe('xml');
});

describe('an element', () => {
  const cases: readonly (readonly [string, string, unknown])[] = [
    ['of text is its text', '<a>x</a>', { a: 'x' }],
    ['that is empty is null', '<b>1</b><a/><c></c>', { b: '1', a: null, c: null }],
    ['of blanks is null', '<a> \n\t </a>', { a: null }],
    ['keeps its attributes under @', '<a n="1" m=\'2\'/>', { a: { '@n': '1', '@m': '2' } }],
    ['with attributes keeps its text beside', '<a n="1">x</a>', { a: { '@n': '1', text: 'x' } }],
    ['with children keeps its text beside', '<a>x<b/>y</a>', { a: { text: 'xy' } }],
    ['with an empty attribute has the empty text', '<a n=""/>', { a: { '@n': '' } }],
    ['that is repeated is a list', '<a>1</a><b/><a/><a>3</a>', { a: ['1', null, '3'], b: null }],
    ['keeps numbers as text', '<a>007</a><b>1e5</b>', { a: '007', b: '1e5' }],
    ['keeps its prefix', '<n:a xmlns:n="u">x</n:a>', { 'n:a': { '@xmlns:n': 'u', text: 'x' } }],
    ['loses blanks around its text', '<a>\n  x y\n</a>', { a: 'x y' }],
    ['joins text around comments', '<a>x<!-- < & --y -->z<?p q?>!</a>', { a: 'xz!' }],
    ['has the five entities', '<a>&lt;&gt;&amp;&quot;&apos;</a>', { a: '<>&"\'' }],
    ['has character references', '<a>&#65;&#x1F600;&#xe9;</a>', { a: 'A😀é' }],
    ['has CDATA as it stands', '<a><![CDATA[<b>&amp;]]]]><![CDATA[>]]></a>', { a: '<b>&amp;]]>' }],
    ['has one kind of line end', '<a>x\r\ny\rz</a>', { a: 'x\ny\nz' }],
    ['has blanks in attributes', '<a n="x\r\ny\tz&#10;"/>', { a: { '@n': 'x y z\n' } }],
    ['may have > in attributes', '<a n="/>" m=\'"\'/>', { a: { '@n': '/>', '@m': '"' } }],
    ['may be named __proto__', '<__proto__><x>1</x></__proto__>', { ['__proto__']: { x: '1' } }],
    [
      'may be named like its text',
      '<a n="1"><text>x</text>y</a>',
      { a: { '@n': '1', text: ['x', 'y'] } },
    ],
    ['that holds dates alone is a date', '<a>2024-01-02</a>', { a: '2024-01-02' }],
  ];
  test.each(cases)('%s', async (_, text, record) => {
    const expectedJson = JSON.stringify([record]);
    const records = await importRecords(`<r><rec>${text}</rec></r>`);
    expect(JSON.stringify(records)).toBe(expectedJson);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });
});

describe('columns are inferred from all records', () => {
  test('a list in one makes a list in all', async () => {
    const text = '<r><i><a>1</a></i><i><a>2</a><a>3</a></i><i/></r>';
    expect(await importRecords(text)).toEqual([{ a: ['1'] }, { a: ['2', '3'] }, { a: null }]);
  });

  test('an object in one record and a string in another become JSON', async () => {
    const text = '<r><i><a>1</a></i><i><a n="2"><b/><b>x</b>y</a><a>z</a></i></r>';
    const { rows, columns } = await importSource(text, 'xml');
    expect(columns).toMatchObject([{ name: 'a', type: 'json', isList: false }]);
    expect(rows).toEqual([{ a: '1' }, { a: [{ '@n': '2', b: [null, 'x'], text: 'y' }, 'z'] }]);
  });

  test('objects in lists can have lists', async () => {
    const text = '<r><i><a><b>1</b></a><c/><a><b>2</b><b>3</b></a></i></r>';
    expect(await importRecords(text)).toEqual([{ a: [{ b: ['1'] }, { b: ['2', '3'] }], c: null }]);
  });

  test('a dataset with lists stores single elements without a warning', async () => {
    const knownColumns = [{ name: 'a', physical: 'a', type: 'string', isList: true }] as const;
    const { rows, findings } = await importSource('<r><i><a>1</a></i></r>', 'xml', {
      known: knownColumns,
    });
    expect(rows).toEqual([{ a: ['1'] }]);
    expect(findings.warnings).toBe(0);
  });

  test('a dataset with numbers stores strings that are numbers', async () => {
    const knownColumns = [{ name: 'a', physical: 'a', type: 'long', isList: false }] as const;
    const goodRead = await importSource('<r><i><a>12</a></i></r>', 'xml', { known: knownColumns });
    expect(goodRead.rows).toEqual([{ a: 12 }]);
    const badRead = await importSource('<r>\n<i><a>1</a></i>\n<i><a>x</a></i></r>', 'xml', {
      known: knownColumns,
    });
    expect(badRead.error).toContain('file, line 3: ');
  });
});

describe('parameters', () => {
  const text = '<r v="1"><g h="2"><i k="3">x</i><i/></g><g/><i>y</i></r>';
  test('item_depth is where records start', async () => {
    expect(await importRecords(text, { item_depth: 0 })).toEqual([
      { '@v': '1', g: [{ '@h': '2', i: [{ '@k': '3', text: 'x' }, null] }, null], i: 'y' },
    ]);
    expect(await importRecords(text)).toMatchObject([{ '@h': '2' }, { '@h': null }, { text: 'y' }]);
    expect(await importRecords(text, { item_depth: '2' })).toEqual([
      { '@k': '3', text: 'x' },
      { '@k': null, text: null },
    ]);
    expect(await importRecords(text, { item_depth: 5 })).toEqual([]);
  });

  test('required_keys skips records without these keys', async () => {
    const fourItems = '<r><i a="1"><b/></i><i a="2"/><i><b>x</b></i><i/></r>';
    expect(await importRecords(fourItems, { required_keys: ['@a', 'b'] })).toEqual([
      { '@a': '1', b: null },
    ]);
    expect(await importRecords(fourItems, { required_keys: ['b'] })).toHaveLength(2);
    expect(await importRecords('<r><i>x</i><i/></r>', { required_keys: ['text'] })).toHaveLength(1);
  });

  test('cdata_key and attr_prefix name the keys', async () => {
    const params = { cdata_key: '#', attr_prefix: '' };
    expect(await importRecords('<r><i k="1">x<k>2</k></i></r>', params)).toEqual([
      { k: ['1', '2'], '#': 'x' },
    ]);
  });

  test.each([
    [{ item_depth: -1 }, 'item_depth: expected a depth from 0 to 255, found -1'],
    [{ item_depth: 'x' }, 'item_depth'],
    [{ item_depth: 1.5 }, 'item_depth'],
    [{ required_keys: [1] }, 'required_keys: expected a list of keys, found [1]'],
    [{ cdata_key: '' }, 'cdata_key: expected a string of at most 100 characters'],
    [{ attr_prefix: 5 }, 'attr_prefix'],
  ])('%j is refused', (params, message) => {
    expect(() => readerNamed('xml').params(params)).toThrow(message);
  });
});

test('text before the root element is skipped', async () => {
  const prolog = `\ufeff <?xml version='1.0' encoding='UTF-8'?><!-- <x> --><?p <x>?>
<!DOCTYPE r SYSTEM "http://localhost:1/x.dtd" [<!ENTITY a "]>"><!-- ' ]> --><?p "]>?>]>`;
  expect(await importRecords(`${prolog}\n<r><i>x</i></r>\n<!-- end -->\n`)).toEqual([
    { text: 'x' },
  ]);
});

test('ISO-8859-1 is decoded where it is declared', async () => {
  const bytes = Buffer.from(
    '<?xml version="1.0" encoding="ISO-8859-1"?><r><i é="ü">ñ</i></r>',
    'latin1',
  );
  const { rows } = await importSource(bytes, 'xml');
  expect(rows).toEqual([{ '@é': 'ü', text: 'ñ' }]);
});

test('random documents give the records that fast-xml-parser reads, for any chunk size', async () => {
  const seed = 20_261;
  const next = seededRandom(seed);
  for (let round = 0; round < 40; round++) {
    const text = `<?xml version="1.0"?>\n<r a="1">${randomNodes(next, 0)}</r>\n`;
    const depth = Math.floor(next() * 3);
    const params = { item_depth: depth };
    const wholeRead = await importSource(text, 'xml', { params });
    expect([seed, round, wholeRead.error]).toEqual([seed, round, null]);
    expect(wholeRead.rows).toEqual(
      castToColumns(parseRecordsByFastXmlParser(text, depth), wholeRead.columns),
    );
    const layer = (['plain', 'gzip', 'bgzf'] as const)[Math.floor(next() * 3)]!;
    const targetBytes = 1 + Math.floor(next() * 300);
    const cutRead = await importSource(text, 'xml', { params, layer, targetBytes, shuffle: next });
    expect({ ...cutRead, chunks: 0, rewritten: 0 }).toEqual({
      ...wholeRead,
      chunks: 0,
      rewritten: 0,
    });
  }
});

function randomNodes(next: Random, level: number): string {
  let text = '';
  for (let i = Math.floor(next() * (level === 0 ? 12 : 5)); i >= 0; i--) {
    const roll = next();
    if (roll < 0.2)
      text += ['\n  ', 'é&lt;x', '&#9731; ', 'plain text', '\t'][Math.floor(next() * 5)]!;
    else if (roll < 0.25) text += '<!-- <c a="> -->';
    else if (roll < 0.3) text += '<![CDATA[ <d> & ]]>';
    else {
      // The name of a column determines the type of its values; otherwise nearly all columns would be stored as JSON.
      const kind = Math.floor(next() * 3);
      const name = `${'abc'[kind]}${level}`;
      const attributes =
        kind === 0 ? '' : ` k="${Math.floor(next() * 9)}&amp;"${next() < 0.3 ? " l='>'" : ''}`;
      const content = kind === 2 && level < 4 ? randomNodes(next, level + 1) : 'v';
      text +=
        next() < 0.2 ? `<${name}${attributes} />` : `<${name}${attributes}>${content}</${name} >`;
    }
  }
  // Text directly below the root element belongs to a record only at depth 0.
  return text;
}

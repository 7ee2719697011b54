import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Column, StoredType } from '../../../engine/core/types.js';
import { readerForFile, readerNamed } from '../../../readers/index.js';
import { lenientParams } from '../import-pieces.js';
import { importFile, type FileOptions } from '../import-source.js';
import { describeColumnTypes } from '../rows.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-csv-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function readCsv(
  text: string | Uint8Array,
  params: Record<string, unknown> = {},
  options: FileOptions = {},
) {
  writeFileSync(join(folder, 'it'), text);
  return importFile(join(folder, 'it'), 'it.csv', 'csv', { params, ...options });
}

/** Returns the names of the columns, followed by the rows as lists of cells; or the error. */
async function readTable(text: string | Uint8Array, params: Record<string, unknown> = {}) {
  const { rows, error, columns } = await readCsv(text, params);
  if (error !== null) return error;
  return [columns.map(({ name }) => name), ...rows.map((row) => Object.values(row))];
}

test.each([
  ['a.csv', 'csv'],
  ['a.CSV.gz', 'csv'],
  ['a.tsv', 'tsv'],
  ['a.txt.bgz', 'tsv'],
  ['a.maf.gz', 'tsv'],
])('%s is read by %s', (file, name) => {
  expect(readerForFile(file).name).toBe(name);
});

describe('header, headercols, skiprows, skipcols and comment', () => {
  const abc = 'a,b,c\n1,2,3\n4,5,6\n';
  test.each<[string, Record<string, unknown>, unknown]>([
    [
      'the first row has the names',
      {},
      [
        ['a', 'b', 'c'],
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [
      'infer is the same',
      { header: 'infer' },
      [
        ['a', 'b', 'c'],
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [
      'headercols: there is no header row',
      { headercols: ['x', 'y', 'z'] },
      [
        ['x', 'y', 'z'],
        ['a', 'b', 'c'],
        ['1', '2', '3'],
        ['4', '5', '6'],
      ],
    ],
    [
      'header 0 and headercols: other names',
      { header: 0, headercols: ['x', 'y', 'z'] },
      [
        ['x', 'y', 'z'],
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [
      'header 1: what is before it is not read',
      { header: 1 },
      [
        ['1', '2', '3'],
        [4, 5, 6],
      ],
    ],
    [
      'header None: numbered names',
      { header: null, skiprows: [0] },
      [
        ['column_0', 'column_1', 'column_2'],
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [
      'None as text',
      { header: 'None', skiprows: [0, 1] },
      [
        ['column_0', 'column_1', 'column_2'],
        [4, 5, 6],
      ],
    ],
    [
      'header None and headercols',
      { header: null, headercols: ['x', 'y', 'z'], skiprows: [0] },
      [
        ['x', 'y', 'z'],
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [
      'skiprows counts lines from 0',
      { skiprows: [1] },
      [
        ['a', 'b', 'c'],
        [4, 5, 6],
      ],
    ],
    [
      'skiprows beyond the end',
      { skiprows: [1, 700] },
      [
        ['a', 'b', 'c'],
        [4, 5, 6],
      ],
    ],
    ['all lines skipped', { skiprows: [0, 1, 2] }, [[]]],
    [
      'skipcols counts cells from 0',
      { skipcols: [1] },
      [
        ['a', 'c'],
        [1, 3],
        [4, 6],
      ],
    ],
    [
      'skipcols beyond the row',
      { skipcols: [0, 9] },
      [
        ['b', 'c'],
        [2, 3],
        [5, 6],
      ],
    ],
    [
      'headercols name skipped cells too',
      { header: 0, headercols: ['x', 'y', 'z'], skipcols: [0] },
      [
        ['y', 'z'],
        [2, 3],
        [5, 6],
      ],
    ],
    [
      'lines that begin with the comment',
      { comment: '4' },
      [
        ['a', 'b', 'c'],
        [1, 2, 3],
      ],
    ],
    ['another delimiter', { delimiter: ';' }, [['a,b,c'], ['1,2,3'], ['4,5,6']]],
  ])('%s', async (_, params, want) => {
    expect(await readTable(abc, params)).toEqual(want);
  });

  test.each<[string, string, Record<string, unknown>, unknown]>([
    ['comments and blank lines before the header', '# x\n\n#"\na\n# y,"\n1\n', {}, [['a'], [1]]],
    [
      'rows of header= are no comments or blank lines',
      '#\nx\n\na\n1\n',
      { header: 1 },
      [['a'], [1]],
    ],
    ['a comment in quotes', 'a\n"x\n# y\n"\n1\n', {}, [['a'], ['x\n# y\n'], ['1']]],
    ['a comment that is quoted', 'a\n"#x"\n', {}, [['a'], ['#x']]],
    [
      'a comment behind a cell',
      'a,b\n1,#x\n',
      {},
      [
        ['a', 'b'],
        [1, '#x'],
      ],
    ],
    ['no comments', '#a\n#1\n', { comment: '' }, [['#a'], ['#1']]],
    ['a longer comment', '##x\n#a\n1\n', { comment: '##' }, [['#a'], [1]]],
    ['a skipped line with half a quote', 'a\n"x\n1\n', { skiprows: [1] }, [['a'], [1]]],
    ['a listed line within a cell', 'a\n"x\ny"\n1\n', { skiprows: [2] }, [['a'], ['x\ny'], ['1']]],
    [
      'skipped lines before the header',
      'Report "of\ntoday\na\n1\n',
      { skiprows: [0, 1] },
      [['a'], [1]],
    ],
    [
      'no quotes',
      'a,b\n"1,2"\n',
      { quotechar: '' },
      [
        ['a', 'b'],
        ['"1', '2"'],
      ],
    ],
    [
      'other quotes',
      "a,b\n'1,''2',\"\n",
      { quotechar: "'" },
      [
        ['a', 'b'],
        ["1,'2", '"'],
      ],
    ],
    [
      'characters beyond ASCII',
      'a¦b\n«1¦2««3«¦4\n',
      { delimiter: '¦', quotechar: '«' },
      [
        ['a', 'b'],
        ['1¦2«3', 4],
      ],
    ],
    [
      'a digit as delimiter',
      'a0b\n1021\n',
      { delimiter: '0' },
      [
        ['a', 'b'],
        [1, 21],
      ],
    ],
  ])('%s', async (_, text, params, want) => {
    expect(await readTable(text, params)).toEqual(want);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ delimiter: ',,' }, 'delimiter: expected one character, found ",,"'],
    [{ delimiter: '' }, 'delimiter: expected one character'],
    [{ delimiter: 9 }, 'delimiter: expected one character, found 9'],
    [{ delimiter: '\n' }, 'delimiter: must not be a line end'],
    [{ delimiter: '"' }, 'delimiter: must differ from quotechar'],
    [{ quotechar: 'ab' }, 'quotechar: expected one character'],
    [{ header: -1 }, 'header: expected a row number from 0, "infer" or null, found -1'],
    [{ header: 'first' }, 'header: expected a row number'],
    [{ header: 1.5 }, 'header: expected a row number'],
    [{ headercols: 'a,b' }, 'headercols: expected a list of strings'],
    [{ headercols: [1] }, 'headercols: expected a list of strings'],
    [{ comment: 5 }, 'comment: expected the text'],
    [{ skiprows: 3 }, 'skiprows: expected a list of numbers from 0, found 3'],
    [{ skipcols: [-1] }, 'skipcols: expected a list of numbers from 0'],
  ])('%j is refused', (params, message) => {
    expect(() => readerNamed('csv').params(params)).toThrow(message);
  });

  test('null stands for the default', async () => {
    const params = {
      delimiter: null,
      quotechar: null,
      headercols: null,
      comment: null,
      skiprows: null,
    };
    expect(await readTable('a,b\n#\n"1",2\n', params)).toEqual([
      ['a', 'b'],
      [1, 2],
    ]);
  });
});

// The cases of threat F8 (docs/threats.md).
describe('unusual files', () => {
  test.each<[string, string, unknown]>([
    ['an empty file', '', [[]]],
    ['only a header', 'a,b\n', [[]]],
    ['only a header without a line end', 'a,b', [[]]],
    ['nothing but blank lines', '\n\n\r\n', [[]]],
    [
      'a quote inside an unquoted cell',
      'a,b\n5" pipe,x"y"\n',
      [
        ['a', 'b'],
        ['5" pipe', 'x"y"'],
      ],
    ],
    [
      'text behind a closing quote',
      'a,b\n"x"y"z",1\n',
      [
        ['a', 'b'],
        ['xy"z"', 1],
      ],
    ],
    [
      'empty cells, quoted or not',
      'a,b,c\n"",,1\n',
      [
        ['a', 'b', 'c'],
        [null, null, 1],
      ],
    ],
    [
      'a row of empty cells',
      'a,b\n,\n1,2\n',
      [
        ['a', 'b'],
        [null, null],
        [1, 2],
      ],
    ],
    [
      'repeated names',
      'a,a,a_2,a\n1,2,3,4\n',
      [
        ['a', 'a_3', 'a_2', 'a_4'],
        [1, 2, 3, 4],
      ],
    ],
    [
      'empty names',
      ',x,\n1,2,3\n',
      [
        ['column_0', 'x', 'column_2'],
        [1, 2, 3],
      ],
    ],
    [
      'names that differ by case',
      'A,a\n1,2\n',
      [
        ['A', 'a'],
        [1, 2],
      ],
    ],
    [
      'special names',
      '__proto__,constructor\n1,x\n',
      [
        ['__proto__', 'constructor'],
        [1, 'x'],
      ],
    ],
    ['reserved names are dropped', '_id,a,_commit\nx,1,y\n', [['a'], [1]]],
    [
      'fewer cells',
      'a,b,c\n1\n1,2,3\n',
      [
        ['a', 'b', 'c'],
        [1, null, null],
        [1, 2, 3],
      ],
    ],
    [
      'more cells, all empty',
      'a,b\n1,2,,\n',
      [
        ['a', 'b'],
        [1, 2],
      ],
    ],
    [
      'more cells',
      'a,b\n1,2\n1,2,,3\n',
      [
        ['a', 'b', 'column_3'],
        [1, 2, null],
        [1, 2, '3'],
      ],
    ],
    [
      'more cells in all rows, of which one has only empty cells',
      'a,b\n1,2,3\n,,\n4,5,6\n',
      [
        ['a', 'b', 'column_2'],
        [1, 2, 3],
        [null, null, null],
        [4, 5, 6],
      ],
    ],
    [
      'a quote that nothing closes',
      'a,b\n1,2\n\n3,"x\ny\n',
      'it.csv, line 4: a quote that is opened here is never closed',
    ],
    [
      'a header that nothing closes',
      '#\n"a,b\n1,2\n',
      'it.csv, line 2: a quote that is opened here is never closed',
    ],
    ['an HTML page', '<!DOCTYPE html>\n<html>', 'it.csv: this is an HTML page'],
    ['NUL is data', 'a\nx\0y\n', [['a'], ['x\0y']]],
    [
      'CR alone',
      'a,b\r1,2\r\r"x\ry",4\r',
      [
        ['a', 'b'],
        ['1', 2],
        ['x\ry', 4],
      ],
    ],
    ['all line ends in one file', 'a\r\n1\n2\r3', [['a'], [1], [2], [3]]],
    [
      'a byte order mark, then a quote',
      '\ufeff"a",b\n1,2\n',
      [
        ['a', 'b'],
        [1, 2],
      ],
    ],
  ])('%s', async (_, text, want) => {
    const table = await readTable(text);
    if (typeof want === 'string') expect(table).toContain(want);
    else expect(table).toEqual(want);
  });

  test('headercols of another length are refused with both numbers', async () => {
    expect(await readTable('1,2,3\n', { headercols: ['a', 'b'] })).toBe(
      'it.csv, line 1: reader_params.headercols has 2 names, the row has 3 cells: give one name for each',
    );
    // The header row that `headercols` replaces may have another number of cells.
    const params = { header: 0, headercols: ['a', 'b'] };
    expect(await readTable('x\n1,2\n', params)).toEqual([
      ['a', 'b'],
      [1, 2],
    ]);
  });

  test('a missing header row is refused; a file without rows has no records', async () => {
    expect(await readTable('a\n1\n', { header: 5 })).toContain(
      'header is row 5 (the first is 0), the file has 2 rows',
    );
    expect((await readCsv('', { header: 5 })).warnings).toEqual(['the file is empty']);
    expect((await readCsv('# x\n')).warnings).toEqual(['the file has no rows']);
  });

  test('skipcols that leave no column is refused', async () => {
    expect(await readTable('a,b\n', { skipcols: [0, 1] })).toContain(
      'none of the 2 columns is left',
    );
  });

  test('an unclosed quote stops at the field budget and names its line, wherever it is (T0: textBytes)', async () => {
    const lines = 'x,y\n'.repeat(200_000);
    for (const [linesBefore, line] of [
      ['a,b\n', 2],
      [`a,b\n${lines}\r\n`, 200_003],
    ] as const) {
      const result = await readCsv(`${linesBefore}1,"${'0123456789 "" abc\n'.repeat(940_000)}`);
      expect(result.error).toBe(
        `it.csv, line ${line}: a quote that is opened here is not closed within 16 MiB, the most that a cell may have: close it, or set reader_params.quotechar to "" if cells are not quoted`,
      );
    }
  });

  test('100,000 columns are refused by the limit (T0: columnsPerImport), 400 by the code, 150 with a warning', async () => {
    const wideTable = (columns: number) => {
      const cells = Array.from({ length: columns }, (_, i) => `c${i}`).join(',');
      return `${cells}\n${cells.replaceAll('c', '')}\n`;
    };
    expect((await readCsv(wideTable(100_000))).error).toContain(
      'the file has 100000 columns, and 10000 are the most that an import may have: split them over several files',
    );
    expect((await readCsv(wideTable(400))).error).toContain(
      'the record has 400 columns, and one with 400 or more is an error: split it into several records, or set validation_params.disable to store it (code 400',
    );
    const { error, findings } = await readCsv(wideTable(399));
    expect([error, findings.warnings]).toEqual([null, 1]);
    expect((await readCsv(wideTable(149))).findings.warnings).toBe(0);
  });

  test('cells beyond the header are stored in columns named by position, with a warning', async () => {
    const wideImport = await readCsv('a,b\n1,2,x\n3,4,y\n');
    expect(wideImport.rows).toEqual([{ a: 1, b: 2, column_2: 'x' }, { a: 3, b: 4, column_2: 'y' }]);
    expect(wideImport.warnings).toEqual([
      'the rows have 3 cells and the header has 2 names: the others are named by their positions, column_2',
    ]);
    expect(wideImport.findings.warnings).toBe(0);
    const text = 'column_2,b\n1,2\n3,4,y,,5\n6,7,,\n8,9,z\n';
    for (const targetBytes of [1, 1 << 20]) {
      const raggedImport = await readCsv(text, {}, { targetBytes });
      const values = raggedImport.rows.map((row) => Object.values(row));
      expect(values).toEqual([[1, 2, null, null], [3, 4, 'y', '5'], [6, 7, null, null], [8, 9, 'z', null]]);
      expect(raggedImport.columns.map(({ name }) => name)).toEqual(['column_2', 'b', 'column_2_2', 'column_4']);
      expect(raggedImport.findings).toMatchObject({ errors: 0, warnings: 2, examples: [{ code: 0, line: 3, count: 2 }] });
    }
    const strictRead = await readCsv(text, {}, { validation: { ...lenientParams, strict: true } });
    expect(strictRead.findings).toMatchObject({ errors: 2 });
    expect((await readCsv(`a,b\n1,2${','.repeat(10_000)}x\n`)).error).toContain('the file has 10002 columns, and 10000 are the most');
  }); // prettier-ignore

  test.each<[string, string, unknown]>([
    ['tabs', '# made by a tool\n#chrom\tstart\tend\n1\t5\t9\n', [['chrom', 'start', 'end'], ['1', 5, 9]]],
    ['blanks after the sign', '## x\n# Gene Symbol\tGene ID\nBRCA2\t675\n', [['Gene Symbol', 'Gene ID'], ['BRCA2', 675]]],
    ['another number of cells', '#a\tb\tc\nx\ty\n1\t2\n', [['x', 'y'], [1, 2]]],
    ['cells without names', '#version 2\t\t\nx\ty\tz\n1\t2\t3\n', [['x', 'y', 'z'], [1, 2, 3]]],
    ['rows that leave out last cells', '#a\tb\tc\n1\t2\n3\t4\t5\n', [['a', 'b', 'c'], [1, 2, null], [3, 4, 5]]],
    ['one cell', '#a\nx\n1\n', [['x'], [1]]],
    ['commas', '#a,b\n1,2\n', [['a', 'b'], [1, 2]]],
    ['commas in a sentence', '# made by x, version 2\na,b\n1,2\n', [['a', 'b'], [1, 2]]],
    ['a comment further down', 'a,b\n1,2\n#c,d\n3,4\n', [['a', 'b'], [1, 2], [3, 4]]],
  ])('a comment with the names of the columns: %s', async (_, text, want) => {
    expect(await readTable(text)).toEqual(want);
    expect(await readTable(text.replaceAll('\n', '\r\n'))).toEqual(want);
  }); // prettier-ignore

  test('a comment has no names if the request says what comments are', async () => {
    expect(await readTable('#a,b\n1,2\n3,4\n', { comment: '#' })).toEqual([['1', '2'], [3, 4]]);
  }); // prettier-ignore

  test.each<[string, string, string, unknown]>([
    ['a.csv', 'csv', 'a;b\n1,5;x, y\n2,5;z\n', [['a', 'b'], ['1,5', 'x, y'], ['2,5', 'z']]],
    ['a.csv', 'csv', 'a|b|c\n1|2|3\n', [['a', 'b', 'c'], [1, 2, 3]]],
    ['a.csv', 'csv', 'a\tb\n1\t2\n', [['a', 'b'], [1, 2]]],
    ['a.csv', 'csv', 'name, first;age\nx, y;5\nz;6\n', [['name, first', 'age'], ['x, y', 5], ['z', 6]]],
    ['a.csv', 'csv', 'a,b;c\n1,2\n', [['a', 'b;c'], [1, 2]]],
    ['a.csv', 'csv', 'a;"b,c"\n1;"2,3"\n', [['a', 'b,c'], [1, '2,3']]],
    ['a.csv', 'csv', 'text\na; b\nc\n', [['text'], ['a; b'], ['c']]],
    ['a.txt', 'tsv', 'a;b\n1;2\n', [['a', 'b'], [1, 2]]],
    ['a.txt', 'tsv', 'a,b\n1,2\n', [['a', 'b'], [1, 2]]],
    ['a.txt', 'tsv', 'a,b\tc\n1,2\t3\n', [['a,b', 'c'], ['1,2', 3]]],
    ['a.tsv', 'tsv', 'a,b\n1,2\n', [['a,b'], ['1,2']]],
  ])('the delimiter of %s (%s): %j', async (name, reader, text, want) => {
    writeFileSync(join(folder, 'it'), text);
    const { rows, columns, error, warnings } = await importFile(join(folder, 'it'), name, reader);
    expect(error).toBeNull();
    expect([columns.map((column) => column.name), ...rows.map((row) => Object.values(row))]).toEqual(want);
    const defaultDelimiter = reader === 'csv' ? ',' : '\t';
    const isOther = !text.split('\n')[0]!.includes(defaultDelimiter) && (want as unknown[][])[0]!.length > 1;
    expect(warnings).toHaveLength(isOther || text.startsWith('name') || text.includes('"b') ? 1 : 0);
    writeFileSync(join(folder, 'it'), text);
    const givenRead = await importFile(join(folder, 'it'), name, reader, { params: { delimiter: defaultDelimiter } });
    expect(givenRead.warnings).toEqual([]);
  }); // prettier-ignore

  test('Latin-1 is read, found by its bytes with a warning, or declared without', async () => {
    const latin = (text: string) => Buffer.from(text, 'latin1');
    const latinRead = await readCsv(latin('caf\xe9,t\nna\xefve,1\nplain,2\n'));
    expect(latinRead.rows).toEqual([{ café: 'naïve', t: 1 }, { café: 'plain', t: 2 }]);
    expect(latinRead.warnings).toEqual([expect.stringContaining('in the header, text that is not UTF-8 was read as Latin-1')]);
    expect(latinRead.findings.examples).toMatchObject([{ level: 'warning', code: 0, line: 2, field: 'café', count: 1 }]);
    const declaredRead = await readCsv(latin('caf\xe9,t\nna\xefve,\xc3\xa9\n'), { encoding: 'Latin-1' });
    expect([declaredRead.rows, declaredRead.warnings, declaredRead.findings.warnings]).toEqual([[{ café: 'naïve', t: 'Ã©' }], [], 0]);
    const utf8Read = await readCsv(latin('a\nna\xefve\n'), { encoding: 'utf-8' });
    expect(utf8Read.rows).toEqual([{ a: 'na\ufffdve' }]);
    // If the text contains a multi-byte UTF-8 character, an invalid byte is replaced by U+FFFD instead of being read as Latin-1.
    expect((await readCsv(Buffer.concat([Buffer.from('a\né'), latin('\xef\n')]))).rows).toEqual([{ a: 'é\ufffd' }]);
    expect(() => readerNamed('csv').params({ encoding: 'ebcdic' })).toThrow('encoding: expected utf-8, latin-1, utf-16, utf-16le or utf-16be');
  }); // prettier-ignore

  test('fewer cells are a warning with its line, an error under strict validation', async () => {
    const text = 'a,b\n1,2\n"x\ny",1\n3\n';
    expect((await readCsv(text)).findings.examples).toMatchObject([
      { code: 0, level: 'warning', line: 5, message: '1 of 2 cells: the missing ones are null' },
    ]);
    const strictOptions = { validation: { ...lenientParams, strict: true } };
    expect((await readCsv(text, {}, strictOptions)).error).toContain(
      'it.csv, line 5: 1 of 2 cells',
    );
  });
});

describe('types', () => {
  test('numbers are doubles, other cells make the column a string with the text of the cells', async () => {
    const rows = ['1,007,1.50,1e400,x,5,nan', '-2,8,NA,2,,,1', '3e2,9,3,3,"",,2'];
    const { columns, rows: foundRows } = await readCsv(`a,b,c,d,e,f,g\n${rows.join('\n')}\n`);
    expect(describeColumnTypes(columns)).toBe(
      'a:double b:double c:double d:double e:string f:double g:double',
    );
    expect(foundRows).toEqual([
      { a: 1, b: 7, c: 1.5, d: null, e: 'x', f: 5, g: null },
      { a: -2, b: 8, c: null, d: 2, e: null, f: null, g: 1 },
      { a: 300, b: 9, c: 3, d: 3, e: null, f: null, g: 2 },
    ]);
  });

  const nulls = ['.', 'NA', 'n/a', 'NaN', 'NULL', '', ' NA '];

  test.each([1, 40, 1 << 20])('texts that stand for no value are null among numbers and text elsewhere, in pieces of %i bytes', async (targetBytes) => {
    const lines = nulls.flatMap((cell, i) => [`${cell},${cell},${cell},${i}`, `${i}.5,x${i},${cell},${i}`]);
    const { rows, columns, error, findings } = await readCsv(`n,t,only,i\n${lines.join('\n')}\n`, {}, { targetBytes });
    expect(error).toBeNull();
    expect(describeColumnTypes(columns)).toBe('n:double t:string only:string i:double');
    expect(rows).toEqual(
      nulls.flatMap((cell, i) => {
        const [text, only] = [cell === '' ? null : cell, cell === '' ? null : cell];
        return [{ n: null, t: text, only, i }, { n: i + 0.5, t: `x${i}`, only, i }];
      }),
    );
    expect(Object.keys(findings.counts)).toEqual(['304']);
  }); // prettier-ignore

  test('a column of numbers that turns out to be text has the texts of all its cells', async () => {
    const cells = ['NA', '01', '.', '', '2.50', 'NaN', ...Array.from({ length: 700 }, () => '7'), 'x'];
    for (const targetBytes of [30, 1 << 20]) {
      const text = `t,i\n${cells.map((cell) => `${cell},1`).join('\n')}\n`;
      const { rows } = await readCsv(text, {}, { targetBytes });
      expect(rows.map((row) => row['t'])).toEqual(cells.map((cell) => (cell === '' ? null : cell)));
    }
  }); // prettier-ignore

  test('na_values lists the texts that are null among numbers', async () => {
    const text = 'n,m\n1,-\n-,2\nmissing,3\nNA,4\n';
    expect(await readTable(text, { na_values: ['-', 'MISSING', 'na'] })).toEqual([['n', 'm'], [1, null], [null, 2], [null, 3], [null, 4]]);
    expect(await readTable('n\n1\nÉÉ\néÉ\n', { na_values: ['ÉÉ'] })).toEqual([['n'], ['1'], ['ÉÉ'], ['éÉ']]);
    expect(await readTable('n\n1\nÉa\n', { na_values: ['ÉA'] })).toEqual([['n'], [1], [null]]);
    expect(await readTable('n\n1\nNA\n', { na_values: [] })).toEqual([['n'], ['1'], ['NA']]);
    expect(() => readerNamed('csv').params({ na_values: 'NA' })).toThrow('na_values: expected a list of strings');
  }); // prettier-ignore

  test.each([
    ['NaN', 304],
    ['-inf', 305],
    ['1e999', 305],
  ])('%s among numbers is null and warning %i, an error where somebody declared a number', async (cell, code) => {
    const text = `a,n\n1,2\n1,${cell}\n"x\ny",3\n1,${cell}\n`;
    const { rows, findings, error } = await readCsv(text);
    expect(error).toBeNull();
    expect(rows.map((row) => row['n'])).toEqual([2, null, 3, null]);
    const finding = { code, level: 'warning', line: 3, field: 'n', count: 2 };
    expect(findings).toMatchObject({ counts: { [code]: 2 }, examples: [finding] });
    const strictRead = await readCsv(text, {}, { validation: { ...lenientParams, strict: true } });
    expect(strictRead.findings).toMatchObject({ errors: 2, records: 2 });
    expect(strictRead.error).toContain(`it.csv, line 3: field n: a value is`);
    for (const type of ['double', 'float', 'long', 'integer'] as const) {
      const storedColumn: Column = { name: 'n', physical: 'n', type, isList: false };
      const laterRead = await readCsv(text, {}, { known: [storedColumn] });
      expect(laterRead.rows.map((row) => row['n'])).toEqual([2, null, 3, null]);
      expect(laterRead.findings.counts).toEqual({ [code]: 2 });
      const declaredRead = await readCsv(text, {}, { known: [{ ...storedColumn, isDeclared: true }] });
      expect(declaredRead.findings).toMatchObject({ errors: 2, records: 2, counts: { [code]: 2 } });
      const nullRead = await readCsv('n\nNA\n.\n1\n', {}, { known: [{ ...storedColumn, isDeclared: true }] });
      expect([nullRead.error, nullRead.rows]).toEqual([null, [{ n: null }, { n: null }, { n: 1 }]]);
    }
    const textRead = await readCsv('t\nx\nNaN\n-inf\n', {}, { known: [{ name: 't', physical: 't', type: 'string', isList: false }] });
    expect(textRead.rows.map((row) => row['t'])).toEqual(['x', 'NaN', '-inf']);
  }); // prettier-ignore

  test('chromosomes stay text, by name and content', async () => {
    const text = 'Chromosome\tchrom_length\tChr\tnumber\tchr\n1\t249250621\t22\t1\t0.5\n2\t243199373\t7\t2\t1.5\n';
    const { columns, rows } = await readCsv(text, { delimiter: '\t' });
    expect(describeColumnTypes(columns)).toBe('Chromosome:string chrom_length:double Chr:string number:double chr:double');
    expect(rows[1]).toEqual({ Chromosome: '2', chrom_length: 243199373, Chr: '7', number: 2, chr: 1.5 });
  }); // prettier-ignore

  test('one cell that is not a number makes the column a string with the text of all cells', async () => {
    const cells = Array.from({ length: 3000 }, (_, i) => (i === 2900 ? 'X' : `00${i}.50`));
    for (const targetBytes of [100, 5000, 1 << 20]) {
      const { rows, rewritten, chunks } = await readCsv(
        `n,t\n${cells.map((cell) => `1,${cell}`).join('\n')}`,
        {},
        { targetBytes },
      );
      expect(rows.map((row) => row['t'])).toEqual(cells);
      expect(rows.every((row) => row['n'] === 1)).toBe(true);
      expect(rewritten).toBe(chunks - 1);
    }
  });

  test.each<[StoredType, boolean, string, unknown]>([
    ['long', false, '9007199254740993', 9007199254740993n],
    ['integer', false, '42', 42],
    ['integer', false, '4.5', 'code 301'],
    ['double', false, '1.5', 1.5],
    ['double', false, ' 2 ', 2],
    ['double', false, 'x', 'code 301'],
    ['float', false, '0.5', 0.5],
    ['string', false, '007', '007'],
    ['text', false, 'x'.repeat(40_000), 'x'.repeat(40_000)],
    ['string', false, 'x'.repeat(32_767), 'code 306'],
    ['string', false, 'x'.repeat(32_766), 'x'.repeat(32_766)],
    ['boolean', false, 'true', true],
    ['date', false, '2024-01-02', '2024-01-02'],
    ['string', true, 'x', ['x']],
    ['json', false, 'say "x"', 'say "x"'],
    ['json', false, '"x"', 'x'],
    ['json', false, '{"a": [1, 9007199254740993]}', { a: [1, 9007199254740993n] }],
    ['json', false, '[1', '[1'],
    ['json', false, 'NaN', 'NaN'],
    ['json', false, '[1e999]', '[1e999]'],
    ['string', true, '["x", null, "y,z"]', ['x', null, 'y,z']],
    ['string', true, '[x]', ['[x]']],
    ['string', false, '["x"]', '["x"]'],
    ['long', true, '[9007199254740993]', [9007199254740993n]],
    ['double', true, '[]', []],
    ['double', true, '[1, 2.5]', [1, 2.5]],
    ['double', true, '[1e999]', 'code 301'],
    ['double', true, '["x"]', 'code 301'],
  ])('a field of type %s (list: %s) stores its values', async (type, isList, cell, want) => {
    const knownColumns: Column[] = [{ name: 'v', physical: 'v', type, isList, isDeclared: true }];
    const { rows, error } = await readCsv(
      `v,w\n"${cell.replaceAll('"', '""')}",1\n,2\n`,
      {},
      { known: knownColumns },
    );
    if (typeof want === 'string' && want.startsWith('code')) expect(error).toContain(want);
    else
      expect([error, rows]).toEqual([
        null,
        [
          { v: want, w: 1 },
          { v: null, w: 2 },
        ],
      ]);
  });

  test('a cell longer than a string may be makes its column a text, with a warning', async () => {
    const longText = 'é'.repeat(16_384);
    const { rows, error, findings, columns } = await readCsv(`a\nx\n${longText}\n`);
    expect([error, rows, columns[0]!.type]).toEqual([null, [{ a: 'x' }, { a: longText }], 'text']);
    expect(findings.counts).toEqual({ 306: 1 });
    const validation = { ...lenientParams, disable: true };
    expect((await readCsv(`a\n${longText}\n`, {}, { validation })).rows).toEqual([{ a: longText }]);
  });

  test('whole numbers that doubles cannot hold make a long, with a warning', async () => {
    const bigNumbers = ['9007199254740993', '-9223372036854775808', '5', '', '1e3'];
    const restOfCells = Array.from({ length: 400 }, (_, i) => `${i}`);
    for (const targetBytes of [40, 1 << 20]) {
      for (const cells of [[...bigNumbers, ...restOfCells], [...restOfCells, ...bigNumbers]]) {
        const text = `n,m\n${cells.map((cell) => `${cell},1.5`).join('\n')}\n`;
        const { rows, columns, error, findings } = await readCsv(text, {}, { targetBytes });
        expect([error, columns.map(({ type }) => type)]).toEqual([null, ['long', 'double']]);
        const expectedCells = cells.map((cell) => (cell === '' ? null : cell === '1e3' ? 1000n : BigInt(cell)));
        const foundNumbers = rows.map(({ n }) => (n === null ? null : BigInt(n as number)));
        expect(foundNumbers).toEqual(expectedCells);
        expect(findings.warnings).toBeGreaterThan(0);
        expect(findings.examples[0]!.message).toContain('cannot hold');
      }
    }
    for (const other of ['0.5', '1e300', '9223372036854775808', '+9007199254740993']) {
      const { columns } = await readCsv(`n\n9007199254740993\n${other}\n`, {}, { targetBytes: 5 });
      expect([other, columns[0]!.type]).toEqual([other, 'double']);
    }
    const padded = await readCsv('n\n 9007199254740993 \n5\n');
    expect([padded.columns[0]!.type, padded.rows.map(({ n }) => String(n))]).toEqual(['long', ['9007199254740993', '5']]);
    // An integer that a double represents exactly is stored as a double.
    const { columns, findings } = await readCsv('n\n9007199254740992\n18014398509481984\n1\n');
    expect([columns[0]!.type, findings.warnings]).toEqual(['double', 0]);
    expect((await readCsv('n\n9007199254740993\nx\n')).columns[0]!.type).toBe('string');
  }); // prettier-ignore

  test('columns keep the order of the file', async () => {
    const { ordering } = await readCsv('z,_id,b,a\n1,x,2,3\n', { skipcols: [2] });
    expect(ordering).toEqual([
      ['z', 0],

      ['a', 1],
    ]);
  });
});

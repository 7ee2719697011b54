import { describe, expect, test } from '@jest/globals';
import type { Column, StoredType } from '../../../engine/core/types.js';
import { lenientParams } from '../import-pieces.js';
import { importSource, type SourceOptions } from '../import-source.js';

describe('columns with the dotted names of members', () => {
  const column = (name: string, type: StoredType, more: Partial<Column> = {}): Column => ({ name, physical: name, type, isList: false, ...more }); // prettier-ignore
  const memberColumns = [
    column('AF', 'double'),
    column('note', 'string'),
    column('genes', 'string', { isList: true }),
    column('site', 'object', { children: [column('a.b', 'string'), column('n', 'long')] }),
  ];
  const knownColumns = [column('id', 'string'), column('info', 'object', { children: memberColumns }), column('flat.x', 'string'), column('flat', 'object', { children: [column('x', 'string')] }), column('calls', 'object', { isList: true, children: [column('GT', 'string')] })]; // prettier-ignore
  const readRecords = async (text: string, more: SourceOptions = {}): Promise<unknown> => {
    const { rows, error } = await importSource(text, 'csv', { known: knownColumns, ...more });
    return error ?? rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))); // prettier-ignore
  };
  test.each<[string, string, unknown]>([
    ['fill the members, and a row without any has no object', 'id,info.AF,info.site.n\na,0.5,1\nb,,\nc,,2\nd,.,\n', [{ id: 'a', info: { AF: 0.5, site: { n: 1 } } }, { id: 'b' }, { id: 'c', info: { site: { n: 2 } } }, { id: 'd' }]],
    ['fill members in runs of plain rows', 'id,info.AF,info.note\na,0.5,x\nb,,\nc,,y\nd,.,\n', [{ id: 'a', info: { AF: 0.5, note: 'x' } }, { id: 'b' }, { id: 'c', info: { note: 'y' } }, { id: 'd' }]],
    ['fill members that all rows have', 'info.AF,info.note\n1,\n2,x\n', [{ info: { AF: 1 } }, { info: { AF: 2, note: 'x' } }]],
    ['also of a member with a dot in its own name', 'info.site.a.b\nx\n', [{ info: { site: { 'a.b': 'x' } } }]],
    ['fill lists', 'info.genes,info.AF\n"[""x"",""y""]",1\n,2\nz,\n', [{ info: { AF: 1, genes: ['x', 'y'] } }, { info: { AF: 2 } }, { info: { genes: ['z'] } }]],
    ['fill a field with that own name, if there is one', 'flat.x\nx\n', [{ 'flat.x': 'x' }]],
    ['are new fields where there is no such member, as in lists', 'info.DP,calls.GT\n1,x\n', [{ 'info.DP': 1, 'calls.GT': 'x' }]],
    ['are new fields beside a column of the whole object', 'info,info.AF\n,1\n', [{ 'info.AF': 1 }]],
    ['reject values of other types', 'id,info.AF\na,x\n', expect.stringContaining('301')],
  ])('%s', async (_, text, want) => {
    expect(await readRecords(text)).toEqual(want);
    expect(await readRecords(text, { targetBytes: 8 })).toEqual(want);
  }); // prettier-ignore

  test('widen members', async () => {
    const text = `id,info.site.n,info.AF\n${'a,1,1\n'.repeat(9)}b,1.5,2\n`;
    for (const targetBytes of [8, 1000]) {
      const { rows, columns } = await importSource(text, 'csv', {
        known: knownColumns,
        targetBytes,
      });
      expect(columns[1]!.children![3]!.children![1]!.type).toBe('double');
      expect(rows.map(({ info }) => info)).toEqual([...Array.from({ length: 9 }, () => ({ AF: 1, site: { n: 1 } })), { AF: 2, site: { n: 1.5 } }]); // prettier-ignore
    }
  });

  test('lose the values of rejected rows', async () => {
    const validation = { ...lenientParams, maxRejected: 5 };
    const text = 'id,info.genes,info.AF\na,x,1\nb,y,no\nc,,\nd,,4\n';
    const { rows } = await importSource(text, 'csv', { known: knownColumns, validation });
    expect(rows.map(({ id, info }) => [id, info])).toEqual([['a', { AF: 1, genes: ['x'] }], ['c', null], ['d', { AF: 4 }]]); // prettier-ignore
  });

  test('are named as a whole in findings', async () => {
    const isDeclared = true;
    const declaredColumns = [column('info', 'object', { children: [column('AF', 'double'), column('DP', 'double', { isDeclared }), column('note', 'string')] })]; // prettier-ignore
    const text = Buffer.from('info.AF,info.DP,info.note\nNaN,inf,caf\xe9\n', 'latin1');
    const params = { encoding: 'utf-8' };
    const { findings } = await importSource(text, 'csv', { known: declaredColumns, validation: lenientParams, params }); // prettier-ignore
    expect(findings.examples.map(({ field }) => field).toSorted()).toEqual(['info.AF', 'info.DP', 'info.note']); // prettier-ignore
  });

  test('are not derived from the cells of a MAF file', async () => {
    const coordinates = column('genomic_coordinates', 'object', { children: [column('start', 'long')] }); // prettier-ignore
    const header = 'Chromosome,Start_Position,Reference_Allele,Tumor_Seq_Allele2,NCBI_Build';
    const text = `${header},genomic_coordinates.start\n1,100,A,C,GRCh38,7\n1,200,A,C,GRCh38,\n`;
    const { rows } = await importSource(text, 'csv', { known: [coordinates] });
    expect(rows.map((row) => [row['genomic_coordinates'], row['variant']])).toEqual([[{ start: 7 }, 'GRCH38-1-100-100-C'], [null, 'GRCH38-1-200-200-C']]); // prettier-ignore
  });
});

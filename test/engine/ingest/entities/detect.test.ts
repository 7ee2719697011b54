import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { detectEntity } from '../../../../engine/ingest/entities/detect.js';
import { loadHumanGenes, parseGenes } from '../../../../engine/ingest/entities/genes.js';
import { entityTypes, type EntityType } from '../../../../engine/core/types.js';

const genes = await loadHumanGenes();
const allEntityTypes = new Set<EntityType>(entityTypes);

describe('the entity type of a field', () => {
  const cases = readFileSync('test/engine/ingest/entities/decisions.txt', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t') as [string, string, string, string]);

  test('is decided for many fields of real files', () => {
    expect(cases.length).toBeGreaterThan(150);
    expect(new Set(cases.map(([, , type]) => type))).toEqual(new Set([...entityTypes, 'none']));
  });

  test.each(cases)('%s, %s: %s', (_source, field, type, values) => {
    const detection = detectEntity(
      field.split('.').at(-1)!,
      values.split('|'),
      allEntityTypes,
      genes,
    );
    expect(detection?.entityType ?? 'none').toBe(type);
  });

  test('is one of the wanted types only', () => {
    const wantedTypes = new Set<EntityType>(['variant', 'literature']);
    expect(detectEntity('gene', ['BRCA2'], wantedTypes, genes)).toBeNull();
    expect(detectEntity('pmid', ['123'], wantedTypes, genes)).toEqual({
      entityType: 'literature',
      sampled: 1,
      matched: 1,
    });
  });

  test('is none for a field without values', () => {
    expect(detectEntity('gene', [], allEntityTypes, genes)).toBeNull();
  });
});

describe('the table of genes', () => {
  test('has the approved symbols and most of their previous symbols', () => {
    expect(genes.count).toBe(33_894);
    expect(genes.symbol('BRCA2')).toBe('BRCA2');
    expect(genes.symbol('brca2')).toBeUndefined();
    expect(genes.resolve('brca2')).toBe('BRCA2');
    expect(genes.resolve('MLL')).toBe('KMT2A');
    expect(genes.resolve('SEPT9')).toBe('SEPTIN9');
    expect(genes.resolve('HER2')).toBe('ERBB2');
    expect(genes.resolve('not a gene')).toBeUndefined();
    expect(genes.synonyms('ERBB2')).toContain('HER2');
  });

  test('has nearly every gene of the gnomAD constraint table', () => {
    const geneNames = readFileSync('test/fixtures/entities/gnomad_genes.txt', 'utf8')
      .trim()
      .split('\n');
    const knownNames = geneNames.filter((name) => genes.resolve(name) !== undefined);
    expect(geneNames.length).toBeGreaterThan(200);
    expect(knownNames.length / geneNames.length).toBeGreaterThan(0.98);
  });

  test('resolves a synonym of two genes to the first, and a symbol always to its own gene', () => {
    const table = parseGenes('AAA\tX1\tBBB\nBBB\tX1\nccc\n');
    expect(table.resolve('x1')).toBe('AAA');
    expect(table.resolve('bbb')).toBe('BBB');
    expect(table.symbol('ccc')).toBe('ccc');
  });
});

import type { Columns } from '../../../engine/core/types.js';
import {
  column,
  fieldRows,
  listColumn,
  type EngineFixture,
  type TestDataset,
  type TestRow,
} from './dataset.js';

/** The columns of the worked examples (query language, section 7). */
export const sixColumns: Columns = [
  column('gene', 'string'),
  column('variant', 'string'),
  column('pmid', 'string'),
  listColumn(column('significance', 'string')),
  column('stars', 'integer'),
  column('af', 'double'),
  column('date_created', 'date'),
  column('abstract', 'text'),
  column('reported', 'boolean'),
  column('genomic_coordinates', 'object', [
    column('build', 'string'),
    column('chromosome', 'string'),
    column('start', 'long'),
    column('stop', 'long'),
  ]),
];

const coordinatesAt = (chromosome: string, start: number, stop: number) => ({
  build: 'GRCh37',
  chromosome,
  start,
  stop,
});

/** The records of the worked examples, with the ids that the specification gives them. */
export const sixRows: readonly TestRow[] = [
  {
    _id: 'r1',
    gene: 'BRCA1',
    significance: ['Pathogenic'],
    stars: 3,
    af: 0.0001,
    date_created: '2015-01-10',
    abstract: 'BRCA1 loss in breast cancer',
    reported: true,
    pmid: '100',
    genomic_coordinates: coordinatesAt('17', 41244429, 41244429),
    variant: 'GRCH37-17-41244429-41244429-T',
  },
  {
    _id: 'r2',
    gene: 'BRCA2',
    significance: ['Pathogenic', 'Likely pathogenic'],
    stars: 1,
    af: 0.02,
    date_created: '2016-05-01',
    abstract: 'A breast cancer family study of cancer risk',
    reported: false,
    pmid: '200',
    genomic_coordinates: coordinatesAt('13', 32890599, 32890599),
    variant: 'GRCH37-13-32890599-32890599-C',
  },
  {
    _id: 'r3',
    gene: 'brca1',
    significance: ['Benign'],
    stars: 2,
    af: 0.2,
    date_created: '2016-05-01T12:30:00',
    reported: true,
    pmid: '100',
    genomic_coordinates: coordinatesAt('17', 41276045, 41276048),
    variant: 'GRCH37-17-41276045-41276048-A',
  },
  {
    _id: 'r4',
    gene: 'TTN',
    significance: ['Uncertain significance'],
    stars: 1,
    date_created: '2017-03-29',
    abstract: 'Diabetes and muscle',
    genomic_coordinates: coordinatesAt('2', 179390716, 179672150),
  },
  {
    _id: 'r5',
    gene: 'CFTR',
    significance: [],
    stars: 0,
    af: 0.5,
    date_created: '2017-12-31',
    abstract: 'Cystic fibrosis',
    reported: false,
    pmid: '300',
    genomic_coordinates: coordinatesAt('7', 117559590, 117559593),
    variant: 'GRCH37-7-117559590-117559593-A',
  },
  {
    _id: 'r6',
    gene: 'EGFR',
    significance: ['drug response'],
    stars: 4,
    af: 0.05,
    date_created: '2018-02-02',
    abstract: 'Diabetes therapy; diabetes outcomes',
    reported: true,
    pmid: '200',
    genomic_coordinates: coordinatesAt('7', 55019017, 55211628),
  },
];

/** Writes the dataset of the worked examples, in two segments. */
export async function createSixRecordDataset(engineFixture: EngineFixture): Promise<TestDataset> {
  const { snapshot } = await engineFixture.newDataset(sixColumns, [
    sixRows.slice(0, 2),
    sixRows.slice(2),
  ]);
  const entities = { gene: 'gene', variant: 'variant', pmid: 'literature' } as const;
  return { snapshot, fields: fieldRows(sixColumns, [], entities) };
}

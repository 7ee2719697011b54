import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AppError } from '../../../engine/core/errors.js';
import { genomicNotation } from '../../../engine/query/request/genomic-notation.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import {
  column,
  fieldRows,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestRow,
  enginesUnderTest,
} from './dataset.js';
import { Random } from './random.js';
import { createSixRecordDataset } from './six-records.js';
import { seed } from '../../seed.js';

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  /** This is a type alias and not an interface, so that TypeScript also accepts it as a value of a row. */
  type Place = {
    readonly build: string;
    readonly chromosome: string;
    readonly start: number;
    readonly stop: number;
  };

  function randomPlace(random: Random): Place {
    const start = 1 + random.integerBelow(60);
    return {
      build: random.pick(['GRCh37', 'GRCH38', 'T2T-CHM13']),
      chromosome: random.pick(['1', '7', 'X', 'chr7', 'Chr1']),
      start,
      stop: start + random.integerBelow(12),
    };
  }

  const placeText = ({ build, chromosome, start, stop }: Place, end = ''): string =>
    `${build}-${chromosome}-${start}-${stop}${end}`;

  test(`regions overlap the text of regions and variants as intervals do (STRANDLAKE_SEED=${seed}) (Q10)`, async () => {
    const random = new Random(seed);
    const columns = [column('region', 'string'), listColumn(column('variants', 'string'))];
    const rows = random.list(300, (): TestRow & { places: readonly Place[] } => {
      const places = random.list(random.integerBelow(4), () => randomPlace(random));
      const [first, ...more] = places;
      const variants = more.map((place) => placeText(place, random.pick(['-A', '-<DEL>', '-G-T'])));
      return {
        places,
        region: first ? placeText(first) : random.pick([null, 'none', '7-1-2', 'T2T-CHM13-5-9']),
        variants,
      };
    });
    const { snapshot } = await engineFixture.newDataset(columns, [
      rows.slice(0, 100),
      rows.slice(100),
    ]);
    const entities = { region: 'genomic_region', variants: 'variant' } as const;
    const fields = fieldRows(columns, [], entities);
    const bareName = (name: string): string => name.replace(/^chr/i, '').toLowerCase();
    for (let i = 0; i < 200; i++) {
      const wantedPlace = randomPlace(random);
      const matchesAnyBuild = random.chance(0.3);
      const region = matchesAnyBuild
        ? { ...wantedPlace, build: null }
        : random.chance(0.5)
          ? wantedPlace
          : placeText(wantedPlace);
      const request = parseQuery({ entities: [['genomic_region', region]], limit: 0 }, fields);
      const { total } = await runQuery(engineFixture.engine, snapshot, fields, request);
      const naiveRows = rows.filter(({ places }) =>
        places.some(
          (place) =>
            (matchesAnyBuild || place.build.toUpperCase() === wantedPlace.build.toUpperCase()) &&
            bareName(place.chromosome) === bareName(wantedPlace.chromosome) &&
            place.start <= wantedPlace.stop &&
            place.stop >= wantedPlace.start,
        ),
      );
      expect([region, total]).toEqual([region, naiveRows.length]);
    }
  });

  describe('notations of genomics', () => {
    const placeOf = (build: string, chromosome: string, start: number, stop = start) => ({ build, chromosome, start, stop }); // prettier-ignore
    const columns = [
      column('variant', 'string'),
      column('row_id', 'string'),
      column('gene', 'string'),
      column('info', 'object', [column('RS', 'string'), column('dbsnp_id', 'long')]),
      column('genomic_coordinates', 'object', [column('build', 'string'), column('chromosome', 'string'), column('start', 'long'), column('stop', 'long')]),
    ]; // prettier-ignore
    const rows = [
      { _id: 'a', variant: 'GRCH38-13-32316461-32316461-G', row_id: 'rs80359550;rs1', gene: 'BRCA2', genomic_coordinates: placeOf('GRCh38', '13', 32316461) },
      { _id: 'b', variant: 'GRCH37-CHR13-32890598-32890599-A', row_id: 'rs803595501', info: { RS: '80359550' }, genomic_coordinates: placeOf('GRCh37', '13', 32890598, 32890599) },
      { _id: 'c', variant: '13-32316461-A-T', info: { dbsnp_id: 42n }, genomic_coordinates: placeOf('GRCh38', '13', 32316470) },
      { _id: 'd', variant: 'GRCH38-MT-100-100-C', gene: 'RS1', genomic_coordinates: placeOf('GRCh38', 'MT', 100) },
      { _id: 'e', variant: 'T2T-CHM13-21-50-50-T', genomic_coordinates: placeOf('T2T-CHM13', '21', 50) },
      { _id: 'f', variant: 'T2T-CHM13-CHR21-60-60-T' },
      { _id: 'g', variant: 'T2T-CHM13-5-9' },
    ] as unknown as readonly TestRow[]; // prettier-ignore
    const entities = { variant: 'variant', gene: 'gene' } as const;
    const genes = {
      resolve: (text: string) => (/^(brca2|fancd1)$/i.test(text) ? 'BRCA2' : /^rs1$/i.test(text) ? 'RS1' : undefined), // prettier-ignore
    };
    const findIds = async (body: object): Promise<string> => {
      const { snapshot } = await engineFixture.newDataset(columns, [
        rows.slice(0, 2),
        rows.slice(2),
      ]);
      const fields = fieldRows(columns, [], entities);
      const { results } = await runQuery(engineFixture.engine, snapshot, fields, parseQuery(body, fields, genes)); // prettier-ignore
      return (JSON.parse(results) as readonly { _id: string }[]).map(({ _id }) => _id).join('');
    };

    test.each([
      // A region matches whatever entity type the request gives it, in the builds that the dataset has.
      ['genomic_region', '13:32316000-32317000', 'ac'],
      ['genomic_region', 'chr13:32,316,461-32,316,465', 'a'],
      ['variant', 'chr13:32316461', 'a'],
      ['gene', '13:32316466..32890598', 'bc'],
      ['genomic_region', 'GRCh37:13:32316000-32890598', 'b'],
      ['genomic_region', 'hg38-13:32316000-32890598', 'ac'],
      ['genomic_region', 'chrM:90-110', 'd'],
      ['genomic_region', 'GRCH38-M-90-110', 'd'],
      ['genomic_region', 'GRCH38-13-32316461-32316470', 'ac'],
      // A variant matches in every notation. Its stop follows from the length of the reference allele: 32890598-AT-A stops at 32890599.
      ['variant', '13-32316461-A-G', 'a'],
      ['variant', 'chr13:32316461:A:G', 'a'],
      ['variant', '13:g.32316461A>G', 'a'],
      ['variant', '13-32316461-a-t', 'c'],
      ['variant', 'chr13-32890598-AT-A', 'b'],
      ['variant', 'hg19-13-32890598-AT-A', 'b'],
      ['variant', 'hg38-13-32890598-AT-A', ''],
      ['variant', 'M-100-T-C', 'd'],
      ['variant', 'GRCH38-13-32316461-32316461-G', 'a'],
      ['genomic_region', '13-32890598-AT-A', 'b'],
      // The genome build of the records e, f and g has a name with a hyphen.
      ['variant', '21-50-A-T', 'e'],
      ['variant', 'chm13:21-50-A-T', 'e'],
      ['variant', 'HS1-21-50-A-T', 'e'],
      ['variant', 'hg38-21-50-A-T', ''],
      ['variant', 't2t-chm13-chr21-50-50-T', 'e'],
      ['genomic_region', 'T2T-CHM13-21-1-100', 'ef'],
      ['genomic_region', 'T2T-CHM13:chr21:1-100', 'ef'],
      ['genomic_region', '21:50-60', 'ef'],
      ['genomic_region', 'GRCh38:21:1-100', ''],
      ['genomic_region', { build: 't2t-chm13', chromosome: '21', start: 55, stop: 70 }, 'f'],
      ['genomic_region', { chromosome: 'CHM13', start: 9, stop: 9 }, 'g'],
      // Ids of dbSNP match in lists and as numbers, but not as a part of another id.
      ['variant', 'rs80359550', 'ab'],
      ['gene', 'RS80359550', 'ab'],
      ['genomic_region', 'rs42', 'c'],
      ['variant', 'rs8035955', ''],
      // Names of genes, one of which looks like an id of dbSNP.
      ['genomic_region', 'FANCD1', 'a'],
      ['variant', 'brca2', 'a'],
      ['gene', 'RS1', 'd'],
      ['variant', 'RS1', 'd'],
      ['variant', 'rs1', 'a'],
      ['variant', ['13-32316461-A-G', 'rs42', 'chrM:100'], 'acd'],
    ])('%s %j', async (type, value, expected) => {
      expect(await findIds({ entities: [[type, value]] })).toBe(expected);
    });

    test('the build of a request is that of places without one', async () => {
      for (const region of ['21:1-100', { chromosome: '21', start: 1, stop: 100 }])
        for (const [genome_build, expected] of [['T2T-CHM13', 'ef'], ['GRCh38', '']] as const) // prettier-ignore
          expect(await findIds({ entities: ['genomic_region', region], genome_build })).toBe(expected); // prettier-ignore
      for (const [genome_build, expected] of [['GRCh37', 'b'], ['grch38', ''], [null, 'b']] as const) // prettier-ignore
        expect(await findIds({ entities: ['variant', '13-32890598-AT-A'], genome_build })).toBe(expected); // prettier-ignore
      const region = { entities: ['genomic_region', '13:1-99999999'] };
      expect(await findIds({ ...region, genome_build: 'GRCh37' })).toBe('b');
      expect(await findIds(region)).toBe('abc');
    });

    test('mistakes are named', () => {
      const message = (pair: unknown, knownFields = fieldRows(columns, [], entities)): string => {
        try {
          parseQuery({ entities: [pair] }, knownFields, genes);
        } catch (error) {
          return (error as AppError).message;
        }
        return 'accepted';
      };
      expect(message(['variant', 'UKB:13:100:A:G'])).toBe('accepted');
      expect(message(['genomic_region', '13:200-100'])).toMatch(/200 comes before 100/);
      expect(message(['genomic_region', 'somewhere'])).toMatch(/Expected a region like 7:55000000-56000000/); // prettier-ignore
      expect(message(['variant', 'rs42'], fieldRows([column('x', 'string')], []))).toMatch(/none whose name tells rs ids/); // prettier-ignore
      expect(message(['genomic_region', 'BRCA2'], fieldRows(columns, []))).toMatch(/no field of the entity type gene/); // prettier-ignore
      // The test has only names of genes, not their positions.
      const knownFields = fieldRows(columns, [], { variant: 'variant' });
      for (const type of ['gene', 'genomic_region', 'variant'])
        expect(message([type, 'BRCA2'], knownFields)).toMatch(
          /where a gene lies is not known: give the region of "BRCA2" by its positions/,
        );
      const builds = 'Expected the build GRCh37, GRCh38 or T2T-CHM13, not';
      for (const [type, value, expectedText] of [
        ['genomic_region', 'hg18:13:100-200', `${builds} "hg18".`],
        ['variant', 'NCBI36-chr13-100-A-G', `${builds} "NCBI36".`],
        ['gene', 'b37:13-100-A-G', `${builds} "b37". Did you mean "GRCh37"?`],
        ['genomic_region', 'GRCm38-13-100-200', `${builds} "GRCm38".`],
        ['genomic_region', 'hg19-13-100-200', `${builds} "hg19". Did you mean "GRCh37"?`],
        ['genomic_region', { build: 'GRHc38', chromosome: '13', start: 1, stop: 2 }, `${builds} "GRHc38". Did you mean "GRCh38"?`],
        ['genomic_region', { build: 'CHM13v2.0', chromosome: '13', start: 1, stop: 2 }, `${builds} "CHM13v2.0". Did you mean "T2T-CHM13"?`],
      ] as const)
        expect(message([type, value])).toBe(`${expectedText} (at entities[0])`); // prettier-ignore
      for (const text of [
        'BRCA2',
        '13',
        '13-32316461',
        '13:x',
        'rs',
        'rs12x',
        'GRCH37-13-1-2-A',
        'T2T-CHM13-13-1-2-A',
        'hg18:13:100',
        '1:2:3',
        'PMID:100',
      ])
        expect([text, genomicNotation(text)]).toEqual([text, undefined]);
    });
  });

  test('an alias finds the records of its gene, and those that say the alias', async () => {
    const { snapshot, fields } = await createSixRecordDataset(engineFixture);
    const genes = {
      resolve: (text: string) => (text.toUpperCase() === 'ERBB1' ? 'EGFR' : undefined),
    };
    const countMatches = async (value: string): Promise<number> => {
      const request = parseQuery({ entities: [['gene', value]], limit: 0 }, fields, genes);
      return (await runQuery(engineFixture.engine, snapshot, fields, request)).total;
    };
    expect(await countMatches('erbb1')).toBe(1);
    expect(await countMatches('brca1')).toBe(2);
    expect(await countMatches('nothing')).toBe(0);
  });
});

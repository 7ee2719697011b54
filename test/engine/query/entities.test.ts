import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseQuery } from '../../../engine/query/request/request.js';
import { runQuery } from '../../../engine/query/plan/query.js';
import {
  column,
  fieldRows,
  listOf,
  openBench,
  type Bench,
  type TestRow,
  engines,
} from './dataset.js';
import { Random } from './random.js';
import { sixRecords } from './six-records.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? Date.now() % 1_000_000_007);

describe.each(engines)('by %s', (_, threads) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(threads);
  });
  afterAll(() => bench.close());

  /** A type and no interface, so that it is a value of a row too. */
  type Place = {
    readonly build: string;
    readonly chromosome: string;
    readonly start: number;
    readonly stop: number;
  };

  function randomPlace(random: Random): Place {
    const start = 1 + random.below(60);
    return {
      build: random.pick(['GRCh37', 'GRCH38']),
      chromosome: random.pick(['1', '7', 'X', 'chr7', 'Chr1']),
      start,
      stop: start + random.below(12),
    };
  }

  const written = ({ build, chromosome, start, stop }: Place, end = ''): string =>
    `${build}-${chromosome}-${start}-${stop}${end}`;

  test(`regions overlap the text of regions and variants as intervals do (STRANDLAKE_SEED=${seed}) (Q10)`, async () => {
    const random = new Random(seed);
    const columns = [column('region', 'string'), listOf(column('variants', 'string'))];
    const rows = random.list(300, (): TestRow & { places: readonly Place[] } => {
      const places = random.list(random.below(4), () => randomPlace(random));
      const [first, ...more] = places;
      const variants = more.map((place) => written(place, random.pick(['-A', '-<DEL>', '-G-T'])));
      return {
        places,
        region: first ? written(first) : random.pick([null, 'none', '7-1-2']),
        variants,
      };
    });
    const { snapshot } = await bench.dataset(columns, [rows.slice(0, 100), rows.slice(100)]);
    const entities = { region: 'genomic_region', variants: 'variant' } as const;
    const fields = fieldRows(columns, [], entities);
    const bare = (name: string): string => name.replace(/^chr/i, '').toLowerCase();
    for (let i = 0; i < 200; i++) {
      const wanted = randomPlace(random);
      const anyBuild = random.chance(0.3);
      const region = anyBuild
        ? { ...wanted, build: null }
        : random.chance(0.5)
          ? wanted
          : written(wanted);
      const request = parseQuery({ entities: [['genomic_region', region]], limit: 0 }, fields);
      const { total } = await runQuery(bench.engine, snapshot, fields, request);
      const naive = rows.filter(({ places }) =>
        places.some(
          (place) =>
            (anyBuild || place.build.toUpperCase() === wanted.build.toUpperCase()) &&
            bare(place.chromosome) === bare(wanted.chromosome) &&
            place.start <= wanted.stop &&
            place.stop >= wanted.start,
        ),
      );
      expect([region, total]).toEqual([region, naive.length]);
    }
  });

  test('an alias finds the records of its gene, and those that say the alias', async () => {
    const { snapshot, fields } = await sixRecords(bench);
    const genes = {
      resolve: (text: string) => (text.toUpperCase() === 'ERBB1' ? 'EGFR' : undefined),
    };
    const total = async (value: string): Promise<number> => {
      const request = parseQuery({ entities: [['gene', value]], limit: 0 }, fields, genes);
      return (await runQuery(bench.engine, snapshot, fields, request)).total;
    };
    expect(await total('erbb1')).toBe(1);
    expect(await total('brca1')).toBe(2);
    expect(await total('nothing')).toBe(0);
  });
});

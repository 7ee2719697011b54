import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import {
  column,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  enginesUnderTest,
} from './dataset.js';
import { Random } from './random.js';
import { seed } from '../../seed.js';

/** The position of a record; an insertion of zero width has a stop before its start. */
interface RecordRegion {
  readonly build?: string;
  readonly chromosome: string;
  readonly start: number;
  readonly stop: number;
}

const regionCount = 1_000;

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  let places: readonly (RecordRegion | null)[];
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
    const random = new Random(seed);
    places = random.list(600, () => {
      if (random.chance(0.05)) return null;
      const start = random.chance(0.05)
        ? random.pick([0, 1, 2 ** 31, 2 ** 40])
        : random.integerBelow(1_000);
      const build = random.pick([
        { build: 'GRCh37' },
        { build: 'GRCh38' },
        { build: 'grch37' },
        {},
      ]);
      const width = random.chance(0.1) ? -1 : random.integerBelow(random.pick([1, 20, 500]));
      return {
        ...build,
        chromosome: random.pick(['1', '2', 'X', 'MT', 'M']),
        start,
        stop: start + width,
      };
    });
    const rows = places.map((place) => (place ? { genomic_coordinates: { ...place } } : {}));
    const coordinates = column('genomic_coordinates', 'object', [
      column('build', 'string'),
      column('chromosome', 'string'),
      column('start', 'long'),
      column('stop', 'long'),
    ]);
    dataset = await engineFixture.newDataset([coordinates], [rows.slice(0, 250), rows.slice(250)]);
  });
  afterAll(() => engineFixture.close());

  const C = 'genomic_coordinates.chromosome';
  const S = 'genomic_coordinates.start';
  const E = 'genomic_coordinates.stop';

  /** The filters as clients write them (query language, section 6), each as a function of chromosome, start and stop. */
  const filterByKind = {
  position: (c: string, s: number) => ({ and: [[`${S}__lte`, s], [`${E}__gte`, s], [C, c]] }),
  'exact range': (c: string, s: number, e: number) => ({ and: [[S, s], [E, e], [C, c]] }),
  range: (c: string, s: number, e: number) => ({
    and: [{ or: [{ and: [[`${S}__lte`, s], [`${E}__gte`, e]] }, [`${S}__range`, [s, e]], [`${E}__range`, [s, e]]] }, [C, c]],
  }),
}; // prettier-ignore
  const predicateByKind: Readonly<
    Record<keyof typeof filterByKind, (place: RecordRegion, s: number, e: number) => boolean>
  > = {
    position: ({ start, stop }, s) => start <= s && s <= stop,
    'exact range': ({ start, stop }, s, e) => start === s && stop === e,
    // Closed intervals overlap if they share a position; one of zero width overlaps if either of its ends is in the range.
    range: ({ start, stop }, s, e) =>
      start <= stop
        ? start <= e && stop >= s
        : (start >= s && start <= e) || (stop >= s && stop <= e),
  };

  describe.each(Object.keys(filterByKind) as (keyof typeof filterByKind)[])('%s', (kind) => {
    test(`finds what the plain interval test finds (STRANDLAKE_SEED=${seed}) (Q10)`, async () => {
      const random = new Random(seed + 1);
      for (let caseIndex = 0; caseIndex < regionCount / 3; caseIndex += 1) {
        const knownPlace = random.pick(places.filter((place) => place !== null));
        const isExact = random.chance(0.3);
        const chromosome = isExact
          ? knownPlace.chromosome
          : random.pick(['1', '2', 'X', 'MT', 'M', 'Y']);
        const s = isExact ? knownPlace.start : random.integerBelow(1_000) - 5;
        const e = isExact
          ? Math.max(knownPlace.stop, s)
          : s + random.integerBelow(random.pick([1, 50, 2_000]));
        const chromosomeSpelling =
          random.pick(['', 'chr', 'CHR', 'Chr']) +
          (random.chance(0.5) ? chromosome : chromosome.toLowerCase());
        const build = random.pick([undefined, 'GRCh37', 'grch38']);
        const body = {
          filters: [filterByKind[kind](chromosomeSpelling, s, e)],
          genome_build: build,
          limit: 0,
        };
        const request = parseQuery(body, dataset.fields);
        const { total } = await runQuery(
          engineFixture.engine,
          dataset.snapshot,
          dataset.fields,
          request,
        );
        const expected = places.filter(
          (place) =>
            place !== null &&
            place.chromosome === chromosome &&
            predicateByKind[kind](place, s, e) &&
            (build === undefined ||
              place.build === undefined ||
              place.build.toUpperCase() === build.toUpperCase()),
        );
        expect({ body, total }).toEqual({ body, total: expected.length });
      }
    });
  });

  test('a dataset without coordinates has no such field, and no build to restrict', async () => {
    const { snapshot, fields } = await engineFixture.newDataset(
      [column('a', 'long')],
      [[{ a: 1 }]],
    );
    expect(() => parseQuery({ filters: [[C, '1']] }, fields)).toThrow('Unknown field');
    const answer = await runQuery(
      engineFixture.engine,
      snapshot,
      fields,
      parseQuery({ genome_build: 'GRCh38' }, fields),
    );
    expect(answer.total).toBe(1);
  });
});

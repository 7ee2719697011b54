import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import {
  freezePredicate,
  not,
  type Predicate,
} from '../../../../engine/query/predicate/predicate.js';
import { touchedSegments } from '../../../../engine/query/predicate/kinds/prune.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { seed } from '../../../seed.js';
import {
  column,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  type TestRow,
} from '../dataset.js';
import { Random } from '../random.js';

const segmentCount = 60;
const rowsPerSegment = 40;

const columns = [
  column('genomic_coordinates', 'object', [
    column('build', 'string'),
    column('chromosome', 'string'),
    column('start', 'long'),
    column('stop', 'long'),
  ]),
  column('variant', 'string'),
];

interface GenomicCoordinates {
  readonly build: string | null;
  readonly chromosome: string | null;
  readonly start: bigint | null;
  readonly stop: bigint | null;
}

const variantOf = (
  { build, chromosome, start, stop }: GenomicCoordinates,
  allele: string,
): string =>
  `${String(build).toUpperCase()}-${String(chromosome).toUpperCase()}-${start}-${stop}-${allele}`;

/** Changes to a record after which its variant does not follow from its coordinates. */
const inconsistentRowGenerators: readonly ((
  row: { place: GenomicCoordinates; variant: string },
  random: Random,
) => TestRow)[] = [
  ({ place, variant }) => recordWithCoordinates({ ...place, start: place.start! + 1n }, variant),
  ({ place, variant }) => recordWithCoordinates({ ...place, stop: place.stop! - 1n }, variant),
  ({ place, variant }) => recordWithCoordinates({ ...place, build: 'GRCh36' }, variant),
  ({ place, variant }) => recordWithCoordinates({ ...place, chromosome: 'Y2' }, variant),
  ({ place, variant }) => recordWithCoordinates({ ...place, chromosome: null }, variant),
  ({ place, variant }) => recordWithCoordinates({ ...place, stop: null }, variant),
  ({ variant }) => ({ genomic_coordinates: null, variant }),
  ({ place, variant }) => recordWithCoordinates(place, variant.toLowerCase()),
  ({ place }) => recordWithCoordinates(place, variantOf(place, '').slice(0, -1)),
  ({ place, variant }) => recordWithCoordinates(place, variant.replace(/-(\d)/, '-0$1')),
  ({ place, variant }) => recordWithCoordinates(place, ` ${variant}`),
  ({ place }, random) => {
    const placeWithHyphen = { ...place, chromosome: random.pick(['HLA-A', '1-5']) };
    return recordWithCoordinates(placeWithHyphen, variantOf(placeWithHyphen, 'A'));
  },
  ({ place }) => {
    const farPlace = { ...place, start: 2n ** 53n, stop: 2n ** 53n };
    return recordWithCoordinates(
      farPlace,
      variantOf(farPlace, 'A').replace('9007199254740992', '9007199254740993'),
    );
  },
];

function recordWithCoordinates(place: GenomicCoordinates, variant: string): TestRow {
  return { genomic_coordinates: { ...place }, variant };
}

/** Returns whether a record has no variant, or one that begins with its complete coordinates, whose chromosome contains no hyphen. */
function followsFromCoordinates({ genomic_coordinates: value, variant }: TestRow): boolean {
  if (typeof variant !== 'string') return true;
  const place = value as GenomicCoordinates | null;
  if (place === null) return false;
  const { build, chromosome, start, stop } = place;
  if ([build, chromosome, start, stop].includes(null) || chromosome!.includes('-')) return false;
  return variant.startsWith(variantOf(place, ''));
}

describe(`variants are looked up by their coordinates (seed ${seed})`, () => {
  const random = new Random(seed);
  let engineFixture: EngineFixture;
  let sqlFixture: EngineFixture;
  let dataset: TestDataset;
  let sqlDataset: TestDataset;
  let rows: readonly (readonly TestRow[])[];
  beforeAll(async () => {
    [engineFixture, sqlFixture] = [await openEngineFixture(0), await openEngineFixture()];
    rows = Array.from({ length: segmentCount }, (_, i) => {
      const chromosome = random.pick(['1', '10', '2', 'X', 'chr3', 'chrUn_k']);
      const from = 1 + random.integerBelow(2_000);
      const segmentRecords = Array.from({ length: rowsPerSegment }, (): TestRow => {
        const start = BigInt(from + random.integerBelow(60));
        const build = random.pick(['GRCh37', 'GRCh38', 'T2T-CHM13']);
        const place = {
          build,
          chromosome,
          start,
          stop: start + BigInt(random.integerBelow(4)) - 1n,
        };
        const allele = random.pick(['A', 'TT', '-', '<DEL>', '<INS:ME-ALU>', 'g', 'A-1-2']);
        return random.chance(0.05)
          ? { variant: null }
          : recordWithCoordinates(place, variantOf(place, allele));
      });
      const makeInconsistent =
        inconsistentRowGenerators[i % (2 * inconsistentRowGenerators.length)];
      if (makeInconsistent === undefined) return segmentRecords;
      const at = random.integerBelow(rowsPerSegment);
      const start = BigInt(from);
      const place = { build: 'GRCh38', chromosome: 'X', start, stop: start };
      const inconsistentRow = makeInconsistent({ place, variant: variantOf(place, 'A') }, random);
      return segmentRecords.map((row, j) => (j === at ? inconsistentRow : row));
    });
    dataset = await engineFixture.newDataset(columns, rows);
    sqlDataset = await sqlFixture.newDataset(columns, rows);
  });
  afterAll(() => Promise.all([engineFixture.close(), sqlFixture.close()]));

  test('a segment says whether all its variants follow from coordinates', () => {
    const placedFlags = dataset.snapshot.segments.map((segment) => segment.areVariantsPlaced);
    expect(placedFlags).toEqual(
      rows.map((segmentRows) => segmentRows.every(followsFromCoordinates)),
    );
    for (const is of [true, false])
      expect(placedFlags.filter((one) => one === is).length).toBeGreaterThan(5);
  });

  const field = { name: 'variant', path: ['variant'], type: 'string' } as const;
  const listVariants = (): string[] => rows.flat().flatMap(({ variant }) => (typeof variant === 'string' ? [variant] : [])); // prettier-ignore
  const expectSameCount = async (predicate: Predicate, isMatch: (variant: string) => boolean) => {
    const expected = listVariants().filter(isMatch).length;
    for (const [fixture, { snapshot, fields }] of [
      [engineFixture, dataset],
      [sqlFixture, sqlDataset],
    ] as const) {
      // prettier-ignore
      const request = { ...parseQuery({ limit: 0 }, fields), predicate };
      const { total } = await runQuery(fixture.engine, snapshot, fields, request);
      expect([predicate, total]).toEqual([predicate, expected]);
    }
  };

  test('equality finds what a loop finds, and opens few of the segments that say so', async () => {
    const allVariants = listVariants();
    for (let i = 0; i < 60; i++) {
      const isLong = random.chance(0.2);
      const from = random.integerBelow(allVariants.length - 100);
      const wantedVariants = random.list(
        isLong ? 65 + random.integerBelow(40) : 1 + random.integerBelow(3),
        () => {
          const variant = isLong
            ? allVariants[from + random.integerBelow(100)]!
            : random.pick(allVariants);
          return random.pick([variant, variant, variant.toLowerCase(), variant.replace('-1-', '-chr1-'), `${variant}T`]); // prettier-ignore
        },
      );
      const ignoreCase = random.chance(0.7);
      const lowerCaseVariants = new Set(wantedVariants.map((one) => one.toLowerCase()));
      const isMatch = (variant: string): boolean =>
        ignoreCase
          ? lowerCaseVariants.has(variant.toLowerCase())
          : wantedVariants.includes(variant);
      const equal = freezePredicate({ kind: 'in', field, values: wantedVariants, ignoreCase });
      await expectSameCount(equal, isMatch);
    }
    const { snapshot } = dataset;
    // A condition on a list of variants leaves the same segments after pruning as the conditions on each of its variants together, if the
    // coordinates of each can be parsed. A list with one that cannot is compared by the bounds of strings alone, which exclude fewer segments.
    const parsableVariants = allVariants.filter((variant) =>
      /-\d{1,15}-\d{1,15}-(?:-|[^-]*)$/.test(variant),
    );
    for (let i = 0; i < 20; i++) {
      const wantedVariants = random.list(1 + random.integerBelow(300), () =>
        random.pick(parsableVariants),
      );
      const touchedBy = (values: readonly string[]): readonly number[] =>
        touchedSegments(
          snapshot,
          freezePredicate({ kind: 'in', field, values, ignoreCase: true }),
        ).filter((number) => snapshot.segments[number]!.areVariantsPlaced);
      const expected = [...new Set(wantedVariants.flatMap((variant) => touchedBy([variant])))];
      expect(touchedBy(wantedVariants)).toEqual(expected.sort((a, b) => a - b));
    }
    const placedSegments = snapshot.segments.flatMap(({ areVariantsPlaced }, i) => (areVariantsPlaced ? [i] : [])); // prettier-ignore
    const variant = String(rows[placedSegments[0]!]!.find((row) => /-[AT]+$/.test(String(row['variant'])))!['variant']); // prettier-ignore
    const equal = freezePredicate({ kind: 'in', field, values: [variant], ignoreCase: true });
    const [, chromosome, start] = /-([^-]+)-(\d+)-\d+-[AT]+$/.exec(variant)!;
    const nearSegments = placedSegments.filter((i) =>
      rows[i]!.some((row) => {
        const place = row['genomic_coordinates'] as GenomicCoordinates | null | undefined;
        return place?.chromosome?.toUpperCase() === chromosome && Math.abs(Number(place!.start) - Number(start)) < 60; // prettier-ignore
      }),
    );
    const touchedNumbers = touchedSegments(snapshot, equal).filter((i) =>
      placedSegments.includes(i),
    );
    expect(touchedNumbers.filter((i) => !nearSegments.includes(i))).toEqual([]);
    expect(touchedNumbers).toContain(placedSegments[0]);
    expect(nearSegments.length).toBeLessThan(placedSegments.length / 2);
  });

  test('overlaps find what a loop finds', async () => {
    for (let i = 0; i < 60; i++) {
      const chromosome = random.pick(['1', '10', '2', 'X', '3', 'UN_K', 'HLA-A', 'Y2']);
      const start = BigInt(random.integerBelow(2_000));
      const stop = start + BigInt(random.integerBelow(300));
      const build = random.pick([null, 'GRCH37', 'T2T-CHM13']);
      const isMatch = (variant: string): boolean => {
        const match = /^(t2t-chm13|[^-]+)-(?:chr)?(.+?)-(\d+)-(\d+)(?:-.*)?$/i.exec(variant);
        if (match === null) return false;
        if (build !== null && match[1]!.toUpperCase() !== build) return false;
        return match[2]!.toUpperCase() === chromosome && BigInt(match[3]!) <= stop && BigInt(match[4]!) >= start; // prettier-ignore
      };
      const overlap = freezePredicate({ kind: 'overlap', field, build, chromosome, start, stop });
      await expectSameCount(random.chance(0.2) ? not(not(overlap)) : overlap, isMatch);
    }
  });
});

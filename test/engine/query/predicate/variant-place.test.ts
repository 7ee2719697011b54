import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runQuery } from '../../../../engine/query/plan/query.js';
import { node, not, type Predicate } from '../../../../engine/query/predicate/predicate.js';
import { touchedSegments } from '../../../../engine/query/predicate/prune.js';
import { parseQuery } from '../../../../engine/query/request/request.js';
import { seed } from '../../../seed.js';
import { column, openBench, type Bench, type Dataset, type TestRow } from '../dataset.js';
import { Random } from '../random.js';

const segments = 60;
const segmentRows = 40;

const columns = [
  column('genomic_coordinates', 'object', [
    column('build', 'string'),
    column('chromosome', 'string'),
    column('start', 'long'),
    column('stop', 'long'),
  ]),
  column('variant', 'string'),
];

interface Place {
  readonly build: string | null;
  readonly chromosome: string | null;
  readonly start: bigint | null;
  readonly stop: bigint | null;
}

const variantOf = ({ build, chromosome, start, stop }: Place, allele: string): string =>
  `${String(build).toUpperCase()}-${String(chromosome).toUpperCase()}-${start}-${stop}-${allele}`;

/** Ways in which a record's variant does not follow from its coordinates. */
const flaws: readonly ((row: { place: Place; variant: string }, random: Random) => TestRow)[] = [
  ({ place, variant }) => recordAt({ ...place, start: place.start! + 1n }, variant),
  ({ place, variant }) => recordAt({ ...place, stop: place.stop! - 1n }, variant),
  ({ place, variant }) => recordAt({ ...place, build: 'GRCh36' }, variant),
  ({ place, variant }) => recordAt({ ...place, chromosome: 'Y2' }, variant),
  ({ place, variant }) => recordAt({ ...place, chromosome: null }, variant),
  ({ place, variant }) => recordAt({ ...place, stop: null }, variant),
  ({ variant }) => ({ genomic_coordinates: null, variant }),
  ({ place, variant }) => recordAt(place, variant.toLowerCase()),
  ({ place }) => recordAt(place, variantOf(place, '').slice(0, -1)),
  ({ place, variant }) => recordAt(place, variant.replace(/-(\d)/, '-0$1')),
  ({ place, variant }) => recordAt(place, ` ${variant}`),
  ({ place }, random) => {
    const dashed = { ...place, chromosome: random.pick(['HLA-A', '1-5']) };
    return recordAt(dashed, variantOf(dashed, 'A'));
  },
  ({ place }) => {
    const far = { ...place, start: 2n ** 53n, stop: 2n ** 53n };
    return recordAt(far, variantOf(far, 'A').replace('9007199254740992', '9007199254740993'));
  },
];

function recordAt(place: Place, variant: string): TestRow {
  return { genomic_coordinates: { ...place }, variant };
}

/** The same decision by a regular expression over the records. */
function followsNaively({ genomic_coordinates: value, variant }: TestRow): boolean {
  if (typeof variant !== 'string') return true;
  const place = value as Place | null;
  if (place === null) return false;
  const { build, chromosome, start, stop } = place;
  if ([build, chromosome, start, stop].includes(null) || chromosome!.includes('-')) return false;
  return variant.startsWith(variantOf(place, ''));
}

describe(`variants are looked up by their coordinates (seed ${seed})`, () => {
  const random = new Random(seed);
  let bench: Bench;
  let sql: Bench;
  let dataset: Dataset;
  let copy: Dataset;
  let rows: readonly (readonly TestRow[])[];
  beforeAll(async () => {
    [bench, sql] = [await openBench(0), await openBench()];
    rows = Array.from({ length: segments }, (_, i) => {
      const chromosome = random.pick(['1', '10', '2', 'X', 'chr3', 'chrUn_k']);
      const from = 1 + random.below(2_000);
      const segmentRecords = Array.from({ length: segmentRows }, (): TestRow => {
        const start = BigInt(from + random.below(60));
        const build = random.pick(['GRCh37', 'GRCh38', 'T2T-CHM13']);
        const place = { build, chromosome, start, stop: start + BigInt(random.below(4)) - 1n };
        const allele = random.pick(['A', 'TT', '-', '<DEL>', '<INS:ME-ALU>', 'g', 'A-1-2']);
        return random.chance(0.05) ? { variant: null } : recordAt(place, variantOf(place, allele));
      });
      const flaw = flaws[i % (2 * flaws.length)];
      if (flaw === undefined) return segmentRecords;
      const at = random.below(segmentRows);
      const start = BigInt(from);
      const place = { build: 'GRCh38', chromosome: 'X', start, stop: start };
      const flawed = flaw({ place, variant: variantOf(place, 'A') }, random);
      return segmentRecords.map((row, j) => (j === at ? flawed : row));
    });
    dataset = await bench.dataset(columns, rows);
    copy = await sql.dataset(columns, rows);
  });
  afterAll(() => Promise.all([bench.close(), sql.close()]));

  test('a segment says whether all its variants follow from coordinates', () => {
    const found = dataset.snapshot.segments.map((segment) => segment.areVariantsPlaced);
    expect(found).toEqual(rows.map((own) => own.every(followsNaively)));
    for (const is of [true, false])
      expect(found.filter((one) => one === is).length).toBeGreaterThan(5);
  });

  const field = { name: 'variant', path: ['variant'], type: 'string' } as const;
  const variants = (): string[] => rows.flat().flatMap(({ variant }) => (typeof variant === 'string' ? [variant] : [])); // prettier-ignore
  const countMatches = async (predicate: Predicate, test: (variant: string) => boolean) => {
    const expected = variants().filter(test).length;
    for (const [engine, { snapshot, fields }] of [
      [bench, dataset],
      [sql, copy],
    ] as const) {
      // prettier-ignore
      const request = { ...parseQuery({ limit: 0 }, fields), predicate };
      const { total } = await runQuery(engine.engine, snapshot, fields, request);
      expect([predicate, total]).toEqual([predicate, expected]);
    }
    return touchedSegments(dataset.snapshot, predicate).length;
  };

  test('equality finds what a loop finds, and opens few of the segments that say so', async () => {
    const all = variants();
    for (let i = 0; i < 60; i++) {
      const isLong = random.chance(0.2);
      const from = random.below(all.length - 100);
      const list = random.list(isLong ? 65 + random.below(40) : 1 + random.below(3), () => {
        const variant = isLong ? all[from + random.below(100)]! : random.pick(all);
        return random.pick([variant, variant, variant.toLowerCase(), variant.replace('-1-', '-chr1-'), `${variant}T`]); // prettier-ignore
      });
      const ignoreCase = random.chance(0.7);
      const lower = new Set(list.map((one) => one.toLowerCase()));
      const test = (variant: string): boolean =>
        ignoreCase ? lower.has(variant.toLowerCase()) : list.includes(variant);
      const equal = node({ kind: 'in', field, values: list, ignoreCase });
      await countMatches(equal, test);
    }
    const { snapshot } = dataset;
    // A list of any length opens the segments that one of its variants alone would open.
    for (let i = 0; i < 20; i++) {
      const list = random.list(1 + random.below(300), () => random.pick(all));
      const touchedBy = (values: readonly string[]): readonly number[] =>
        touchedSegments(snapshot, node({ kind: 'in', field, values, ignoreCase: true })).filter(
          (number) => snapshot.segments[number]!.areVariantsPlaced,
        );
      const expected = [...new Set(list.flatMap((variant) => touchedBy([variant])))];
      expect(touchedBy(list)).toEqual(expected.sort((a, b) => a - b));
    }
    const clean = snapshot.segments.flatMap(({ areVariantsPlaced }, i) => (areVariantsPlaced ? [i] : [])); // prettier-ignore
    const variant = String(rows[clean[0]!]!.find((row) => /-[AT]+$/.test(String(row['variant'])))!['variant']); // prettier-ignore
    const equal = node({ kind: 'in', field, values: [variant], ignoreCase: true });
    const [, chromosome, start] = /-([^-]+)-(\d+)-\d+-[AT]+$/.exec(variant)!;
    const nearSegments = clean.filter((i) =>
      rows[i]!.some((row) => {
        const place = row['genomic_coordinates'] as Place | null | undefined;
        return place?.chromosome?.toUpperCase() === chromosome && Math.abs(Number(place!.start) - Number(start)) < 60; // prettier-ignore
      }),
    );
    const touchedNumbers = touchedSegments(snapshot, equal).filter((i) => clean.includes(i));
    expect(touchedNumbers.filter((i) => !nearSegments.includes(i))).toEqual([]);
    expect(touchedNumbers).toContain(clean[0]);
    expect(nearSegments.length).toBeLessThan(clean.length / 2);
  });

  test('overlaps find what a loop finds', async () => {
    for (let i = 0; i < 60; i++) {
      const chromosome = random.pick(['1', '10', '2', 'X', '3', 'UN_K', 'HLA-A', 'Y2']);
      const start = BigInt(random.below(2_000));
      const stop = start + BigInt(random.below(300));
      const build = random.pick([null, 'GRCH37', 'T2T-CHM13']);
      const test = (variant: string): boolean => {
        const parts = /^(t2t-chm13|[^-]+)-(?:chr)?(.+?)-(\d+)-(\d+)(?:-.*)?$/i.exec(variant);
        if (parts === null) return false;
        if (build !== null && parts[1]!.toUpperCase() !== build) return false;
        return parts[2]!.toUpperCase() === chromosome && BigInt(parts[3]!) <= stop && BigInt(parts[4]!) >= start; // prettier-ignore
      };
      const overlap = node({ kind: 'overlap', field, build, chromosome, start, stop });
      await countMatches(random.chance(0.2) ? not(not(overlap)) : overlap, test);
    }
  });
});

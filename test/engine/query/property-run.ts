import { readFileSync } from 'node:fs';
import type { Bench } from './dataset.js';
import { minimise, type Case } from './property-minimise.js';
import { askEngine, difference, store } from './property-check.js';
import { randomMade } from './random-records.js';
import { randomRequest } from './random-request.js';
import { Random } from './random.js';
import { freshSeed } from '../../seed.js';

/** Cases of one seed, and of one dataset. */
export const casesPerSeed = 500;
const casesPerDataset = 50;
const newSeed = freshSeed;

/** Seeds of the fast tier: a fresh one, and one of seeds.txt that the day decides. STRANDLAKE_SEED runs that one alone. */
export function fewSeeds(): readonly number[] {
  const { STRANDLAKE_SEED: seed } = process.env;
  if (seed !== undefined) return [Number(seed)];
  const all = savedSeeds();
  return [all[newSeed % all.length]!, newSeed];
}

/**
 * The seeds of one of two test files of the slow tier: together those of seeds.txt and a fresh one, which are 10,000 cases. With
 * STRANDLAKE_CASES, as many random seeds as make that number of cases, from STRANDLAKE_SEED on if that is set.
 */
export function halfOfSeeds(half: 0 | 1): readonly number[] {
  const { STRANDLAKE_SEED: seed, STRANDLAKE_CASES: cases } = process.env;
  const count = Math.ceil(Number(cases ?? casesPerSeed) / casesPerSeed);
  const all =
    seed === undefined && cases === undefined
      ? [...savedSeeds(), newSeed]
      : Array.from({ length: count }, (_, i) => Number(seed ?? newSeed) + i);
  // A single seed runs in both files: Jest fails a file without tests.
  return all.length === 1 ? all : all.filter((_, i) => i % 2 === half);
}

function savedSeeds(): readonly number[] {
  const lines = readFileSync('test/engine/query/seeds.txt', 'utf8').split('\n');
  return lines.filter((line) => /^\d/.test(line)).map(Number);
}

/** Compares the answers for all cases of a seed; throws for the first one that differs, minimised. */
export async function runSeed(bench: Bench, seed: number): Promise<void> {
  const random = new Random(seed);
  for (let done = 0; done < casesPerSeed; done += casesPerDataset) {
    const madeData = randomMade(random);
    const requests = random.list(casesPerDataset, () => randomRequest(random, madeData));
    const ask = askEngine(bench, await store(bench, madeData));
    const failed = await Promise.all(
      requests.map(async (request) => (await difference(madeData, request, ask)) !== null),
    );
    const first = failed.indexOf(true);
    if (first >= 0)
      throw new Error(await report(bench, seed, { made: madeData, request: requests[first]! }));
  }
}

async function report(bench: Bench, seed: number, failing: Case): Promise<string> {
  const differenceOf = async ({ made, request }: Case): Promise<string | null> =>
    difference(made, request, askEngine(bench, await store(bench, made)));
  // The same mistake, not any: a case that is refused or fails is no smaller form of a wrong answer.
  const kind = (text: string | null): string | undefined => text?.split(/[:(]/)[0];
  const kindOfFailure = kind(await differenceOf(failing));
  const smallestCase = await minimise(failing, async (one) => {
    try {
      return kind(await differenceOf(one)) === kindOfFailure;
    } catch {
      return false; // no value that can be stored
    }
  });
  const { made, request } = smallestCase;
  const { body, asked, cursor } = request;
  return [
    `STRANDLAKE_SEED=${seed}`,
    ...[['columns', made.columns], ['segments', made.segments.map(({ rows }) => rows)], ['stored', made.segments.map(({ columns }) => columns.map(({ name }) => name))], ['entities', made.entities], ['request', body], ['asked', asked], ['cursor', cursor]].map(([name, value]) => `${String(name)}: ${shownValue(value)}`), // prettier-ignore
    `difference: ${(await differenceOf(smallestCase)) ?? 'gone when run again'}`,
  ].join('\n');
}

function shownValue(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)); // prettier-ignore
}

import { readFileSync } from 'node:fs';
import type { EngineFixture } from './dataset.js';
import { minimiseCase, type PropertyCase } from './property-minimise.js';
import { engineAnswerer, answerDifference, storeGenerated } from './property-check.js';
import { randomDataset } from './random-records.js';
import { randomRequest } from './random-request.js';
import { Random } from './random.js';
import { freshSeed } from '../../seed.js';

/** The number of random cases of one seed; `casesPerDataset` of them at a time share a dataset. */
export const casesPerSeed = 500;
const casesPerDataset = 50;
const freshTestSeed = freshSeed;

/** Returns the seeds of the fast tier: a new one, and one of seeds.txt that depends on it; or only STRANDLAKE_SEED, if it is set. */
export function fastTierSeeds(): readonly number[] {
  const { STRANDLAKE_SEED: seed } = process.env;
  if (seed !== undefined) return [Number(seed)];
  const all = savedSeeds();
  return [all[freshTestSeed % all.length]!, freshTestSeed];
}

/**
 * Returns the seeds of one of the two test files of the slow tier. Together, the files run the seeds of seeds.txt and a new one, which are
 * 10,500 cases. With STRANDLAKE_CASES, they run as many consecutive seeds as give this number of cases, from STRANDLAKE_SEED or a new
 * one; with STRANDLAKE_SEED alone, only this seed.
 */
export function slowTierSeeds(half: 0 | 1): readonly number[] {
  const { STRANDLAKE_SEED: seed, STRANDLAKE_CASES: cases } = process.env;
  const count = Math.ceil(Number(cases ?? casesPerSeed) / casesPerSeed);
  const all =
    seed === undefined && cases === undefined
      ? [...savedSeeds(), freshTestSeed]
      : Array.from({ length: count }, (_, i) => Number(seed ?? freshTestSeed) + i);
  // A single seed runs in both files, because Jest fails a file without tests.
  return all.length === 1 ? all : all.filter((_, i) => i % 2 === half);
}

function savedSeeds(): readonly number[] {
  const lines = readFileSync('test/engine/query/seeds.txt', 'utf8').split('\n');
  return lines.filter((line) => /^\d/.test(line)).map(Number);
}

/** Compares the answers to all cases of a seed; throws an error that shows a reduced form of the first case that differs. */
export async function runSeed(engineFixture: EngineFixture, seed: number): Promise<void> {
  const random = new Random(seed);
  for (let caseIndex = 0; caseIndex < casesPerSeed; caseIndex += casesPerDataset) {
    const madeData = randomDataset(random);
    const requests = random.list(casesPerDataset, () => randomRequest(random, madeData));
    const ask = engineAnswerer(engineFixture, await storeGenerated(engineFixture, madeData));
    const failures = await Promise.all(
      requests.map(async (request) => (await answerDifference(madeData, request, ask)) !== null),
    );
    const firstFailure = failures.indexOf(true);
    if (firstFailure >= 0)
      throw new Error(
        await describeFailure(engineFixture, seed, {
          dataset: madeData,
          request: requests[firstFailure]!,
        }),
      );
  }
}

async function describeFailure(
  engineFixture: EngineFixture,
  seed: number,
  failingCase: PropertyCase,
): Promise<string> {
  const differenceOf = async ({ dataset, request }: PropertyCase): Promise<string | null> =>
    answerDifference(
      dataset,
      request,
      engineAnswerer(engineFixture, await storeGenerated(engineFixture, dataset)),
    );
  // A smaller case must show the same kind of mistake: a case that is refused or fails is not a smaller form of a wrong answer.
  const kindOfDifference = (text: string | null): string | undefined => text?.split(/[:(]/)[0];
  const kindOfFailure = kindOfDifference(await differenceOf(failingCase));
  const smallestCase = await minimiseCase(failingCase, async (one) => {
    try {
      return kindOfDifference(await differenceOf(one)) === kindOfFailure;
    } catch {
      return false; // a value that cannot be stored
    }
  });
  const { dataset, request } = smallestCase;
  const { body, queryTree, cursorPageSizes } = request;
  return [
    `STRANDLAKE_SEED=${seed}`,
    ...[['columns', dataset.columns], ['segments', dataset.segments.map(({ rows }) => rows)], ['stored', dataset.segments.map(({ columns }) => columns.map(({ name }) => name))], ['entities', dataset.entities], ['request', body], ['queryTree', queryTree], ['cursor', cursorPageSizes]].map(([name, value]) => `${String(name)}: ${jsonTextOf(value)}`), // prettier-ignore
    `difference: ${(await differenceOf(smallestCase)) ?? 'gone when run again'}`,
  ].join('\n');
}

function jsonTextOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)); // prettier-ignore
}

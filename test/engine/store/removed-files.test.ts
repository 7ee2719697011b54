import { expect, test } from '@jest/globals';
import { RemovedFiles, type RemovedFile } from '../../../engine/store/removed-files.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

function removedFile(bytes: number, removedAt: number): RemovedFile {
  return { bytes, removedAt, isVacuumed: false };
}

type Entries = readonly (readonly [string, RemovedFile])[];

/** Returns what can be seen of the files, in comparable form; `paths` are those to look up. */
function seenFiles(files: RemovedFiles, paths: readonly string[]): unknown {
  return {
    size: files.size,
    bytes: files.bytes,
    entries: Array.from(files, ([path, file]) => [path, comparable(file)]),
    found: paths.map((path) => comparable(files.get(path))),
  };
}

/** Returns what should be seen of files in this order. */
function expectedFiles(entries: Entries, paths: readonly string[]): unknown {
  return {
    size: entries.length,
    bytes: entries.reduce((sum, [, { bytes }]) => sum + bytes, 0),
    entries: entries.map(([path, file]) => [path, comparable(file)]),
    found: paths.map((path) => comparable(entries.find(([known]) => known === path)?.[1])),
  };
}

function comparable(file: RemovedFile | undefined): unknown {
  return file && [file.bytes, file.removedAt, file.isVacuumed];
}

test(`every state keeps its files when files follow it, also in several ways (STRANDLAKE_SEED=${seed})`, () => {
  const next = seededRandom(seed);
  const paths = Array.from({ length: 30 }, (_, i) => `${i}.parquet`);
  const states: { files: RemovedFiles; expected: [string, RemovedFile][] }[] = [
    { files: RemovedFiles.of([]), expected: [] },
  ];
  for (let step = 0; step < 600; step++) {
    // Most states follow the newest one. The others follow any state, which may thus have several successors, also with the same file.
    const at = next() < 0.7 ? states.length - 1 : Math.floor(next() * states.length);
    const { files, expected } = states[at]!;
    const freePaths = paths.filter((path) => !expected.some(([known]) => known === path));
    if (freePaths.length === 0 || next() < 0.05) {
      const keptEntries = expected.filter(() => next() < 0.5).map(([path, file]): [string, RemovedFile] => [path, { ...file, isVacuumed: next() < 0.5 }]); // prettier-ignore
      states.push({ files: RemovedFiles.of(keptEntries), expected: keptEntries });
      continue;
    }
    const path = next() < 0.7 ? freePaths[0]! : freePaths[Math.floor(next() * freePaths.length)]!;
    const file = removedFile(1 + Math.floor(next() * 2), expected.length);
    states.push({
      files: files.with(path, file.bytes, file.removedAt),
      expected: [...expected, [path, file]],
    });
  }
  for (const [i, { files, expected }] of states.entries())
    expect([i, seenFiles(files, paths)]).toEqual([i, expectedFiles(expected, paths)]);
});

test('the states of a growing log share their files', () => {
  const states = [RemovedFiles.of([])];
  const heapBefore = process.memoryUsage().heapUsed;
  for (let i = 0; i < 4_000; i++) {
    states.push(states.at(-1)!.with(`${i}.parquet`, 1, i));
    // Another reader of the log applies the same entry to the same state.
    states.at(-2)!.with(`${i}.parquet`, 1, i);
  }
  // A copy of the files for each state would take 300 MB.
  expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(50 << 20);
  expect([states[1_000]!.size, [...states[1_000]!].length, states.at(-1)!.bytes]).toEqual([
    1_000, 1_000, 4_000,
  ]);
});

import type { QueryDataset } from './query-dataset.js';
import type { Line } from './table.js';

/** Questions whose time must not grow with the dataset. */
const growthNames: readonly string[] = [
  'variant lookup',
  'gene lookup',
  'region of 1 Mb',
  'word search, rare word',
  'words without a field, a rare word',
];

const questionBar = 2;
const importBar = 1.1;

/** The measurements on one size of the dataset. */
export interface SizeResult {
  readonly dataset: QueryDataset;
  /** Milliseconds by the name of the question. */
  readonly warm: ReadonlyMap<string, number>;
  readonly cold: ReadonlyMap<string, number>;
}

/** Compares a larger dataset with a smaller one: questions with few matches, the import per record and the memory of the worker. */
export function growthLines(large: SizeResult, small: SizeResult): readonly Line[] {
  const lines: Line[] = [];
  const add = (question: string, ours: number, peer: number, unit: string, limit: number): void => {
    const valueText = (value: number): string => `${value.toFixed(unit === 'MB' ? 0 : 2)} ${unit}`;
    lines.push({
      question,
      ours: valueText(ours),
      peer: valueText(peer),
      ratio: ours / peer,
      limit,
    });
  };
  for (const state of ['warm', 'cold'] as const) {
    for (const name of growthNames) {
      const [ours, peer] = [large[state].get(name), small[state].get(name)];
      if (ours === undefined || peer === undefined) continue;
      add(`${name}, ${state}`, ours, peer, 'ms', questionBar);
    }
  }
  const perRecord = ({ dataset }: SizeResult): number => (1e6 * dataset.seconds) / dataset.records;
  add('import, per record', perRecord(large), perRecord(small), 'µs', importBar);
  const [ours, peer] = [large.dataset.workerMb, small.dataset.workerMb];
  add('peak memory of the worker, import', ours, peer, 'MB', importBar);
  return lines;
}

import { csv } from './csv.js';
import { jsonl } from './jsonl.js';
import type { Writer } from './writer.js';

/** Every export format. */
export const writers: readonly Writer[] = [jsonl, csv];

/** The writer of that format, whatever its letter case; undefined if there is none. */
export function writerNamed(format: string): Writer | undefined {
  return writers.find((writer) => writer.format === format.toLowerCase());
}

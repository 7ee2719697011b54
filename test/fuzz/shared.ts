import type { FuzzCase } from './case.js';

/** The job of a fuzzing thread. */
export interface FuzzJob {
  readonly reader: string;
  readonly seed: number;
  readonly minutes: number;
  readonly maxInputs: number;
}

/** A property that does not hold for an input; the input was saved at `path`, or is still being minimised, which `path` then says. */
export interface FuzzFinding {
  readonly property: string;
  readonly message: string;
  readonly path: string;
}

/** Memory that the fuzzing thread and the main thread share. */
export interface SharedMemory {
  /** Number of inputs, number of checks, and size of the case in `text` in bytes. */
  readonly counts: Int32Array<SharedArrayBuffer>;
  /** The case that is being checked, as JSON. */
  readonly text: Uint8Array<SharedArrayBuffer>;
}

/** Allocates the shared memory. */
export function allocateSharedMemory(): SharedMemory {
  return {
    counts: new Int32Array(new SharedArrayBuffer(12)),
    text: new Uint8Array(new SharedArrayBuffer(8 << 20)),
  };
}

/** Writes the current case to the shared memory; `input` is its number, -1 for a variant of an earlier input. */
export function publishCase({ counts, text }: SharedMemory, input: number, one: FuzzCase): void {
  const { bytes, ...rest } = one;
  const json = Buffer.from(JSON.stringify({ ...rest, bytes: bytes.toString('base64') }));
  text.set(json.subarray(0, text.length));
  Atomics.store(counts, 2, json.length);
  if (input >= 0) Atomics.store(counts, 0, input + 1);
  Atomics.add(counts, 1, 1);
}

/** Reads the current case from the shared memory. */
export function readPublishedCase({ counts, text }: SharedMemory): FuzzCase {
  const json = Buffer.from(text.slice(0, Atomics.load(counts, 2))).toString();
  const { bytes, ...rest } = JSON.parse(json) as Omit<FuzzCase, 'bytes'> & { bytes: string };
  return { ...rest, bytes: Buffer.from(bytes, 'base64') };
}

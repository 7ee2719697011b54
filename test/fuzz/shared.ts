import type { FuzzCase } from './case.js';

/** What a fuzzing thread is told to do. */
export interface FuzzJob {
  readonly reader: string;
  readonly seed: number;
  readonly minutes: number;
  /** So many inputs at most. */
  readonly most: number;
}

/** Something that it found. */
export interface Found {
  readonly property: string;
  readonly message: string;
  readonly path: string;
}

/** Memory that a thread and its watcher share: how many inputs were looked at, how many times, and the last of them. */
export interface Shared {
  /** Inputs, looks, bytes of the case. */
  readonly counts: Int32Array<SharedArrayBuffer>;
  readonly text: Uint8Array<SharedArrayBuffer>;
}

/** Such memory, empty. */
export function makeShared(): Shared {
  return {
    counts: new Int32Array(new SharedArrayBuffer(12)),
    text: new Uint8Array(new SharedArrayBuffer(8 << 20)),
  };
}

/** Puts the case where the watcher sees it; `input` counts those that were made, -1 for one that is tried again. */
export function show({ counts, text }: Shared, input: number, one: FuzzCase): void {
  const { bytes, ...rest } = one;
  const json = Buffer.from(JSON.stringify({ ...rest, bytes: bytes.toString('base64') }));
  text.set(json.subarray(0, text.length));
  Atomics.store(counts, 2, json.length);
  if (input >= 0) Atomics.store(counts, 0, input + 1);
  Atomics.add(counts, 1, 1);
}

/** The case that was looked at last. */
export function shown({ counts, text }: Shared): FuzzCase {
  const json = Buffer.from(text.slice(0, Atomics.load(counts, 2))).toString();
  const { bytes, ...rest } = JSON.parse(json) as Omit<FuzzCase, 'bytes'> & { bytes: string };
  return { ...rest, bytes: Buffer.from(bytes, 'base64') };
}

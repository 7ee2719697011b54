import { deserialize, serialize } from 'node:v8';

/** Returns a copy of a value, as another thread receives it. Jest's sandbox has its own typed arrays, which this function returns. */
export function cloneAcrossThreads<T>(value: T): T {
  return deserialize(serialize(value)) as T;
}

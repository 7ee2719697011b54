import { deserialize, serialize } from 'node:v8';

/** The value as it arrives in another thread, with the typed arrays of this sandbox. */
export function structuredCloned<T>(value: T): T {
  return deserialize(serialize(value)) as T;
}

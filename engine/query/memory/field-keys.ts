import type { FieldRef } from '../predicate/predicate.js';
import type { ShardSegment, ShardSnapshot } from './shard-protocol.js';

/** The segment, or the list of objects in it, to which fields belong, and the keys of those that have been used. */
export interface FieldKeyCache {
  readonly snapshot: Pick<ShardSnapshot, 'datasetId'>;
  readonly segment: Pick<ShardSegment, 'path'>;
  /** Length of the path of the list of objects; 0 for records. */
  readonly depth: number;
  /** The keys of fields by `fieldCacheKey`. */
  readonly keys: Map<string, FieldKeys>;
}

/**
 * The cache keys of the values derived from a field: its column, its distinct strings, its hashes, the elements of a list, and the
 * dictionary that its columns in all segments of the dataset share.
 */
export type FieldKeys = Readonly<
  Record<'column' | 'distinct' | 'hashes' | 'elements' | 'dictionary', string>
>;

/** Maximum number of fields whose cache keys are stored for a segment. */
const maxFieldsWithKeys = 32;

/**
 * Returns the cache keys of a field, given by its `fieldCacheKey`. If the fields belong to a list of objects, its path is a prefix of the
 * field's path. The key strings are stored and reused, because queries use the same few fields in every segment, and a reused string is
 * hashed only once.
 */
export function fieldKeysOf(
  { snapshot, segment, depth, keys }: FieldKeyCache,
  name: string,
): FieldKeys {
  const knownKeys = keys.get(name);
  if (knownKeys !== undefined) return knownKeys;
  const key = `${depth}\n${segment.path}\n${name}`;
  const newKeys = {
    column: key,
    distinct: `~${key}`,
    hashes: `#${key}`,
    elements: `[]${key}`,
    dictionary: `dictionary\n${snapshot.datasetId}\n${name}`,
  };
  if (keys.size === maxFieldsWithKeys) keys.clear();
  keys.set(name, newKeys);
  return newKeys;
}

/** Returns the name of a field in cache keys: its type, because a field may later be read as another type, and its path. */
export function fieldCacheKey(field: FieldRef): string {
  let name = cacheKeyByField.get(field);
  if (name === undefined)
    cacheKeyByField.set(field, (name = `${field.type}\n${field.path.join('\n')}`));
  return name;
}

const cacheKeyByField = new WeakMap<FieldRef, string>();

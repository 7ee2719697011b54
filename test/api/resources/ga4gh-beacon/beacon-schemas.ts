import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import type { Schema } from '../../../../api/http/schema.js';
import { schemaErrors, type Resolve } from '../../json-schema.js';

/** The addresses under which the standards publish schemas, and the folders or files that contain them. */
const publishedSchemas: readonly (readonly [address: string, place: string])[] = [
  ['https://raw.githubusercontent.com/ga4gh-beacon/beacon-v2/main/', ''],
  ['https://w3id.org/ga4gh/schema/vrs/1.3/', ''],
];

/**
 * Checks values against the JSON schemas of GA4GH Beacon v2 in a folder: a checkout of the repository ga4gh-beacon/beacon-v2, in which the
 * schema of VRS 1.3 (`schema/vrs.json` of the repository ga4gh/vrs, tag 1.3.0) has been put as `vrs.json`.
 */
export function beaconSchemas(
  folder: string,
): (file: string, value: unknown, path?: string) => readonly string[] {
  const files = new Map<string, Schema>();
  const read = (file: string): Schema => {
    const cachedSchema = files.get(file);
    if (cachedSchema !== undefined) return cachedSchema;
    // The schema of datasets looks for `info.json` beside the model, which is in the framework.
    const ownPath = join(folder, file);
    const path = existsSync(ownPath)
      ? ownPath
      : join(folder, 'framework/json/common', basename(file));
    const schema = JSON.parse(readFileSync(path, 'utf8')) as Schema;
    files.set(file, schema);
    return schema;
  };
  const resolverOf = (from: string): Resolve => {
    return (ref) => {
      const [address = '', pointer = ''] = ref.split('#');
      const [base, place] = publishedSchemas.find(([start]) => address.startsWith(start)) ?? [];
      const file =
        base !== undefined
          ? place + address.slice(base.length)
          : address === ''
            ? from
            : normalize(join(dirname(from), address));
      const found = pointer
        .split('/')
        .filter((part) => part !== '')
        .reduce<unknown>((schema, part) => (schema as Schema)[part], read(file));
      if (found === undefined) throw new Error(`${ref} in ${from} names no schema`);
      return { schema: found as Schema, resolve: resolverOf(file) };
    };
  };
  return (file, value, path) => schemaErrors(read(file), value, path, resolverOf(file));
}

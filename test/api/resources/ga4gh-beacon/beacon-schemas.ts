import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import type { Schema } from '../../../../api/http/json-schema.js';
import { schemaErrors, type ResolveReference } from '../../json-schema.js';

/** The addresses under which the standards publish schemas, each with the folder or file that contains them locally. */
const publishedSchemaAddresses: readonly (readonly [address: string, place: string])[] = [
  ['https://raw.githubusercontent.com/ga4gh-beacon/beacon-v2/main/', ''],
  ['https://w3id.org/ga4gh/schema/vrs/1.3/', ''],
];

/**
 * Returns a function that checks values against the JSON schemas of GA4GH Beacon v2 in a folder: a checkout of the repository
 * ga4gh-beacon/beacon-v2, to which the schema of VRS 1.3 (`schema/vrs.json` of the repository ga4gh/vrs, tag 1.3.0) has been added as
 * `vrs.json`.
 */
export function beaconSchemaChecker(
  folder: string,
): (file: string, value: unknown, path?: string) => readonly string[] {
  const schemaByFile = new Map<string, Schema>();
  const readSchema = (file: string): Schema => {
    const cachedSchema = schemaByFile.get(file);
    if (cachedSchema !== undefined) return cachedSchema;
    // The schema of datasets refers to `info.json` in the folder of the model, but the file is in the folder of the framework.
    const ownPath = join(folder, file);
    const path = existsSync(ownPath)
      ? ownPath
      : join(folder, 'framework/json/common', basename(file));
    const schema = JSON.parse(readFileSync(path, 'utf8')) as Schema;
    schemaByFile.set(file, schema);
    return schema;
  };
  const resolverOf = (fromFile: string): ResolveReference => {
    return (ref) => {
      const [address = '', pointer = ''] = ref.split('#');
      const [base, place] =
        publishedSchemaAddresses.find(([start]) => address.startsWith(start)) ?? [];
      const file =
        base !== undefined
          ? place + address.slice(base.length)
          : address === ''
            ? fromFile
            : normalize(join(dirname(fromFile), address));
      const namedSchema = pointer
        .split('/')
        .filter((part) => part !== '')
        .reduce<unknown>((schema, part) => (schema as Schema)[part], readSchema(file));
      if (namedSchema === undefined) throw new Error(`${ref} in ${fromFile} names no schema`);
      return { schema: namedSchema as Schema, resolve: resolverOf(file) };
    };
  };
  return (file, value, path) => schemaErrors(readSchema(file), value, path, resolverOf(file));
}

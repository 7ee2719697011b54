import { schemaOfAnswer } from '../../api/http/openapi.js';
import type { OperationRow } from '../../api/http/operation-row.js';
import type { Schema } from '../../api/http/json-schema.js';
import { operations } from '../../api/resources/index.js';
import { schemaErrors } from './json-schema.js';

/** A path of an operation, split at its slashes, with the schema of the operation's answer; undefined if the answer is not JSON. */
interface DeclaredPath {
  readonly parts: readonly string[];
  readonly row: OperationRow;
  readonly schema: Schema | undefined;
}

/** The paths of all operations by method and number of parts; those with the fewest parameters come first. */
const declaredPaths = new Map<string, DeclaredPath[]>();
for (const row of Object.values(operations)) {
  const schema = 'examples' in row.answer ? undefined : schemaOfAnswer(row.answer);
  for (const path of row.paths) {
    const parts = path.split('/');
    const key = `${row.method} ${parts.length}`;
    declaredPaths.set(key, [...(declaredPaths.get(key) ?? []), { parts, row, schema }]);
  }
}
const parameterCount = ({ parts }: DeclaredPath): number =>
  parts.filter((part) => part.startsWith(':')).length;
for (const paths of declaredPaths.values())
  paths.sort((a, b) => parameterCount(a) - parameterCount(b));

/**
 * Returns how a successful answer differs from what its operation declares: in the schema of its JSON, or in the media type of other
 * content. Returns nothing for failures, and for addresses without an operation, such as those below a path prefix.
 */
export function differencesFromDeclaration(
  method: string,
  url: string,
  status: number,
  mediaType: string | null,
  json: unknown,
): readonly string[] {
  if (status < 200 || status > 299) return [];
  const parts = new URL(url).pathname.split('/');
  const declaredPath = declaredPaths
    .get(`${method} ${parts.length}`)
    ?.find((one) => one.parts.every((part, i) => part.startsWith(':') || part === parts[i]));
  if (declaredPath === undefined) return [];
  const { row, schema } = declaredPath;
  const isJson = mediaType === 'application/json';
  // An operation with a schema may have other formats, such as pages of records as CSV, which have none.
  const jsonErrors = schema !== undefined && isJson ? schemaErrors(schema, json) : [];
  const differences = schema === undefined ? mediaTypeErrors(row, mediaType) : jsonErrors;
  return differences.map((text) => `${row.id}: ${text}`);
}

function mediaTypeErrors({ answer }: OperationRow, mediaType: string | null): readonly string[] {
  const { examples } = answer as { readonly examples: Readonly<Record<string, string>> };
  const [name = ''] = (mediaType ?? '').split(';');
  const isDeclared = Object.keys(examples).length === 0 || Object.hasOwn(examples, name);
  return isDeclared ? [] : [`its answer is ${name}, not ${Object.keys(examples).join(' or ')}`];
}

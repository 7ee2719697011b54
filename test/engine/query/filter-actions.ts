import type { StoredType } from '../../../engine/core/types.js';
import { actionsByName } from '../../../engine/query/request/actions.js';

const storedTypes = Object.keys({
  boolean: 0,
  integer: 0,
  long: 0,
  float: 0,
  double: 0,
  date: 0,
  string: 0,
  text: 0,
  blob: 0,
  object: 0,
  json: 0,
} satisfies Record<StoredType, 0>) as StoredType[];

/** Returns every filter action with the types that it applies to, for the documentation and the tests. */
export function filterActions(): readonly {
  readonly name: string;
  readonly types: readonly StoredType[];
  readonly description: string;
}[] {
  return [...actionsByName].map(([name, { appliesTo, description }]) => ({
    name,
    types: storedTypes.filter(appliesTo),
    description,
  }));
}

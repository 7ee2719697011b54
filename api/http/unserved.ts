import { matchesPath } from './operation-row.js';

/** An API operation that this server does not implement, and what to do instead. */
interface UnservedOperation {
  readonly methods: readonly string[];
  /** The path as in the table of operations; `:name` stands for one segment. */
  readonly path: string;
  readonly name: string;
  readonly instead: string;
}

/** The API operations that answer 501. `test/api/http/coverage.test.ts` checks that exactly these operations have no route. */
export const unservedOperations: readonly UnservedOperation[] = [
  { methods: ['POST'], path: '/v2/vault_sync_tasks', name: 'the synchronisation of vaults, which have no storage elsewhere', instead: 'upload files with POST /v2/objects' },
]; // prettier-ignore

/** Returns the message that answers a request for an API operation that this server does not implement; undefined for other requests. */
export function notImplementedMessage(method: string, path: string): string | undefined {
  const askedPath = path.replace(/(?<=.)\/$/, '');
  const unservedOperation = unservedOperations.find(
    ({ methods, path: pattern }) => methods.includes(method) && matchesPath(pattern, askedPath),
  );
  return (
    unservedOperation &&
    `Not available on this server: ${unservedOperation.name}. Instead, ${unservedOperation.instead}.`
  );
}

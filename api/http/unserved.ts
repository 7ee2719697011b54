import { matchesPath } from './operation-row.js';

/** An operation of the interface that this server does not have, and what to do instead. */
interface UnservedOperation {
  readonly methods: readonly string[];
  /** The path as in the table of operations; `:name` stands for one segment. */
  readonly path: string;
  readonly name: string;
  readonly instead: string;
}

/** The operations of the interface that answer 501. `test/api/http/coverage.test.ts` checks that exactly these operations have no route. */
export const unservedOperations: readonly UnservedOperation[] = [
  { methods: ['POST'], path: '/v2/vault_sync_tasks', name: 'the synchronisation of vaults, which have no storage elsewhere', instead: 'upload files with POST /v2/objects' },
]; // prettier-ignore

/** The message for a request for an operation of the interface that the server does not have; undefined for other requests. */
export function notImplementedMessage(method: string, path: string): string | undefined {
  const askedPath = path.replace(/(?<=.)\/$/, '');
  const found = unservedOperations.find(
    ({ methods, path: pattern }) => methods.includes(method) && matchesPath(pattern, askedPath),
  );
  return found && `Not available on this server: ${found.name}. Instead, ${found.instead}.`;
}

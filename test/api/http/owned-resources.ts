/**
 * The resources that belong to a user and not to a vault, by the first part of their operations' names. `saved-resources.test.ts` tests who
 * may do what with them, and `matrix.test.ts` leaves them out.
 */
export const ownedResources: readonly string[] = [
  'savedQueries',
  'beaconSets',
  'beacons',
  'templates',
];

/** True for an operation on such a resource. */
export function isOwned(operation: string): boolean {
  return ownedResources.includes(operation.split('.')[0]!);
}

/** True for an operation on what no other user may read; `tokens.test.ts` tests them. */
export function isPersonal(operation: string): boolean {
  return operation.startsWith('tokens.');
}

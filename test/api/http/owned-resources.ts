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

/** True for an operation on credentials of a user; `tokens.test.ts` and `applications.test.ts` test who may do what. */
export function isPersonal(operation: string): boolean {
  return /^(tokens|applications|applicationSecrets)\./.test(operation);
}

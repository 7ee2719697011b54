/** The resources that belong to an account and not to a vault; `accounts.test.ts` tests who may do what with them. */
const accountResources: readonly string[] = ['users', 'groups', 'memberships', 'invitations'];

/**
 * The resources that belong to a user and not to a vault, by the first part of their operations' names. `saved-resources.test.ts` tests who
 * may do what with them.
 */
export const ownedResources: readonly string[] = [
  'savedQueries',
  'beaconSets',
  'beacons',
  'templates',
];

/** True for an operation on a resource of a user, which `matrix.test.ts` leaves out. */
export function isOwned(operation: string): boolean {
  return ownedResources.includes(operation.split('.')[0]!);
}

/** True for an operation on a resource of an account, which `matrix.test.ts` leaves out. */
export function isOfAccount(operation: string): boolean {
  return accountResources.includes(operation.split('.')[0]!);
}

/** The resources that belong to an account and not to a vault; `accounts.test.ts` tests who may do what with them. */
const accountResources: readonly string[] = ['users', 'groups', 'memberships', 'invitations'];

/**
 * The resources that belong to a user and not to a vault, as the first part of their operations' names. `saved-resources.test.ts` tests who
 * may do what with them.
 */
export const ownedResources: readonly string[] = [
  'savedQueries',
  'beaconSets',
  'beacons',
  'templates',
];

/** Returns whether an operation concerns a resource of a user, so that `matrix.test.ts` leaves it out. */
export function concernsUserResource(operationId: string): boolean {
  return ownedResources.includes(operationId.split('.')[0]!);
}

/** Returns whether an operation concerns a resource of an account, so that `matrix.test.ts` leaves it out. */
export function concernsAccountResource(operationId: string): boolean {
  return accountResources.includes(operationId.split('.')[0]!);
}

/** Returns whether an operation concerns tokens or applications; `tokens.test.ts` and `applications.test.ts` test who may do what. */
export function concernsCredentials(operationId: string): boolean {
  return /^(tokens|applications|applicationSecrets)\./.test(operationId);
}

/** POST operations that only read: a token with the scope `read` may call them (contract 18). */
export const readOnlyPostOperations: ReadonlySet<string> = new Set([
  'beaconSets.query',
  'beacons.query',
  'datasets.batch',
  'datasets.query',
  'datasets.verify',
  'expressions.annotate',
  'expressions.evaluate',
  'objects.query',
  'search.find',
]);

/** The POST operations that need a token and only read: one with the scope `read` suffices (contract 18). */
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

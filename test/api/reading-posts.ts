/** POSTs that only read: a token with the scope `read` may send them (contract 18). */
export const readingPosts: ReadonlySet<string> = new Set([
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

/**
 * Records why a thread cannot count the facets of a request in memory: more distinct values than the limits allow, or values of an
 * unexpected kind or range. All counters of the request share one instance; once a reason is set, their counts are meaningless.
 */
export class FacetOverflow {
  /** The first recorded reason; undefined while everything can be counted. */
  firstReason: string | undefined;

  setReason(reason: string): void {
    this.firstReason ??= reason;
  }
}

/**
 * Records why the values of a segment cannot be counted in memory: more distinct values than the limits allow, or values of an unexpected
 * kind. All counters of a request share one instance; once a reason is set, their counts are meaningless.
 */
export class FacetOverflow {
  /** The first recorded reason; undefined while everything can be counted. */
  firstReason: string | undefined;

  setReason(reason: string): void {
    this.firstReason ??= reason;
  }
}

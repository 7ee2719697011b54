/**
 * Records why the values of a segment cannot be counted in memory: more distinct values than the limits allow, or values of
 * another kind. All counters of a request share one; once it is set, their counts are meaningless.
 */
export class Overflow {
  /** The first reason; undefined while everything could be counted. */
  unsupported: string | undefined;

  set(reason: string): void {
    this.unsupported ??= reason;
  }
}

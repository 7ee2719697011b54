/**
 * What a facet's counters found in the values that they cannot count: more different values than the limits allow, or values of
 * another kind. Shared by all counters of a request; once it is set, what they have counted has no meaning.
 */
export class Overflow {
  /** Why the facets cannot be counted in memory; undefined while they can. */
  unsupported: string | undefined;

  set(reason: string): void {
    this.unsupported ??= reason;
  }
}

/** An acquired item. `release` returns it to the pool; calling it again does nothing. */
interface Lease<T> {
  readonly item: T;
  release(): void;
}

interface LeaseRequest<T> {
  readonly isHeavy: boolean;
  readonly start: (lease: Lease<T> | Promise<Lease<T>>) => void;
}

/**
 * A pool of items that are created on demand, up to a limit. Heavy work holds at most half of the limit, but may always hold one item; with
 * a limit of two or more, heavy work alone never makes light work wait. Heavy and light work are each served in order of arrival.
 */
export class LeasePool<T> {
  readonly #create: () => Promise<T>;
  readonly #limit: number;
  readonly #heavyLimit: number;
  readonly #idle: T[] = [];
  readonly #waiting = new Set<LeaseRequest<T>>();
  #created = 0;
  #heavy = 0;
  #drained: (() => void) | null = null;

  constructor(create: () => Promise<T>, limit: number) {
    this.#create = create;
    this.#limit = limit;
    this.#heavyLimit = Math.max(1, Math.floor(limit / 2));
  }

  /**
   * Acquires an item; waits if none is free. Rejects with the reason of `signal` when it is aborted, and with the error of a creation that
   * has failed.
   */
  async acquire(isHeavy: boolean, signal: AbortSignal): Promise<Lease<T>> {
    signal.throwIfAborted();
    return this.#leaseAny(isHeavy) ?? this.#wait(isHeavy, signal);
  }

  /** Resolves to all items when every one has been released. Nothing may be acquired after the call. */
  async drain(): Promise<readonly T[]> {
    if (this.#created > this.#idle.length) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    }
    return this.#idle;
  }

  #wait(isHeavy: boolean, signal: AbortSignal): Promise<Lease<T>> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.delete(request);
        reject(signal.reason as Error);
      };
      const start: LeaseRequest<T>['start'] = (lease) => {
        signal.removeEventListener('abort', stop);
        resolve(lease);
      };
      const request: LeaseRequest<T> = { isHeavy, start };
      this.#waiting.add(request);
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** Leases an idle item or a new one; undefined if the limits allow neither. */
  #leaseAny(isHeavy: boolean): Lease<T> | Promise<Lease<T>> | undefined {
    if (isHeavy && this.#heavy >= this.#heavyLimit) return undefined;
    const idle = this.#idle.pop();
    if (idle !== undefined) return this.#lease(idle, isHeavy);
    return this.#created < this.#limit ? this.#leaseNew(isHeavy) : undefined;
  }

  async #leaseNew(isHeavy: boolean): Promise<Lease<T>> {
    this.#created += 1;
    if (isHeavy) this.#heavy += 1; // counted before the await, so that the limit also holds during it
    try {
      const item = await this.#create();
      if (isHeavy) this.#heavy -= 1;
      return this.#lease(item, isHeavy);
    } catch (error) {
      this.#created -= 1;
      if (isHeavy) this.#heavy -= 1;
      this.#onFreed();
      throw error;
    }
  }

  #lease(item: T, isHeavy: boolean): Lease<T> {
    if (isHeavy) this.#heavy += 1;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      if (isHeavy) this.#heavy -= 1;
      this.#idle.push(item);
      this.#onFreed();
    };
    return { item, release };
  }

  /** Serves waiting requests after an item was released or could not be created. */
  #onFreed(): void {
    for (const waiting of this.#waiting) {
      const lease = this.#leaseAny(waiting.isHeavy);
      if (lease === undefined) continue;
      this.#waiting.delete(waiting);
      waiting.start(lease);
    }
    if (this.#created === this.#idle.length) this.#drained?.();
  }
}

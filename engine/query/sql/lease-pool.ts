/** Something taken is given back here, once. */
export interface Lease<T> {
  readonly item: T;
  release(): void;
}

interface Waiting<T> {
  readonly isHeavy: boolean;
  readonly start: (item: T) => void;
}

/**
 * A pool of a few items, with two lanes: heavy work never holds more than half of them, so that light work starts at once
 * however much heavy work waits. Each lane is first come, first served.
 */
export class LeasePool<T> {
  readonly #make: () => Promise<T>;
  readonly #limit: number;
  readonly #heavyLimit: number;
  readonly #idle: T[] = [];
  readonly #waiting = new Set<Waiting<T>>();
  #made = 0;
  #heavy = 0;
  #drained: (() => void) | null = null;

  constructor(make: () => Promise<T>, limit: number) {
    this.#make = make;
    this.#limit = limit;
    this.#heavyLimit = Math.max(1, Math.floor(limit / 2));
  }

  /** Takes an item, waiting for one if need be until `signal` ends. */
  async acquire(isHeavy: boolean, signal: AbortSignal): Promise<Lease<T>> {
    signal.throwIfAborted();
    if (isHeavy && this.#heavy >= this.#heavyLimit) return this.#wait(isHeavy, signal);
    const idle = this.#idle.pop();
    if (idle !== undefined) return this.#lease(idle, isHeavy);
    if (this.#made >= this.#limit) return this.#wait(isHeavy, signal);
    this.#made += 1;
    if (isHeavy) this.#heavy += 1; // Before the wait, so that no more than may start.
    try {
      const item = await this.#make();
      if (isHeavy) this.#heavy -= 1;
      return this.#lease(item, isHeavy);
    } catch (error) {
      this.#made -= 1;
      if (isHeavy) this.#heavy -= 1;
      throw error;
    }
  }

  /** Every item, once all have been given back; nothing may be taken any more. */
  async drain(): Promise<readonly T[]> {
    if (this.#made > this.#idle.length) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    }
    return this.#idle;
  }

  #wait(isHeavy: boolean, signal: AbortSignal): Promise<Lease<T>> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.delete(waiting);
        reject(signal.reason as Error);
      };
      const start = (item: T): void => {
        signal.removeEventListener('abort', stop);
        resolve(this.#lease(item, isHeavy));
      };
      const waiting: Waiting<T> = { isHeavy, start };
      this.#waiting.add(waiting);
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  #lease(item: T, isHeavy: boolean): Lease<T> {
    if (isHeavy) this.#heavy += 1;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      if (isHeavy) this.#heavy -= 1;
      this.#idle.push(item);
      this.#next();
      if (this.#made === this.#idle.length) this.#drained?.();
    };
    return { item, release };
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (waiting.isHeavy && this.#heavy >= this.#heavyLimit) continue;
      const item = this.#idle.pop();
      if (item === undefined) return;
      this.#waiting.delete(waiting);
      waiting.start(item);
    }
  }
}

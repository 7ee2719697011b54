import { setTimeout as pause } from 'node:timers/promises';
import { PrioritySemaphore } from '../../engine/core/priority-semaphore.js';

const minuteMs = 60_000;

/**
 * Limits that keep the server from being used to flood other hosts: concurrent connections per host name and port and per address, and
 * requests per account and minute.
 */
export class PolitenessLimits {
  readonly #perHost: number;
  readonly #perMinute: number;
  readonly #slotsByKey = new Map<string, { readonly slots: PrioritySemaphore; users: number }>();
  readonly #rateLimiters = new Map<number, SlidingWindowLimiter>();

  constructor(perHost: number, perMinute: number) {
    this.#perHost = perHost;
    this.#perMinute = perMinute;
  }

  /** Runs `work` once both the host (`URL.host`: name and port) and the address have a free connection slot. */
  withConnectionSlots<T>(
    host: string,
    address: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    // The slot of the name is always acquired before the slot of the address, so no deadlock is possible.
    return this.#withSlot(`name ${host}`, signal, () =>
      this.#withSlot(`address ${address}`, signal, work),
    );
  }

  /** Waits until the account may make one more request. */
  async waitForRate(accountId: number, signal: AbortSignal): Promise<void> {
    let limiter = this.#rateLimiters.get(accountId);
    if (limiter === undefined) {
      this.#rateLimiters.set(accountId, (limiter = new SlidingWindowLimiter(this.#perMinute)));
    }
    const now = performance.now();
    const start = limiter.reserveStart(now);
    try {
      if (start > now) await pause(start - now, undefined, { signal });
    } catch (error) {
      limiter.cancelStart(start);
      throw error;
    }
    for (const [id, one] of this.#rateLimiters) {
      if (one.isIdle(performance.now())) this.#rateLimiters.delete(id);
    }
  }

  async #withSlot<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    let host = this.#slotsByKey.get(key);
    if (host === undefined) {
      this.#slotsByKey.set(key, (host = { slots: new PrioritySemaphore(this.#perHost), users: 0 }));
    }
    host.users += 1;
    try {
      return await host.slots.runInSlot(work, signal, false);
    } finally {
      host.users -= 1;
      if (host.users === 0) this.#slotsByKey.delete(key);
    }
  }
}

/** Sliding-window rate limiter: at most `most` requests start within any minute. */
export class SlidingWindowLimiter {
  readonly #most: number;
  /** The start times of requests, ascending: those of the last minute and those reserved for waiting requests. */
  #times: number[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Reserves the next possible start time and returns it. `now` is a time in milliseconds. */
  reserveStart(now: number): number {
    this.#times = this.#times.filter((time) => time > now - minuteMs);
    const startBeforeWindow = this.#times.at(-this.#most);
    const at = startBeforeWindow === undefined ? now : Math.max(now, startBeforeWindow + minuteMs);
    this.#times.push(at);
    return at;
  }

  /** Gives back the reserved time of a request that will not start, so that later requests do not wait behind it. */
  cancelStart(at: number): void {
    const index = this.#times.lastIndexOf(at);
    if (index >= 0) this.#times.splice(index, 1);
  }

  /** Whether no request has started in the last minute and none is waiting, so that the limiter can be dropped. */
  isIdle(now: number): boolean {
    return (this.#times.at(-1) ?? -Infinity) <= now - minuteMs;
  }
}

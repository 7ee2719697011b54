import { setTimeout as pause } from 'node:timers/promises';
import { Slots } from '../worker/slots.js';

const minuteMs = 60_000;

/** Keeps the server from becoming a weapon: few connections to one host at a time, and so many an account and minute. */
export class Manners {
  readonly #perHost: number;
  readonly #perMinute: number;
  readonly #hosts = new Map<string, { readonly slots: Slots; users: number }>();
  readonly #paces = new Map<number, Pace>();

  constructor(perHost: number, perMinute: number) {
    this.#perHost = perHost;
    this.#perMinute = perMinute;
  }

  /** Runs `work` when both the name and its address have a place free. */
  visit<T>(host: string, address: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    // Always in this order: whoever waits for an address has its name, so nobody waits in a circle.
    return this.#at(`name ${host}`, signal, () => this.#at(`address ${address}`, signal, work));
  }

  /** Waits until the account may ask once more. */
  async pace(accountId: number, signal: AbortSignal): Promise<void> {
    let pace = this.#paces.get(accountId);
    if (pace === undefined) this.#paces.set(accountId, (pace = new Pace(this.#perMinute)));
    const ms = pace.take(performance.now());
    if (ms > 0) await pause(ms, undefined, { signal });
    for (const [id, one] of this.#paces) {
      if (one.isIdle(performance.now())) this.#paces.delete(id);
    }
  }

  async #at<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    let host = this.#hosts.get(key);
    if (host === undefined) {
      this.#hosts.set(key, (host = { slots: new Slots(this.#perHost), users: 0 }));
    }
    host.users += 1;
    try {
      return await host.slots.run(work, signal, false);
    } finally {
      host.users -= 1;
      if (host.users === 0) this.#hosts.delete(key);
    }
  }
}

/** At most so many in any minute. */
export class Pace {
  readonly #most: number;
  /** When the last ones were let through, or will be; oldest first. */
  #times: number[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the next place; returns how long to wait for it. */
  take(now: number): number {
    this.#times = this.#times.filter((time) => time > now - minuteMs);
    const before = this.#times.at(-this.#most);
    const at = before === undefined ? now : Math.max(now, before + minuteMs);
    this.#times.push(at);
    return at - now;
  }

  isIdle(now: number): boolean {
    return (this.#times.at(-1) ?? -Infinity) <= now - minuteMs;
  }
}

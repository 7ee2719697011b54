import { createHash } from 'node:crypto';
import { foldName } from '../../engine/catalog/object-names.js';
import { isCorrectPassword } from '../../engine/catalog/passwords.js';
import type { UserRow } from '../../engine/catalog/users.js';
import type { AppContext } from './app-context.js';
import { throwIfOverLimit, createRateLimiter, type RateLimiter } from './rate-limiter.js';

/** Maximum number of password checks that run or wait at the same time; each takes about a fifth of a second of one core. */
const maxWaitingChecks = 50;

/**
 * Checks email addresses and passwords one at a time, so that guessing takes one core at most. Wrong passwords are limited per client
 * address and per email address, whether a user has that email address or not (threat A9).
 */
export class PasswordCheck {
  readonly #context: AppContext;
  readonly #addressLimiter: RateLimiter;
  readonly #emailLimiter: RateLimiter;
  #waitingCount = 0;
  #lastCheck: Promise<unknown> = Promise.resolve();

  constructor(context: AppContext) {
    this.#context = context;
    this.#addressLimiter = createRateLimiter(context.limits.failedLogins, context.limits.clock);
    this.#emailLimiter = createRateLimiter(context.limits.failedLogins, context.limits.clock);
  }

  /**
   * Returns the active user with this email address and password; undefined if there is none. Throws an error with the status 429 after too
   * many wrong passwords, or if too many checks are waiting.
   */
  async findUserWithPassword(
    address: string,
    email: string,
    password: string,
  ): Promise<UserRow | undefined> {
    if (this.#waitingCount >= maxWaitingChecks) throwIfOverLimit({ ok: false, retryAfter: 10 });
    this.#waitingCount += 1;
    const queuedCheck = this.#lastCheck.then(() => this.#check(address, email, password));
    this.#lastCheck = queuedCheck.catch(() => undefined);
    try {
      return await queuedCheck;
    } finally {
      this.#waitingCount -= 1;
    }
  }

  async #check(address: string, email: string, password: string): Promise<UserRow | undefined> {
    // The key is a hash, because email addresses may be long and the limiter keeps many keys.
    const emailHash = createHash('sha256').update(foldName(email)).digest('base64');
    throwIfOverLimit(this.#addressLimiter.peek(address));
    throwIfOverLimit(this.#emailLimiter.peek(emailHash));
    const { users, passwords } = this.#context.catalog;
    const user = await users.byEmail(email);
    const hash = user && (await passwords.get(user.id));
    if ((await isCorrectPassword(password, hash)) && user?.isActive === true) return user;
    this.#addressLimiter.acquire(address);
    this.#emailLimiter.acquire(emailHash);
    return undefined;
  }
}

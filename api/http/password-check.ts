import { createHash } from 'node:crypto';
import { foldName } from '../../engine/catalog/names.js';
import { isPassword } from '../../engine/catalog/passwords.js';
import type { UserRow } from '../../engine/catalog/users.js';
import type { AppContext } from './app-context.js';
import { refuseOverLimit, rateLimiter, type RateLimiter } from './rate-limiter.js';

/** Checks that may wait at the same time; each takes about a fifth of a second of one core. */
const mostWaiting = 50;

/**
 * Checks email addresses and passwords, one at a time: guesses take one core at most. Wrong ones are limited by the client's address and
 * by the account, whether it exists or not (threat A9).
 */
export class PasswordCheck {
  readonly #context: AppContext;
  readonly #byAddress: RateLimiter;
  readonly #byAccount: RateLimiter;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: AppContext) {
    this.#context = context;
    this.#byAddress = rateLimiter(context.limits.failedLogins);
    this.#byAccount = rateLimiter(context.limits.failedLogins);
  }

  /** The active user with this email address and password; undefined if there is none. Throws 429 after too many wrong passwords. */
  async userOf(address: string, email: string, password: string): Promise<UserRow | undefined> {
    if (this.#waiting >= mostWaiting) refuseOverLimit({ ok: false, retryAfter: 10 });
    this.#waiting += 1;
    const checkedInTurn = this.#last.then(() => this.#check(address, email, password));
    this.#last = checkedInTurn.catch(() => undefined);
    try {
      return await checkedInTurn;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #check(address: string, email: string, password: string): Promise<UserRow | undefined> {
    // A hash, because the address may be long and the limiter keeps many.
    const account = createHash('sha256').update(foldName(email)).digest('base64');
    refuseOverLimit(this.#byAddress.peek(address));
    refuseOverLimit(this.#byAccount.peek(account));
    const { users, passwords } = this.#context.catalog;
    const user = await users.byEmail(email);
    const hash = user && (await passwords.get(user.id));
    if ((await isPassword(password, hash)) && user?.isActive === true) return user;
    this.#byAddress.acquire(address);
    this.#byAccount.acquire(account);
    return undefined;
  }
}

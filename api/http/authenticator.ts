import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { principalOf } from '../../engine/catalog/access.js';
import type { TokenRow } from '../../engine/catalog/tokens.js';
import { AppError, notFound } from '../../engine/core/errors.js';
import { secretOf, unauthenticatedError } from './credentials.js';
import { AppContext } from './app-context.js';
import { ownUser } from './own-requests.js';
import { refuseOverLimit, rateLimiter, type RateLimiter } from './rate-limiter.js';
import type { ApiRequest, Caller } from './request.js';
import { accessKey, type AccessRule } from './access.js';
import { readId } from './form.js';
import { requireResource } from './require-resource.js';

/** Authenticates each request once and applies the rate limits. */
export class Authenticator {
  readonly #requests: RateLimiter;
  readonly #failures: RateLimiter;
  /** The tokens whose use is being recorded. */
  readonly #touching = new Set<number>();

  constructor(private readonly context: AppContext) {
    this.#requests = rateLimiter(context.config.rateLimit);
    this.#failures = rateLimiter(context.limits.failedLogins);
  }

  /** The caller; 401 without valid credentials, 429 beyond the limits. */
  async admit(request: ApiRequest): Promise<Caller> {
    const caller = await this.admitKnown(request);
    if (caller !== undefined) return caller;
    this.admitAnyone(request);
    throw unauthenticatedError('missing');
  }

  /** The caller; undefined without credentials, 401 for wrong ones, 429 beyond the limits. */
  async admitKnown(request: ApiRequest): Promise<Caller | undefined> {
    if (request.caller) return request.caller;
    const ownUserId = ownUser(request.raw);
    if (ownUserId !== undefined) {
      const caller = await principalOf(this.context.catalog, ownUserId, 'read');
      return caller && (request.caller = caller);
    }
    const query = request.query as Record<string, unknown>;
    const secret = secretOf(request.headers.authorization, query['access_token']);
    if (secret === undefined) return undefined;
    const found = await this.#find(secret);
    if (!found) {
      // Only wrong secrets are counted, and a right one is never refused because of them: many users may share one
      // address, and a secret of 30 random characters cannot be guessed at any rate (threat A9).
      refuseOverLimit(this.#failures.acquire(request.clientAddress));
      throw unauthenticatedError('wrong');
    }
    refuseOverLimit(this.#requests.acquire(`token ${found.tokenId}`));
    request.caller = found.caller;
    return found.caller;
  }

  /** Counts a wrong secret that is no token, such as the code of an invitation; 429 beyond the limit of its address. */
  countFailure(request: ApiRequest): void {
    refuseOverLimit(this.#failures.acquire(request.clientAddress));
  }

  /** Applies the rate limit to a request without credentials, by its address. */
  admitAnyone(request: ApiRequest): void {
    refuseOverLimit(this.#requests.acquire(request.clientAddress));
  }

  async #find(
    secret: string,
  ): Promise<{ readonly caller: Caller; readonly tokenId: number } | undefined> {
    const { catalog, signingKey } = this.context;
    const token = await catalog.tokens.authenticate(secret, signingKey);
    if (!token) return undefined;
    const caller = await principalOf(catalog, token.userId, token.scope);
    if (!caller) return undefined;
    this.#touch(token);
    const isApplication = token.grantId !== null;
    return { caller: isApplication ? { ...caller, isApplication } : caller, tokenId: token.id };
  }

  /** Records the use of a token without making the request wait for the write. */
  #touch(token: TokenRow): void {
    if (this.#touching.has(token.id)) return;
    this.#touching.add(token.id);
    const stopTouching = (): boolean => this.#touching.delete(token.id);
    // A server that stops may have closed the catalogue; the time of the last use is then a minute old.
    void this.context.catalog.tokens.touch(token).then(stopTouching, stopTouching);
  }
}

/** Authenticates the caller and applies the handler's access rule; a handler without a rule is refused. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly context: AppContext,
    private readonly authenticator: Authenticator,
  ) {}

  async canActivate(execution: ExecutionContext): Promise<boolean> {
    const request = execution.switchToHttp().getRequest<ApiRequest>();
    const rule: AccessRule | undefined = Reflect.getMetadata(accessKey, execution.getHandler());
    if (!rule) throw new Error('the handler has no access rule');
    if (rule.kind === 'public') {
      this.authenticator.admitAnyone(request);
      return true;
    }
    if (rule.kind === 'anyone') {
      const admittedUser = await this.authenticator.admitKnown(request);
      if (admittedUser === undefined) this.authenticator.admitAnyone(request);
      return true;
    }
    const caller = await this.authenticator.admit(request);
    if (rule.kind === 'resource') {
      const id = readId((request.params as Record<string, unknown>)['id']);
      if (id === undefined) throw notFound();
      const { catalog } = this.context;
      request.resource = await requireResource(catalog, caller, rule.resource, id, rule.level);
    }
    if (rule.scope === 'write' && caller.scope === 'read') {
      throw new AppError('forbidden', 'This token has the scope read; a change needs read write.');
    }
    return true;
  }
}

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { loadPrincipal } from '../../engine/catalog/access.js';
import { hashSecret, isSameSecret } from '../../engine/catalog/secrets.js';
import type { TokenRow } from '../../engine/catalog/tokens.js';
import { AppError, notFoundError } from '../../engine/core/errors.js';
import { secretOf, unauthenticatedError } from './credentials.js';
import { AppContext } from './app-context.js';
import { userIdOfInternalRequest } from './internal-requests.js';
import { throwIfOverLimit, createRateLimiter, type RateLimiter } from './rate-limiter.js';
import type { ApiRequest, Caller } from './api-request.js';
import { accessMetadataKey, type AccessRule } from './access-rule.js';
import { readId } from './form.js';
import { requireResource } from './require-resource.js';

/** Authenticates each request once and applies the rate limits. */
export class Authenticator {
  readonly #requestLimiter: RateLimiter;
  readonly #failureLimiter: RateLimiter;
  /** The ids of the tokens whose time of last use is being written to the catalogue. */
  readonly #touching = new Set<number>();
  /** The last token that each open connection has sent, with its hash. */
  readonly #lastTokens = new WeakMap<object, { readonly secret: string; readonly hash: string }>();

  constructor(private readonly context: AppContext) {
    this.#requestLimiter = createRateLimiter(context.config.rateLimit, context.limits.clock);
    this.#failureLimiter = createRateLimiter(context.limits.failedLogins, context.limits.clock);
  }

  /** Returns the caller; throws 401 without valid credentials, and 429 beyond the rate limits. */
  async authenticate(request: ApiRequest): Promise<Caller> {
    const caller = await this.authenticateOptional(request);
    if (caller !== undefined) return caller;
    this.limitAnonymousRequest(request);
    throw unauthenticatedError('missing');
  }

  /** Returns the caller, undefined if the request has no credentials; throws 401 for wrong credentials, and 429 beyond the rate limits. */
  async authenticateOptional(request: ApiRequest): Promise<Caller | undefined> {
    if (request.caller) {
      if (request.readMark) this.context.catalog.resumeRead(request.readMark);
      return request.caller;
    }
    const ownUserId = userIdOfInternalRequest(request.raw);
    if (ownUserId !== undefined) {
      const caller = await loadPrincipal(this.context.catalog, ownUserId, 'read');
      return caller && (request.caller = caller);
    }
    const query = request.query as Record<string, unknown>;
    const secret = secretOf(request.headers.authorization, query['access_token']);
    if (secret === undefined) return undefined;
    const authentication = await this.#authenticateSecret(secret, request.raw.socket);
    if (!authentication) {
      // This limit counts only wrong secrets, and they never cause a right one to be refused: many users may share one address, and a
      // secret of at least 30 random characters cannot be guessed at any rate (threat A9).
      throwIfOverLimit(this.#failureLimiter.acquire(request.clientAddress));
      throw unauthenticatedError('wrong');
    }
    throwIfOverLimit(this.#requestLimiter.acquire(`token ${authentication.tokenId}`));
    request.caller = authentication.caller;
    request.readMark = this.context.catalog.markRead();
    return authentication.caller;
  }

  /** Counts a wrong secret other than a token, such as the code of an invitation; throws 429 beyond the limit for the client's address. */
  countFailure(request: ApiRequest): void {
    throwIfOverLimit(this.#failureLimiter.acquire(request.clientAddress));
  }

  /** Applies the rate limit for the client's address to a request that is not authenticated. */
  limitAnonymousRequest(request: ApiRequest): void {
    throwIfOverLimit(this.#requestLimiter.acquire(request.clientAddress));
  }

  async #authenticateSecret(
    secret: string,
    connection: object,
  ): Promise<{ readonly caller: Caller; readonly tokenId: number } | undefined> {
    const { catalog } = this.context;
    const token = await catalog.tokens.find(this.#hashOf(secret, connection));
    if (!token) return undefined;
    const caller = await loadPrincipal(catalog, token.userId, token.scope);
    if (!caller) return undefined;
    this.#touch(token);
    const isApplication = token.grantId !== null;
    return { caller: isApplication ? { ...caller, isApplication } : caller, tokenId: token.id };
  }

  /** Returns the hash of a token, which is computed once for consecutive requests of a connection with the same token. */
  #hashOf(secret: string, connection: object): string {
    const last = this.#lastTokens.get(connection);
    if (last !== undefined && isSameSecret(last.secret, secret)) return last.hash;
    const hash = hashSecret('access token', secret, this.context.signingKey);
    this.#lastTokens.set(connection, { secret, hash });
    return hash;
  }

  /** Records the use of a token without making the request wait for the write. */
  #touch(token: TokenRow): void {
    if (this.#touching.has(token.id)) return;
    this.#touching.add(token.id);
    const stopTouching = (): boolean => this.#touching.delete(token.id);
    // If the server stops, the catalogue may already be closed. The write then fails, the error is ignored, and the token keeps the time of
    // an earlier use.
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
    const rule: AccessRule | undefined = Reflect.getMetadata(
      accessMetadataKey,
      execution.getHandler(),
    );
    if (!rule) throw new Error('the handler has no access rule');
    if (rule.kind === 'public') {
      this.authenticator.limitAnonymousRequest(request);
      return true;
    }
    if (rule.kind === 'anyone') {
      const admittedUser = await this.authenticator.authenticateOptional(request);
      if (admittedUser === undefined) this.authenticator.limitAnonymousRequest(request);
      return true;
    }
    const caller = await this.authenticator.authenticate(request);
    if (rule.kind === 'resource') {
      const id = readId((request.params as Record<string, unknown>)['id']);
      if (id === undefined) throw notFoundError();
      const { catalog } = this.context;
      request.resource = await requireResource(catalog, caller, rule.resource, id, rule.level);
    }
    if (rule.scope === 'write' && caller.scope === 'read') {
      throw new AppError('forbidden', 'This token has the scope read; a change needs read write.');
    }
    return true;
  }
}

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { principalOf } from '../engine/catalog/access.js';
import { AppError, notFound } from '../engine/errors.js';
import { accessKey, type AccessRule } from './access.js';
import { secretOf, unauthenticated } from './credentials.js';
import { readId } from './form.js';
import { Parts } from './parts.js';
import { rateLimiter, type RateLimiter, type Verdict } from './rate.js';
import type { ApiRequest, Caller } from './request.js';
import { requireResource } from './resources.js';

/** Decides before every handler who calls and whether the handler's rule lets them; without a rule nobody gets in. */
@Injectable()
export class AuthGuard implements CanActivate {
  private readonly requests: RateLimiter;
  private readonly failures: RateLimiter;

  constructor(private readonly parts: Parts) {
    this.requests = rateLimiter(parts.config.rateLimit);
    this.failures = rateLimiter(parts.limits.failedLogins);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const rule: AccessRule | undefined = Reflect.getMetadata(accessKey, context.getHandler());
    if (!rule) throw new AppError('forbidden', 'this route has no access rule');
    if (rule.kind === 'public') {
      limited(this.requests.take(request.ip));
      return true;
    }
    const caller = await this.callerOf(request);
    limited(this.requests.take(`user ${caller.user.id}`));
    request.caller = caller;
    if (rule.scope === 'write' && caller.scope === 'read') {
      throw new AppError('forbidden', 'This token may only read.');
    }
    if (rule.kind === 'resource') {
      const id = readId((request.params as Record<string, unknown>)['id']);
      if (id === undefined) throw notFound();
      request.subject = await requireResource(
        this.parts.catalog,
        caller,
        rule.resource,
        id,
        rule.level,
      );
    }
    return true;
  }

  private async callerOf(request: ApiRequest): Promise<Caller> {
    const query = request.query as Record<string, unknown>;
    const secret = secretOf(request.headers.authorization, query['access_token']);
    if (secret === undefined) {
      limited(this.requests.take(request.ip));
      throw unauthenticated();
    }
    const caller = await this.authenticate(secret);
    if (caller) return caller;
    // Only wrong secrets count, and a right one is never refused: behind one address sit many users, and 30 random
    // characters cannot be guessed at any rate (threat A9).
    limited(this.failures.take(request.ip));
    throw unauthenticated();
  }

  private async authenticate(secret: string): Promise<Caller | undefined> {
    const { catalog, signingKey } = this.parts;
    const token = await catalog.tokens.authenticate(secret, signingKey);
    if (!token) return undefined;
    await catalog.tokens.touch(token);
    return principalOf(catalog, token.userId, token.scope);
  }
}

/** Throws 429 with the seconds to wait. */
function limited(verdict: Verdict): void {
  if (verdict.ok) return;
  const error = new AppError('rate-limited', 'Request was throttled.');
  throw Object.assign(error, { retryAfter: verdict.retryAfter });
}

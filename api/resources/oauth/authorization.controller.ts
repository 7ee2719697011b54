import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { fullName, type UserRow } from '../../../engine/catalog/users.js';
import { AppError } from '../../../engine/core/errors.js';
import { Public } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { firstParamValue } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import type { QueryParams } from '../../http/page.js';
import { PasswordCheck } from '../../http/password-check.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import {
  readAuthorizationRequest,
  authorizationResponseUrl,
  type AuthorizationRequest,
} from './authorization-request.js';
import { authorizationOperations } from './oauth.operations.js';
import { consentPage, linkPage, messagePage, sendPage, signInPage, type AuthorizationPage } from './pages.js'; // prettier-ignore
import {
  hasValidCsrfToken,
  signIn,
  signOut,
  ensureBrowserSession,
  type BrowserSession,
} from './visitor.js';

/** A valid request to the authorization page, with the browser that sent it. */
interface AuthorizationPageRequest {
  readonly request: ApiRequest;
  readonly reply: ApiReply;
  readonly visitor: BrowserSession;
  readonly authorization: AuthorizationRequest;
}

const foreignFormPage = messagePage(
  'This form is too old',
  'It belongs to another sign-in, or to another site. Go back, load the page again, and repeat what you did.',
  { status: 403 },
);

/** The pages on which users sign in and consent (contract 18; RFC 6749, section 4.1). Their cookie gives access only to these pages. */
@Controller()
export class AuthorizationController {
  constructor(
    private readonly context: AppContext,
    private readonly passwordCheck: PasswordCheck,
  ) {}

  @Operation(authorizationOperations.page)
  @Public()
  async page(
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const visit = await this.#readVisit(query, request, reply);
    return sendPage(reply, 'authorization' in visit ? await this.#pageOf(visit) : visit);
  }

  @Operation(authorizationOperations.decide)
  @Public()
  async decide(
    @Query() query: QueryParams,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const visit = await this.#readVisit(query, request, reply);
    if (!('authorization' in visit)) return sendPage(reply, visit);
    if (!hasValidCsrfToken(visit.visitor, body)) return sendPage(reply, foreignFormPage);
    const { action, ...fields } = body as Readonly<Record<string, unknown>>;
    const handleAction = this.#actions.get(String(action));
    const page = handleAction ? await handleAction(visit, fields) : await this.#pageOf(visit);
    return typeof page === 'string' ? redirectTo(reply, page) : sendPage(reply, page);
  }

  @Operation(authorizationOperations.linkPage)
  @Public()
  async link(
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const { csrfToken } = await ensureBrowserSession(this.context, request, reply);
    const user = await this.#userOfLink(query);
    return sendPage(reply, user ? linkPage(csrfToken, user.email) : unknownLinkPage);
  }

  @Operation(authorizationOperations.useLink)
  @Public()
  async useLink(
    @Query() query: QueryParams,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const visitor = await ensureBrowserSession(this.context, request, reply);
    if (!hasValidCsrfToken(visitor, body)) return sendPage(reply, foreignFormPage);
    const user = await this.#userOfLink(query);
    if (user === undefined) return sendPage(reply, unknownLinkPage);
    const { catalog, signingKey } = this.context;
    const isFirst = await catalog.signIns.end(firstParamValue(query, 'code') ?? '', signingKey);
    if (!isFirst) return sendPage(reply, unknownLinkPage);
    await signIn(this.context, request, reply, user.id);
    const message = `You are signed in as ${user.email}. Go back to the application and begin again, or load its page again.`;
    return sendPage(reply, messagePage('Signed in', message));
  }

  readonly #actions = new Map<
    string,
    (
      visit: AuthorizationPageRequest,
      fields: Readonly<Record<string, unknown>>,
    ) => Promise<AuthorizationPage | string>
  >([
    ['sign_in', (visit, fields) => this.#signIn(visit, fields)],
    [
      'sign_out',
      async ({ request, reply }) => {
        await signOut(this.context, request, reply);
        return request.pathPrefix + request.url;
      },
    ],
    ['allow', (visit) => this.#allow(visit)],
    [
      'deny',
      async ({ authorization }) =>
        authorizationResponseUrl(authorization, { error: 'access_denied' }),
    ],
  ]);

  /** Returns the browser and the authorization that it requests, or the page to show if the request is refused. */
  async #readVisit(
    query: QueryParams,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<AuthorizationPageRequest | AuthorizationPage> {
    const authorization = await readAuthorizationRequest(
      this.context.catalog,
      query,
      request.origin,
    );
    if (authorization.kind === 'refused') {
      const { message, returnTo } = authorization;
      return messagePage('This request is not valid', message, { status: 400, returnTo });
    }
    const visitor = await ensureBrowserSession(this.context, request, reply);
    return { request, reply, visitor, authorization };
  }

  /**
   * Returns the page that a browser gets: the sign-in page or, once the user has signed in, the consent page, or a refusal if the user may
   * not authorize the application.
   */
  async #pageOf({
    request,
    visitor,
    authorization,
  }: AuthorizationPageRequest): Promise<AuthorizationPage> {
    const { principal, csrfToken } = visitor;
    if (principal === undefined) return signInPage(csrfToken);
    const { application } = authorization;
    // Choice: only users of the account of an application may authorize it, unless the application is public.
    if (!application.isPublic && application.accountId !== principal.account.id) {
      const message = `Only users of another account may use ${application.name}; you are ${principal.user.email}.`;
      return messagePage('Not for your account', message, { status: 403 });
    }
    const owner = await this.context.catalog.users.get(application.userId);
    return consentPage(csrfToken, {
      request: authorization,
      owner: owner ? nameAndEmail(owner) : 'a user who was removed',
      email: principal.user.email,
      tokensPath: `${request.pathPrefix}/v2/tokens`,
    });
  }

  async #signIn(
    { request, reply, visitor }: AuthorizationPageRequest,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<AuthorizationPage | string> {
    const { email, password } = fields;
    if (typeof email !== 'string' || typeof password !== 'string') {
      return signInPage(visitor.csrfToken, 'Enter an email address and a password.');
    }
    try {
      const user = await this.passwordCheck.findUserWithPassword(
        request.clientAddress,
        email,
        password,
      );
      if (user === undefined) {
        return signInPage(visitor.csrfToken, 'No user has this email address and password.');
      }
      await signIn(this.context, request, reply, user.id);
      return request.pathPrefix + request.url;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'rate-limited') throw error;
      const { retryAfter } = error as { readonly retryAfter?: number };
      reply.header('Retry-After', String(retryAfter));
      const message = `There were too many attempts; try again in ${retryAfter} seconds.`;
      return { ...signInPage(visitor.csrfToken, message), status: 429 };
    }
  }

  async #allow(visit: AuthorizationPageRequest): Promise<AuthorizationPage | string> {
    const { visitor, authorization } = visit;
    const page = await this.#pageOf(visit);
    if (page.formTarget === undefined || visitor.principal === undefined) return page;
    const { application, redirectUri, scope, codeChallenge } = authorization;
    const { catalog, signingKey } = this.context;
    const userId = visitor.principal.user.id;
    const grant = { userId, applicationId: application.id, scope, redirectUri, codeChallenge };
    return authorizationResponseUrl(authorization, {
      code: await catalog.grants.create(grant, signingKey),
    });
  }

  async #userOfLink(query: QueryParams): Promise<{ id: number; email: string } | undefined> {
    const { catalog, signingKey } = this.context;
    const userId = await catalog.signIns.find(
      'link',
      firstParamValue(query, 'code') ?? '',
      signingKey,
    );
    const user = userId === undefined ? undefined : await catalog.users.get(userId);
    return user?.isActive === true ? user : undefined;
  }
}

const unknownLinkPage = messagePage(
  'This link does not work',
  'It was used, or is older than 15 minutes. Whoever runs the server makes another with strandlake user login-link.',
  { status: 400 },
);

/** Returns the name and the email address of a user, as shown on a page; only the address if the user has no name. */
function nameAndEmail(user: UserRow): string {
  const name = fullName(user);
  return name === user.email ? name : `${name} (${user.email})`;
}

/** Redirects with the status 303, so that the browser does not send the form to the redirection target (RFC 9700, section 4.12). */
function redirectTo(reply: ApiReply, location: string): string {
  reply.code(303).header('Location', location).header('Content-Type', 'text/html; charset=utf-8');
  return '';
}

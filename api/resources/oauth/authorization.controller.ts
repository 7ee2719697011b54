import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { fullName, type UserRow } from '../../../engine/catalog/users.js';
import { AppError } from '../../../engine/core/errors.js';
import { Public } from '../../http/access.js';
import { AppContext } from '../../http/app-context.js';
import { value } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import type { QueryParams } from '../../http/page.js';
import { PasswordCheck } from '../../http/password-check.js';
import type { ApiReply, ApiRequest } from '../../http/request.js';
import {
  authorizationRequest,
  responseAddress,
  type AuthorizationRequest,
} from './authorization-request.js';
import { authorizationOperations } from './oauth.operations.js';
import { consentPage, linkPage, messagePage, sendPage, signInPage, type AuthorizationPage } from './pages.js'; // prettier-ignore
import { isOwnForm, signIn, signOut, visitorOf, type Visitor } from './visitor.js';

/** A request to the authorization page. */
interface Visit {
  readonly request: ApiRequest;
  readonly reply: ApiReply;
  readonly visitor: Visitor;
  readonly asked: AuthorizationRequest;
}

const foreignForm = messagePage(
  'This form is too old',
  'It belongs to another sign-in, or to another site. Go back, load the page again, and repeat what you did.',
  { status: 403 },
);

/** The pages on which users sign in and consent (contract 18; RFC 6749, section 4.1). Their cookie gives access to nothing else. */
@Controller()
export class AuthorizationController {
  constructor(
    private readonly context: AppContext,
    private readonly check: PasswordCheck,
  ) {}

  @Operation(authorizationOperations.page)
  @Public()
  async page(
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const visit = await this.#visit(query, request, reply);
    return sendPage(reply, 'asked' in visit ? await this.#pageOf(visit) : visit);
  }

  @Operation(authorizationOperations.decide)
  @Public()
  async decide(
    @Query() query: QueryParams,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const visit = await this.#visit(query, request, reply);
    if (!('asked' in visit)) return sendPage(reply, visit);
    if (!isOwnForm(visit.visitor, body)) return sendPage(reply, foreignForm);
    const { action, ...fields } = body as Readonly<Record<string, unknown>>;
    const act = this.#actions.get(String(action));
    const page = act ? await act(visit, fields) : await this.#pageOf(visit);
    return typeof page === 'string' ? redirectTo(reply, page) : sendPage(reply, page);
  }

  @Operation(authorizationOperations.linkPage)
  @Public()
  async link(
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const { csrfToken } = await visitorOf(this.context, request, reply);
    const user = await this.#userOfLink(query);
    return sendPage(reply, user ? linkPage(csrfToken, user.email) : unknownLink);
  }

  @Operation(authorizationOperations.useLink)
  @Public()
  async useLink(
    @Query() query: QueryParams,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const visitor = await visitorOf(this.context, request, reply);
    if (!isOwnForm(visitor, body)) return sendPage(reply, foreignForm);
    const user = await this.#userOfLink(query);
    if (user === undefined) return sendPage(reply, unknownLink);
    const { catalog, signingKey } = this.context;
    const isFirst = await catalog.signIns.end(value(query, 'code') ?? '', signingKey);
    if (!isFirst) return sendPage(reply, unknownLink);
    await signIn(this.context, request, reply, user.id);
    const message = `You are signed in as ${user.email}. Go back to the application and begin again, or load its page again.`;
    return sendPage(reply, messagePage('Signed in', message));
  }

  readonly #actions = new Map<
    string,
    (visit: Visit, fields: Readonly<Record<string, unknown>>) => Promise<AuthorizationPage | string>
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
    ['deny', async ({ asked }) => responseAddress(asked, { error: 'access_denied' })],
  ]);

  /** The browser and the authorization that it requests, or the page to show for a request that is refused. */
  async #visit(
    query: QueryParams,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<Visit | AuthorizationPage> {
    const askedAuthorization = await authorizationRequest(
      this.context.catalog,
      query,
      request.origin,
    );
    if (askedAuthorization.kind === 'refused') {
      const { message, returnTo } = askedAuthorization;
      return messagePage('This request is not valid', message, { status: 400, returnTo });
    }
    const visitor = await visitorOf(this.context, request, reply);
    return { request, reply, visitor, asked: askedAuthorization };
  }

  /** The page that a browser gets: to sign in, or to consent. */
  async #pageOf({ request, visitor, asked }: Visit): Promise<AuthorizationPage> {
    const { principal, csrfToken } = visitor;
    if (principal === undefined) return signInPage(csrfToken);
    const { application } = asked;
    // Choice: an application is for the users of its account, unless it is public.
    if (!application.isPublic && application.accountId !== principal.account.id) {
      const message = `Only users of another account may use ${application.name}; you are ${principal.user.email}.`;
      return messagePage('Not for your account', message, { status: 403 });
    }
    const owner = await this.context.catalog.users.get(application.userId);
    return consentPage(csrfToken, {
      request: asked,
      owner: owner ? nameAndAddress(owner) : 'a user who was removed',
      email: principal.user.email,
      tokensPath: `${request.pathPrefix}/v2/tokens`,
    });
  }

  async #signIn(
    { request, reply, visitor }: Visit,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<AuthorizationPage | string> {
    const { email, password } = fields;
    if (typeof email !== 'string' || typeof password !== 'string') {
      return signInPage(visitor.csrfToken, 'Enter an email address and a password.');
    }
    try {
      const user = await this.check.userOf(request.clientAddress, email, password);
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

  async #allow(visit: Visit): Promise<AuthorizationPage | string> {
    const { visitor, asked } = visit;
    const page = await this.#pageOf(visit);
    if (page.formTarget === undefined || visitor.principal === undefined) return page;
    const { application, redirectUri, scope, codeChallenge } = asked;
    const { catalog, signingKey } = this.context;
    const userId = visitor.principal.user.id;
    const grant = { userId, applicationId: application.id, scope, redirectUri, codeChallenge };
    return responseAddress(asked, { code: await catalog.grants.create(grant, signingKey) });
  }

  async #userOfLink(query: QueryParams): Promise<{ id: number; email: string } | undefined> {
    const { catalog, signingKey } = this.context;
    const userId = await catalog.signIns.find('link', value(query, 'code') ?? '', signingKey);
    const user = userId === undefined ? undefined : await catalog.users.get(userId);
    return user?.isActive === true ? user : undefined;
  }
}

const unknownLink = messagePage(
  'This link does not work',
  'It was used, or is older than 15 minutes. Whoever runs the server makes another with strandlake user login-link.',
  { status: 400 },
);

/** A user without a name is called by the address. */
function nameAndAddress(user: UserRow): string {
  const name = fullName(user);
  return name === user.email ? name : `${name} (${user.email})`;
}

/** 303, so that a browser never sends the form on (RFC 9700, section 4.12). */
function redirectTo(reply: ApiReply, location: string): string {
  reply.code(303).header('Location', location).header('Content-Type', 'text/html; charset=utf-8');
  return '';
}

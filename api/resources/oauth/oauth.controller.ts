import { Body, Controller, Header, Req, Res } from '@nestjs/common';
import type { ApplicationRow } from '../../../engine/catalog/applications.js';
import {
  exchangeCode,
  exchangeRefreshToken,
  type ExchangeRefusal,
  type IssuedTokens,
} from '../../../engine/catalog/grant-exchange.js';
import { Public } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Operation } from '../../http/operation.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import { scopeOf } from './authorization-request.js';
import {
  authenticateClient,
  oauthError,
  oauthParameters,
  requiredParameter,
  type OauthParameters,
} from './oauth-parameters.js';
import { authorizationOperations, oauthOperations } from './oauth.operations.js';

type TokenExchange = (
  context: AppContext,
  application: ApplicationRow,
  parameters: OauthParameters,
) => Promise<IssuedTokens | ExchangeRefusal>;

/** The exchange for each grant type (RFC 6749, sections 4.1.3 and 6). */
const exchangeByGrantType = new Map<string, TokenExchange>([
  [
    'authorization_code',
    ({ catalog, signingKey }, application, parameters) => {
      const code = requiredParameter(parameters, 'code');
      const redirectUri = requiredParameter(parameters, 'redirect_uri');
      const codeExchange = { code, redirectUri, codeVerifier: parameters.get('code_verifier') };
      return catalog.transaction((tx) => exchangeCode(tx, application, codeExchange, signingKey));
    },
  ],
  [
    'refresh_token',
    async ({ catalog, signingKey }, application, parameters) => {
      const token = requiredParameter(parameters, 'refresh_token');
      const scopeText = parameters.get('scope');
      const scope = scopeOf(scopeText);
      if (scopeText !== undefined && scope === undefined) {
        return { error: 'invalid_scope', reason: 'The scopes are read and write.' };
      }
      const tokenExchange = { token, scope };
      return catalog.transaction((tx) =>
        exchangeRefreshToken(tx, application, tokenExchange, signingKey),
      );
    },
  ],
]);

/** The methods by which an application may authenticate (RFC 6749, section 2.3.1); `none` is for public applications. */
const clientAuthenticationMethods = ['client_secret_basic', 'client_secret_post', 'none'];

/** The token and revocation endpoints of OAuth2, and its metadata (contract 18; RFC 6749, section 3.2; RFC 7009; RFC 8414). */
@Controller()
export class OauthController {
  constructor(private readonly context: AppContext) {}

  /**
   * Returns the metadata of this server. The issuer is the base of all links, as in authorization responses (RFC 8414, section 3.3; RFC
   * 9207, 2.4).
   */
  @Operation(oauthOperations.metadata)
  @Public()
  metadata(@Req() { origin }: ApiRequest): object {
    return {
      issuer: origin,
      authorization_endpoint: origin + authorizationOperations.page.paths[0],
      token_endpoint: origin + oauthOperations.token.paths[0],
      revocation_endpoint: origin + oauthOperations.revoke.paths[0],
      scopes_supported: ['read', 'write'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: [...exchangeByGrantType.keys()],
      token_endpoint_auth_methods_supported: clientAuthenticationMethods,
      revocation_endpoint_auth_methods_supported: clientAuthenticationMethods,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  @Operation(oauthOperations.token)
  @Public()
  @Header('Pragma', 'no-cache')
  async token(
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const parameters = oauthParameters(body);
    const grantType = requiredParameter(parameters, 'grant_type');
    const application = await authenticateClient(this.context, request, reply, parameters);
    const exchange = exchangeByGrantType.get(grantType);
    if (exchange === undefined) {
      const grantTypeNames = [...exchangeByGrantType.keys()].join(' and ');
      throw oauthError('unsupported_grant_type', `The grant types are ${grantTypeNames}.`);
    }
    const exchangeResult = await exchange(this.context, application, parameters);
    if ('error' in exchangeResult) throw oauthError(exchangeResult.error, exchangeResult.reason);
    reply.removeHeader('WWW-Authenticate');
    return {
      access_token: exchangeResult.accessToken,
      token_type: 'Bearer',
      expires_in: exchangeResult.expiresIn,
      refresh_token: exchangeResult.refreshToken,
      scope: exchangeResult.scope,
    };
  }

  /** Revokes the grant of an access or refresh token as a whole (RFC 7009, section 2.1). An unknown token is not an error (section 2.2). */
  @Operation(oauthOperations.revoke)
  @Public()
  async revoke(
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const parameters = oauthParameters(body);
    const application = await authenticateClient(this.context, request, reply, parameters);
    const token = requiredParameter(parameters, 'token');
    const { catalog, signingKey } = this.context;
    await catalog.transaction(async (tx) => {
      const refreshedGrant = await tx.grants.byRefreshToken(token, signingKey);
      const grantId = (await tx.tokens.authenticate(token, signingKey))?.grantId ?? null;
      const grant =
        refreshedGrant?.grant ?? (grantId === null ? undefined : await tx.grants.get(grantId));
      if (grant === undefined) return;
      if (grant.applicationId !== application.id) {
        throw oauthError('invalid_grant', 'The token was issued to another application.');
      }
      await tx.grants.revoke(grant.id);
    });
    reply.removeHeader('WWW-Authenticate');
    return {};
  }
}

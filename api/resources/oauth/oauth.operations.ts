import { declareOperations, emptyAnswer, type RawContent } from '../../http/operation-row.js';
import { pageAnswer } from '../../http/page-policy.js';
import {
  answerSchema,
  bodySchema,
  boolean,
  integer,
  enumOf,
  strings,
  text,
} from '../../http/json-schema.js';

const clientIdProperty = {
  type: text,
  description: 'Of the application; instead of both, HTTP Basic may have them.',
  example: '7',
};
const clientSecretProperty = {
  type: text,
  description: 'A public application may leave it out.',
  example: '5f1d7c0a4be2935f1d7c0a4be2935f1d7c0a4be2935f1d7c0a4be2935f1d7c0a',
};

const tokenBody = bodySchema('TokenRequest', 'A request for tokens, form-encoded or as JSON.', {
  grant_type: {
    type: enumOf('authorization_code', 'refresh_token'),
    example: 'authorization_code',
    required: true,
  },
  client_id: clientIdProperty,
  client_secret: clientSecretProperty,
  code: { type: text, example: 'IqWcM5tO4wXyZ2bN8dFkLpRsTvUj3hGe1aYq7xKz' },
  redirect_uri: {
    type: text,
    description: 'The one of the authorization request.',
    example: 'https://apps.example.org/callback',
  },
  code_verifier: { type: text, description: 'Where the authorization request had a challenge.' },
  refresh_token: { type: text, description: 'For the grant type refresh_token.' },
  scope: {
    type: text,
    description: 'For the grant type refresh_token: less than was granted.',
  },
});

const tokenAnswer = answerSchema('TokenAnswer', 'The tokens of a grant.', {
  access_token: { type: text, example: 'g0temMi3D9pdSlUibjGO9XfD9J88fy' },
  token_type: { type: enumOf('Bearer'), example: 'Bearer' },
  expires_in: { type: integer, description: 'In seconds.', example: 36000 },
  refresh_token: { type: text, example: 'Zk3vQyT8mBnXcRfJwLdHsGpAeUo1i5t7Y9qK2z4M' },
  scope: { type: enumOf('read', 'read write'), example: 'read' },
});

const revokeBody = bodySchema('RevokeRequest', 'A token to revoke, form-encoded or as JSON.', {
  client_id: clientIdProperty,
  client_secret: clientSecretProperty,
  token: {
    type: text,
    description: 'An access token or a refresh token; the other one ends, too.',
    example: 'g0temMi3D9pdSlUibjGO9XfD9J88fz',
    required: true,
  },
  token_type_hint: { type: text, description: 'Not needed.' },
});

const revokeAnswer = answerSchema('RevokeAnswer', 'An empty object.', {});

const exampleOrigin = 'https://genomes.example.org';
const clientAuthenticationProperty = {
  type: strings,
  example: ['client_secret_basic', 'client_secret_post', 'none'],
};

const metadataAnswer = answerSchema(
  'AuthorizationServer',
  'The metadata of the authorization server (RFC 8414, section 2).',
  {
    issuer: { type: text, description: 'The base of all addresses.', example: exampleOrigin },
    authorization_endpoint: { type: text, example: `${exampleOrigin}/authorize` },
    token_endpoint: { type: text, example: `${exampleOrigin}/v1/oauth2/token` },
    revocation_endpoint: { type: text, example: `${exampleOrigin}/v1/oauth2/revoke_token` },
    scopes_supported: { type: strings, example: ['read', 'write'] },
    response_types_supported: { type: strings, example: ['code'] },
    response_modes_supported: { type: strings, example: ['query'] },
    grant_types_supported: { type: strings, example: ['authorization_code', 'refresh_token'] },
    token_endpoint_auth_methods_supported: clientAuthenticationProperty,
    revocation_endpoint_auth_methods_supported: clientAuthenticationProperty,
    code_challenge_methods_supported: { type: strings, example: ['S256'] },
    authorization_response_iss_parameter_supported: {
      type: boolean,
      description: 'Authorization responses have the issuer as `iss` (RFC 9207, section 3).',
      example: true,
    },
  },
);

export const oauthSchemas = [tokenBody, tokenAnswer, revokeBody, revokeAnswer, metadataAnswer];

/**
 * The operations of OAuth2 that applications call: metadata (RFC 8414, section 3), tokens (RFC 6749, section 3.2) and revocation (RFC 7009,
 * section 2).
 */
export const oauthOperations = declareOperations('oauth', 'Applications', {
  metadata: {
    method: 'GET',
    paths: ['/.well-known/oauth-authorization-server'],
    summary:
      'The addresses and abilities of the authorization server, from which clients set themselves up.',
    answer: metadataAnswer,
  },
  token: {
    method: 'POST',
    paths: ['/v1/oauth2/token'],
    summary: 'Exchanges an authorization code, or a refresh token, for tokens.',
    body: tokenBody,
    answer: tokenAnswer,
  },
  revoke: {
    method: 'POST',
    paths: ['/v1/oauth2/revoke_token'],
    summary: 'Revokes the tokens of a grant.',
    body: revokeBody,
    answer: revokeAnswer,
  },
});

const authorizePaths = ['/authorize', '/v1/oauth2/authorize'] as const;
const signInPaths = ['/v1/oauth2/sign_in'] as const;
const authorizationParams = {
  response_type: { description: 'code.', example: 'code', required: true },
  client_id: { description: 'Of the application.', example: '7', required: true },
  redirect_uri: {
    description: 'One of those that the application has registered.',
    example: 'https://apps.example.org/callback',
    required: true,
  },
  scope: {
    description: 'read or read write; all that the application may have when absent.',
    example: 'read',
  },
  state: { description: 'Returned to the application.', example: 'af0ifjsldkj' },
  code_challenge: {
    description: 'BASE64URL(SHA-256(code_verifier)); required for public applications.',
    example: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  },
  code_challenge_method: { description: 'S256.', example: 'S256' },
};
const linkParams = {
  code: {
    description: 'Of the link.',
    example: 'mB3s7Qf0c9TtXv2aLkP1yZ8hRwNd5E',
    required: true,
  },
};

/** Declares a form as a body. Every form has the field `csrf_token`, whose value the page contains. */
function formBody(description: string, fields: Readonly<Record<string, string>>): RawContent {
  const example = new URLSearchParams({ csrf_token: csrfTokenExample, ...fields }).toString();
  return { description, examples: { 'application/x-www-form-urlencoded': example } };
}

const csrfTokenExample = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

/** The pages on which users sign in and consent. Their forms are sent to the address of the page. */
export const authorizationOperations = declareOperations('authorization', 'Applications', {
  page: {
    method: 'GET',
    paths: authorizePaths,
    summary: 'The page on which a user authorizes an application, for browsers.',
    query: authorizationParams,
    answer: pageAnswer('The page to sign in or, for a user who has, to consent.', 'Sign in: Strandlake'), // prettier-ignore
  },
  decide: {
    method: 'POST',
    paths: authorizePaths,
    summary: 'Receives the forms of that page.',
    query: authorizationParams,
    body: formBody(
      'The fields of the form; its buttons are the actions sign_in, sign_out, allow and deny.',
      { action: 'sign_in', email: 'ada@acme.org', password: 'a long phrase of her own' },
    ),
    status: 303,
    answer: emptyAnswer('Redirects to the page again, with `allow` and `deny` to the application.'),
  },
  linkPage: {
    method: 'GET',
    paths: signInPaths,
    summary: 'The page of a link that signs in, which strandlake user login-link prints.',
    query: linkParams,
    answer: pageAnswer('The page.', 'Sign in: Strandlake'),
  },
  useLink: {
    method: 'POST',
    paths: signInPaths,
    summary: 'Receives the form of that page.',
    query: linkParams,
    body: formBody('The fields of the form.', { action: 'sign_in' }),
    answer: pageAnswer('The page that tells who is signed in.', 'Signed in: Strandlake'),
  },
});

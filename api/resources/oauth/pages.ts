import { contentSecurityPolicy, pageHead } from '../../http/page-policy.js';
import type { ApiReply } from '../../http/api-request.js';
import type { AuthorizationRequest } from './authorization-request.js';

const style = `
:root{color-scheme:light dark;font:16px/1.6 system-ui,sans-serif}
body{max-width:30rem;margin:3rem auto;padding:0 1rem}
label,button{display:block;margin:.8rem 0}
input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.4rem}
button{font:inherit;padding:.4rem 1rem}
code{overflow-wrap:anywhere}
.error{border-left:4px solid #c33;padding-left:.8rem}
`;

/** Markup of a page; all tags in it were written by this server. */
class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Puts values into markup; values that are strings are escaped. */
function htmlMarkup(parts: TemplateStringsArray, ...values: readonly (string | Markup)[]): Markup {
  const escapedValues = values.map((value) =>
    value instanceof Markup ? value.text : escapeHtml(value),
  );
  return new Markup(parts.map((part, i) => part + (escapedValues[i] ?? '')).join(''));
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

const noMarkup = new Markup('');

/** A page on which a user signs in or consents, or which shows a message. */
export interface AuthorizationPage {
  readonly title: string;
  readonly body: Markup;
  readonly status?: number;
  /** The source in the content security policy, besides this server, to which a form of the page may lead: a host or a scheme. */
  readonly formTarget?: string;
}

/** Returns a hidden form field whose value proves that the form comes from a page that the server sent to the same browser. */
const csrfField = (token: string): Markup =>
  htmlMarkup`<input type="hidden" name="csrf_token" value="${token}" />`;

/** Returns the page that asks for email address and password. */
export function signInPage(csrfToken: string, message?: string): AuthorizationPage {
  return {
    title: 'Sign in',
    status: message === undefined ? 200 : 400,
    body: htmlMarkup`${message === undefined ? noMarkup : htmlMarkup`<p class="error">${message}</p>`}
      <form method="post">
        ${csrfField(csrfToken)}
        <label>Email address <input name="email" type="email" autocomplete="username" required /></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
        <button name="action" value="sign_in">Sign in</button>
      </form>
      <p>Without a password: whoever runs the server gets a link for you with
        <code>strandlake user login-link</code>. Open it in this browser, then load this page again.</p>`, // prettier-ignore
  };
}

/** The contents of the consent page. */
interface ConsentPageContent {
  readonly request: AuthorizationRequest;
  /** The user who registered the application. */
  readonly owner: string;
  readonly email: string;
  /** The path of the operation that lists the user's tokens. */
  readonly tokensPath: string;
}

/** Returns the page on which a user grants or refuses an application access. */
export function consentPage(
  csrfToken: string,
  { request, owner, email, tokensPath }: ConsentPageContent,
): AuthorizationPage {
  const { application, redirectUri, scope } = request;
  const access = scope === 'read' ? 'read' : 'read, change and delete';
  return {
    title: `Authorize ${application.name}`,
    formTarget: cspSourceOf(redirectUri),
    body: htmlMarkup`<p><b>${application.name}</b>, registered by ${owner}, asks to <b>${access}</b> what you,
        <b>${email}</b>, have access to. The answer goes to <code>${redirectUri}</code>.</p>
      ${application.description === null ? noMarkup : htmlMarkup`<p>${application.description}</p>`}
      <form method="post">
        ${csrfField(csrfToken)}
        <button name="action" value="allow">Allow</button>
        <button name="action" value="deny">Deny</button>
        <button name="action" value="sign_out">Sign in as somebody else</button>
      </form>
      <p>You can take it back at any time: the access is among your tokens, at <code>${tokensPath}</code>.</p>`, // prettier-ignore
  };
}

/**
 * Returns the page to which a sign-in link leads. The link is used up only when the user presses the button, because programs that preview
 * links load the page.
 */
export function linkPage(csrfToken: string, email: string): AuthorizationPage {
  return {
    title: 'Sign in',
    body: htmlMarkup`<form method="post">
      ${csrfField(csrfToken)}
      <button name="action" value="sign_in">Sign in as ${email}</button>
    </form>`,
  };
}

/** Returns a page with a message, perhaps with a link back to the application. */
export function messagePage(
  title: string,
  message: string,
  options: { readonly status?: number; readonly returnTo?: string | null } = {},
): AuthorizationPage {
  const { status = 200, returnTo = null } = options;
  const backLink = returnTo === null ? noMarkup : htmlMarkup`<p><a href="${returnTo}" rel="noreferrer">Go back to the application</a>, at <code>${returnTo.split('?')[0] ?? ''}</code></p>`; // prettier-ignore
  return {
    title,
    status,
    body: htmlMarkup`<p>${message}</p>
      ${backLink}`,
  };
}

/**
 * Sends a page with a policy that allows only its own style and forms: no script, no framing (RFC 9700, section 4.16). Browsers also apply
 * `form-action` to the address to which the answer of a form redirects.
 */
export function sendPage(reply: ApiReply, page: AuthorizationPage): string {
  const { title, body, status = 200, formTarget } = page;
  reply.code(status);
  reply.header('Content-Type', 'text/html; charset=utf-8');
  reply.header(
    'Content-Security-Policy',
    contentSecurityPolicy({
      style,
      formAction: `'self'${formTarget === undefined ? '' : ` ${formTarget}`}`,
    }),
  );
  reply.header('X-Frame-Options', 'DENY');
  return `${pageHead(`${escapeHtml(title)}: Strandlake`)}<style>${style}</style>
<h1>${escapeHtml(title)}</h1>
${body.text}
</html>
`;
}

/**
 * Returns the source of a redirection URI for the content security policy: scheme, host and port, or only the scheme if the URI has no
 * host or the policy cannot name it.
 */
function cspSourceOf(uri: string): string {
  const [, scheme = '', authority = ''] = /^([^:]+):(?:\/\/([^/?#]*))?/.exec(uri) ?? [];
  return authority === '' || authority.startsWith('[') ? `${scheme}:` : `${scheme}://${authority}`;
}

import { Controller, Header, Redirect, Req, Res } from '@nestjs/common';
import { Public } from '../../http/access-rule.js';
import { Authenticator } from '../../http/authenticator.js';
import { docsPage, docsPageCsp } from '../../http/docs-page.js';
import { invitationPage, invitationPageCsp } from '../../http/invitation-page.js';
import { OpenapiDocument } from '../../http/openapi.js';
import { Operation } from '../../http/operation.js';
import { rootOperations, serviceOperations } from './service.operations.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import { contentSecurityPolicy, pageHead } from '../../http/page-policy.js';

/** The service itself: credentials, health and the description of the interface. */
@Controller()
export class ServiceController {
  constructor(
    private readonly context: AppContext,
    private readonly document: OpenapiDocument,
    private readonly authenticator: Authenticator,
  ) {}

  @Operation(rootOperations.head)
  @Public()
  head(): object {
    return {};
  }

  @Operation(rootOperations.get)
  @Public()
  async get(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object | string> {
    reply.header('Vary', 'Accept');
    if (prefersHtml(request.headers.accept)) {
      reply.header('Content-Type', 'text/html; charset=utf-8');
      reply.header('Content-Security-Policy', startSecurityPolicy);
      return startPage(request.pathPrefix);
    }
    const { user } = await this.authenticator.authenticate(request);
    return { detail: `The credentials are valid: ${user.email}.` };
  }

  @Operation(serviceOperations.health)
  @Public()
  health(): object {
    const { workerPid } = this.context.scheduler.status();
    return workerPid === null
      ? { status: 'degraded', detail: 'The worker process is not running; tasks wait.' }
      : { status: 'ok', detail: 'The server can work.' };
  }

  @Operation(serviceOperations.openapi)
  @Public()
  openapi(@Req() { origin }: ApiRequest): object {
    return { ...this.document.json, servers: [{ url: origin }] };
  }

  @Operation(serviceOperations.docs)
  @Public()
  @Header('Content-Type', 'text/html; charset=utf-8')
  docs(@Res({ passthrough: true }) reply: ApiReply): string {
    reply.header('Content-Security-Policy', docsPageCsp);
    return docsPage;
  }

  @Operation(serviceOperations.join)
  @Public()
  @Header('Content-Type', 'text/html; charset=utf-8')
  join(@Res({ passthrough: true }) reply: ApiReply): string {
    reply.header('Content-Security-Policy', invitationPageCsp);
    return invitationPage;
  }

  @Operation(serviceOperations.swagger)
  @Public()
  @Redirect('docs', 302) // relative to the request's address, which may be below a path prefix
  swagger(): void {}
}

const style = `
:root{color-scheme:light dark;font:16px/1.6 system-ui,sans-serif}
body{max-width:44rem;margin:3rem auto;padding:0 1rem}
code,pre{font:14px/1.5 ui-monospace,monospace}
pre{background:#8882;padding:.7rem;border-radius:6px;overflow:auto}
`;

/**
 * Returns the page at the root for browsers: it says what the server is, where its description is, and how to get a token. `prefix`
 * precedes all paths.
 */
const startPage = (prefix: string): string => `${pageHead('Strandlake')}<style>${style}</style>
<h1>Strandlake</h1>
<p>This is a Strandlake server: a genomic data platform that imports variant files into typed datasets, answers filters, facets
and coordinate queries on them, and keeps every version. It is used by programs, over HTTP.</p>
<h2>Try it</h2>
<p><a href="${prefix}/docs">Every operation, with examples that can be sent from the browser</a>; the same for programs is
<a href="${prefix}/openapi.json">openapi.json</a>. <a href="${prefix}/health">Health</a> says whether the server can work.</p>
<h2>Get a token</h2>
<p>Every request carries a token. The first start of the server printed one. Whoever runs the server makes more with</p>
<pre>npm run strandlake -- token add owner@localhost
npm run strandlake -- user add ann@example.org</pre>
<p>Send it as a header: <code>Authorization: Bearer &lt;token&gt;</code>. A request to this address then tells whose it is.</p>
</html>
`;

/** The content security policy of the start page. */
const startSecurityPolicy = contentSecurityPolicy({ style });

/** Returns whether a request comes from the address bar of a browser, which names HTML in `Accept`; programs accept JSON or anything. */
function prefersHtml(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((range) => /^\s*text\/html\s*(;|$)/i.test(range));
}

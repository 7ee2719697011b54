import { Controller, Header, Redirect, Req, Res } from '@nestjs/common';
import { Public } from '../../http/access.js';
import { Authenticator } from '../../http/authenticator.js';
import { docsPage, docsPolicy } from '../../http/docs-page.js';
import { joinPage, joinPolicy } from '../../http/join-page.js';
import { OpenapiDocument } from '../../http/openapi.js';
import { Operation } from '../../http/operation.js';
import { rootOperations, serviceOperations } from './service.operations.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/request.js';
import { startPage, startPolicy, wantsPage } from '../../http/start-page.js';

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
    if (wantsPage(request.headers.accept)) {
      reply.header('Content-Type', 'text/html; charset=utf-8');
      reply.header('Content-Security-Policy', startPolicy);
      return startPage(request.pathPrefix);
    }
    const { user } = await this.authenticator.admit(request);
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
    reply.header('Content-Security-Policy', docsPolicy);
    return docsPage;
  }

  @Operation(serviceOperations.join)
  @Public()
  @Header('Content-Type', 'text/html; charset=utf-8')
  join(@Res({ passthrough: true }) reply: ApiReply): string {
    reply.header('Content-Security-Policy', joinPolicy);
    return joinPage;
  }

  @Operation(serviceOperations.swagger)
  @Public()
  @Redirect('docs', 302) // relative to this address, which may be below a path prefix
  swagger(): void {}
}

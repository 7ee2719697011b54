import { Controller, Header, Redirect, Res } from '@nestjs/common';
import { Access, Public, CurrentCaller } from '../../http/access.js';
import { docsPage, docsPolicy } from '../../http/docs-page.js';
import { openapiDocument } from '../../http/openapi.js';
import { Operation } from '../../http/operation.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, Caller } from '../../http/request.js';

/** The service itself: credentials, health and the description of the interface. */
@Controller()
export class RootController {
  constructor(private readonly context: AppContext) {}

  @Operation('root.head')
  @Public()
  head(): object {
    return {};
  }

  @Operation('root.get')
  @Access('read')
  get(@CurrentCaller() caller: Caller): object {
    return { detail: `The credentials are valid: ${caller.user.email}.` };
  }

  @Operation('health')
  @Public()
  health(): object {
    const { workerPid } = this.context.scheduler.status();
    return workerPid === null
      ? { status: 'degraded', detail: 'The worker process is not running; tasks wait.' }
      : { status: 'ok', detail: 'The server can work.' };
  }

  @Operation('openapi')
  @Public()
  openapi(): object {
    return openapiDocument();
  }

  @Operation('docs')
  @Public()
  @Header('Content-Type', 'text/html; charset=utf-8')
  docs(@Res({ passthrough: true }) reply: ApiReply): string {
    reply.header('Content-Security-Policy', docsPolicy);
    return docsPage;
  }

  @Operation('swagger')
  @Public()
  @Redirect('/docs', 302)
  swagger(): void {}
}

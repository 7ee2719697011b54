import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { ErrorCode } from '../../engine/core/errors.js';
import { notImplementedMessage } from './unserved.js';
import { formatLogLine, withoutSecrets, type LogSink } from '../../engine/core/server-log.js';
import type { ApiReply, ApiRequest } from './api-request.js';

/** The HTTP status of every error code. Never 502 to 504, because clients repeat those requests (contract 2.3). */
const httpStatusByCode: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  input: 400,
  budget: 400,
  canceled: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  conflict: 409,
  'too-large': 413,
  'unsupported-media': 415,
  range: 416,
  'reused-key': 422,
  'rate-limited': 429,
  damaged: 500,
  'no-space': 507,
  internal: 500,
};

const diskFullMessage = 'No space left on the disk of the server; nothing was changed.';

/** The answer to an error; always an object (contract 2.2). */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether the server is at fault; such errors are logged with their stack. */
  readonly isServerFault: boolean;
}

/**
 * Turns anything thrown into an answer. If the error is neither an `AppError` nor one of the framework or of a broken connection, the
 * answer has the status 500 and reveals nothing about the error.
 */
export function errorAnswerOf(error: unknown): ErrorAnswer {
  const code = (error as { code?: unknown } | null)?.code;
  if (isAppError(error)) {
    const status = httpStatusByCode[error.code];
    // The client learns that the disk is full; the path and the cause are logged.
    if (error.code === 'no-space')
      return { status, body: { detail: diskFullMessage }, isServerFault: true };
    if (status >= 500)
      return { status, body: { detail: 'Internal server error' }, isServerFault: true };
    return { status, body: error.fields ?? { detail: error.message }, isServerFault: false };
  }
  if (error instanceof HttpException) {
    return frameworkErrorAnswer(error.getStatus(), error.message);
  }
  // The client disconnected while sending its body: nobody reads the answer, and the server is not at fault.
  if (code === 'ECONNRESET') return frameworkErrorAnswer(400, 'the request broke off');
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  if (typeof code === 'string' && code.startsWith('FST_') && typeof status === 'number') {
    return frameworkErrorAnswer(status, (error as Error).message);
  }
  return { status: 500, body: { detail: 'Internal server error' }, isServerFault: true };
}

interface AppErrorLike {
  readonly code: ErrorCode;
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Whether an error is an `AppError`. Its properties are tested, not its class: errors of another realm or process lose their class. */
function isAppError(error: unknown): error is AppErrorLike {
  const errorFields = error as { name?: unknown; code?: unknown; message?: unknown } | null;
  return (
    typeof errorFields?.message === 'string' &&
    typeof errorFields.code === 'string' &&
    Object.hasOwn(httpStatusByCode, errorFields.code)
  );
}

function frameworkErrorAnswer(status: number, message: string): ErrorAnswer {
  if (status === 404 || status === 414) {
    return { status: 404, body: { detail: 'Not found' }, isServerFault: false };
  }
  if (status < 400 || status >= 500) {
    return { status: 500, body: { detail: 'Internal server error' }, isServerFault: true };
  }
  return { status, body: { detail: message }, isServerFault: false };
}

/** Answers every error of every handler, guard and parser. */
@Catch()
export class ErrorsFilter implements ExceptionFilter {
  constructor(
    private readonly log: LogSink,
    /** Returns the HTTP methods of a path, for the answer 405. */
    private readonly methodsOf: (path: string) => readonly string[],
    /**
     * Returns the body of an error answer for paths that use another form, decided by the URL of the request; undefined for the usual form.
     */
    private readonly otherBody: (
      answer: ErrorAnswer,
      origin: string,
      url: string,
    ) => object | undefined = () => undefined,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<ApiRequest>();
    const reply = host.switchToHttp().getResponse<ApiReply>();
    const answer = this.missingRouteAnswer(error, request, reply) ?? errorAnswerOf(error);
    if (answer.isServerFault) this.log(errorLogLine(error, request));
    if (reply.sent || reply.raw.headersSent) {
      // part of an answer has been sent: abort the connection, so that the client does not take the answer for complete
      reply.raw.destroy();
      return;
    }
    const retryAfter = (error as { retryAfter?: unknown } | null)?.retryAfter;
    if (answer.status === 429) reply.header('Retry-After', String(retryAfter ?? 60));
    if (answer.status === 401 && !reply.hasHeader('WWW-Authenticate')) {
      reply.header('WWW-Authenticate', 'Bearer realm="api"');
    }
    reply.removeHeader('Content-Disposition');
    reply.removeHeader('Content-Length');
    reply.code(answer.status).header('Content-Type', 'application/json');
    const body = this.otherBody(answer, request.origin, request.url) ?? answer.body;
    void reply.send(Buffer.from(JSON.stringify(body)));
  }

  /** Returns the answer 404, 405 or 501 to a request for which there is no route; undefined for other errors. */
  private missingRouteAnswer(
    error: unknown,
    request: ApiRequest,
    reply: ApiReply,
  ): ErrorAnswer | undefined {
    if (!request.is404 || !(error instanceof HttpException)) return undefined;
    const path = request.url.split('?', 1)[0] ?? '';
    const unservedMessage = notImplementedMessage(request.method, path);
    if (unservedMessage !== undefined)
      return { status: 501, body: { detail: unservedMessage }, isServerFault: false };
    const methods = this.methodsOf(path);
    if (methods.length === 0)
      return {
        status: 404,
        body: { detail: unknownPathMessage(request.method, path) },
        isServerFault: false,
      };
    reply.header('Allow', methods.join(', '));
    const detail = `Method "${request.method}" not allowed.`;
    return { status: 405, body: { detail }, isServerFault: false };
  }
}

/**
 * Returns the message for an unknown path. It begins differently from the message for an unknown id, because clients recognise an unknown
 * id by the first words of its message (contract 2.2).
 */
function unknownPathMessage(method: string, path: string): string {
  const shortPath = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return `Not found: this server has no operation ${method} ${shortPath}; /docs lists them.`;
}

/** Returns the log line for an error that is the server's fault. */
export function errorLogLine(error: unknown, request: ApiRequest): string {
  const knownError = error instanceof Error ? error : new Error(String(error));
  const cause = knownError.cause instanceof Error ? knownError.cause.stack : undefined;
  return formatLogLine('error', {
    request: request.id,
    method: request.method,
    url: withoutSecrets(request.url),
    error: knownError.stack ?? knownError.message,
    ...(cause !== undefined && { cause }),
  });
}

import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { stringifyJson } from '../engine/json.js';
import type { ApiReply } from './request.js';

/** An answer that is JSON text already: the page of a query, put together without parsing it. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Writes every answer as JSON with exactly `application/json`: a charset after it breaks one client (contract 1.3).
 * Handlers that set another type themselves return bytes or a stream, which pass through.
 */
@Injectable()
export class ReplyInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<ApiReply>();
    return next.handle().pipe(map((value: unknown) => this.body(value, reply)));
  }

  private body(value: unknown, reply: ApiReply): unknown {
    if (reply.hasHeader('Content-Type')) return value;
    reply.header('Content-Type', 'application/json');
    const text =
      value instanceof JsonText ? value.text : stringifyJson(value, { nonFinite: 'null' });
    return Buffer.from(text); // to a text Fastify would add a charset
  }
}

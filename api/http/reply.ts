import { FastifyAdapter } from '@nestjs/platform-fastify';
import { stringifyJson } from '../../engine/core/json.js';
import type { ApiReply } from './request.js';

/** An answer that is already JSON text: the page of a query, assembled without parsing it. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** The formats of pages of records other than JSON. */
const compressedTypes = /^(?:text\/csv|application\/(?:x-ndjson|vnd\.apache\.arrow\.stream))$/;

/**
 * Writes every answer as JSON with exactly `application/json`: a charset after it breaks one client (contract 1.3).
 * Handlers that set another type themselves return bytes or a stream, which pass through. JSON and pages of records are compressed on
 * request. (An interceptor can do the same, but Nest wraps every request in four observables as soon as there is one: a tenth of a
 * small query's time.)
 */
export class JsonAdapter extends FastifyAdapter {
  override reply(reply: ApiReply, value: unknown, status?: number): ApiReply {
    if (reply.hasHeader('Content-Type')) {
      const type = String(reply.getHeader('Content-Type'));
      const isPage = Buffer.isBuffer(value) && compressedTypes.test(type);
      if (!isPage) return super.reply(reply, value, status);
      reply.compress(value);
      return reply;
    }
    if (status !== undefined) reply.code(status);
    reply.header('Content-Type', 'application/json');
    const text =
      value instanceof JsonText ? value.text : stringifyJson(value, { nonFinite: 'null' });
    reply.compress(Buffer.from(text)); // Fastify would add a charset to a string
    return reply;
  }
}

import { Readable } from 'node:stream';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { stringifyJson } from '../../engine/core/json.js';
import { errorAnswerOf, errorLogLine } from './errors.filter.js';
import type { LogSink } from '../../engine/core/server-log.js';
import { isLocal } from './forwarded.js';
import type { ApiReply, ApiRequest } from './api-request.js';

/** An answer that is already JSON text, for example the page of a query, assembled without parsing it. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * An answer whose bytes are produced while they are sent. If producing them fails, the connection is closed before the end of the answer.
 */
export class ByteStream {
  readonly byteChunks: AsyncIterable<Uint8Array>;
  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.byteChunks = pieces;
  }
}

/** The media types of the answers in bytes that are compressed: pages of records other than JSON. */
const compressedTypePattern =
  /^(?:text\/csv|application\/(?:x-ndjson|vnd\.apache\.arrow\.stream))$/;

/**
 * Writes every answer as JSON with exactly `application/json`, because a charset after it breaks one client (contract 1.3), unless the
 * handler sets a content type: then it returns the content itself. JSON, pages of records and each `ByteStream` are compressed on request.
 * (A Nest interceptor could do the same, but with one, Nest wraps every request in four observables, which takes a tenth of the time of a
 * small query.)
 */
export class ReplyAdapter extends FastifyAdapter {
  /** Whether answers to clients on the same machine are compressed, too. */
  compressesLoopback = false;
  /** Receives a log line about each answer that a fault of the server interrupts while it is streamed. */
  log: LogSink = () => undefined;

  override reply(reply: ApiReply, value: unknown, status?: number): ApiReply {
    if (reply.hasHeader('Content-Type')) {
      const type = String(reply.getHeader('Content-Type'));
      if (value instanceof ByteStream) return this.#send(reply, value);
      const isPage = Buffer.isBuffer(value) && compressedTypePattern.test(type);
      if (!isPage) return super.reply(reply, value, status);
      return this.#send(reply, value);
    }
    if (status !== undefined) reply.code(status);
    reply.header('Content-Type', 'application/json');
    if (value instanceof ByteStream) return this.#send(reply, value);
    const text =
      value instanceof JsonText ? value.text : stringifyJson(value, { nonFinite: 'null' });
    return this.#send(reply, new JsonText(text));
  }

  /**
   * Choice: answers to clients on the same machine are not compressed, unless they come through a proxy, although most clients accept it.
   * Without a network, gzip makes a page of 100 records take half as long again.
   */
  #send(reply: ApiReply, answer: Buffer | ByteStream | JsonText): ApiReply {
    const isPlain = isLocal(reply.request.raw) && !this.compressesLoopback;
    // Node writes a string together with the headers, in one write. Fastify adds a charset to a string unless a serializer made it.
    if (answer instanceof JsonText && isPlain)
      return reply.serializer(jsonTextOfAnswer).send(answer);
    const bytes =
      answer instanceof ByteStream
        ? this.#open(reply, answer)
        : answer instanceof JsonText
          ? Buffer.from(answer.text)
          : answer;
    if (isPlain) return reply.send(bytes);
    reply.compress(bytes);
    return reply;
  }

  #open(reply: ApiReply, { byteChunks }: ByteStream): Readable {
    const stream = Readable.from(byteChunks, { objectMode: false });
    stream.on('error', (error) => {
      // It is not the server's fault if the client has disconnected.
      const isFault = !reply.raw.destroyed && errorAnswerOf(error).isServerFault;
      if (isFault) this.log(errorLogLine(error, reply.request as ApiRequest));
    });
    return stream;
  }
}

function jsonTextOfAnswer(answer: unknown): string {
  return (answer as JsonText).text;
}

import { randomUUID } from 'node:crypto';
import { constants } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { createAddressReader, withoutPrefix, type AddressOptions, type RequestAddress } from './base-address.js'; // prettier-ignore
import { installBodyParsers, uploadPrefix } from './body-parsers.js';
import { formatLogLine, withoutSecrets, type LogSink } from '../../engine/core/server-log.js';
import type { ServerLimits } from './app-context.js';
import { userIdOfInternalRequest } from './internal-requests.js';
import { ReplyAdapter } from './reply.js';
import type { ApiRequest } from './api-request.js';

/** Options of the HTTP server. */
interface ServerOptions extends AddressOptions {
  readonly limits: ServerLimits;
  readonly log: LogSink;
  /**
   * Authenticates a request with a body before the body is read, and returns the caller if there is one. Rejects if the request is to be
   * refused.
   */
  readonly admit: (request: ApiRequest) => Promise<unknown>;
  readonly logsRequests: boolean;
  /** Called after each request of a client. */
  readonly observe: (request: FastifyRequest, reply: FastifyReply) => void;
}

/**
 * Returns the Fastify adapter of Nest, without middleware support: the path matching of middleware has been bypassed in the past (threat
 * W3).
 */
export function createAdapter(options: ServerOptions): ReplyAdapter {
  const { limits } = options;
  const addressOf = createCachedAddressReader(options);
  const adapter = new ReplyAdapter({
    skipMiddie: true,
    bodyLimit: Number.MAX_SAFE_INTEGER, // body-parsers.ts limits JSON bodies; the announced size, if any, limits uploads
    genReqId: () => randomUUID(),
    // Clients write these paths with and without a final slash (contract 18; Beacon v2). Nest removes the slash from the paths of routes,
    // so it is removed from requests as well.
    rewriteUrl: (request: IncomingMessage) =>
      withoutPrefix(request.url ?? '/', addressOf(request).prefix).replace(
        /^(\/authorize|\/beacon\/v2\/[^/?]+)\/(?=$|\?)/,
        '$1',
      ),
    // Node's timer would also end long uploads: see `limitRequestTime`.
    requestTimeout: 0,
    connectionTimeout: limits.requestMs,
    keepAliveTimeout: 72_000,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 16_384 },
    http: {
      maxHeaderSize: 16 << 10,
      headersTimeout: limits.headersMs,
      // Node's default interval of 30 s is longer than `headersMs`.
      connectionsCheckingInterval: Math.max(100, Math.floor(limits.headersMs / 5)),
    },
    frameworkErrors: (_error: unknown, _request: unknown, reply: FastifyReply) => {
      // The router could not decode the URL, so no resource can have it.
      reply.code(404).header('Content-Type', 'application/json');
      void reply.send(Buffer.from('{"detail":"Not found"}'));
    },
    clientErrorHandler: answerMalformedRequest,
  });
  adapter.compressesLoopback = limits.compressesLoopback;
  adapter.log = options.log;
  const fastify = adapter.getInstance<FastifyInstance>();
  installHooks(fastify, options, addressOf);
  installBodyParsers(fastify, (request) => options.admit(request as ApiRequest));
  limitConnections(fastify.server, limits.connectionsPerAddress);
  return adapter;
}

/** Minimum size in bytes of an answer that is compressed; the answer to the lookup of one record is smaller. */
const minCompressedBytes = 4096;

/**
 * Lets replies be compressed as the client's `Accept-Encoding` wishes (RFC 9110, section 12.5.3). The levels of gzip, deflate and Brotli
 * are low, because a higher one takes more time than it saves on the network.
 */
export async function installCompression(fastify: FastifyInstance): Promise<void> {
  await fastify.register(fastifyCompress, {
    // A hook for all answers would also compress downloads (threat D9).
    globalCompression: false,
    // Bodies of requests are not decompressed: a few bytes could become gigabytes (threat W1).
    globalDecompression: false,
    encodings: ['zstd', 'br', 'gzip', 'deflate'],
    threshold: minCompressedBytes,
    customTypes: /./,
    zlibOptions: { level: constants.Z_BEST_SPEED },
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } },
  });
}

/**
 * Returns a function that computes the address of each request only once. A map remembers it, because the path is rewritten before Fastify
 * creates its request object.
 */
function createCachedAddressReader(
  options: AddressOptions,
): (raw: IncomingMessage) => RequestAddress {
  const readAddress = createAddressReader(options);
  const addressCache = new WeakMap<IncomingMessage, RequestAddress>();
  return (raw) => {
    const address = addressCache.get(raw) ?? readAddress(raw);
    addressCache.set(raw, address);
    return address;
  };
}

function installHooks(
  fastify: FastifyInstance,
  options: ServerOptions,
  addressOf: (raw: IncomingMessage) => RequestAddress,
): void {
  fastify.decorateRequest('origin', '');
  fastify.decorateRequest('pathPrefix', '');
  fastify.decorateRequest('clientAddress', '');
  fastify.addHook('onRequest', (request, reply, done) => {
    const { base, prefix, client } = addressOf(request.raw);
    Object.assign(request, { origin: base, pathPrefix: prefix, clientAddress: client });
    limitRequestTime(request, options.limits);
    for (const [name, value] of responseHeaders) reply.header(name, value);
    reply.header('X-Request-Id', request.id); // the id of the request in the log
    if (request.method !== 'OPTIONS') return done();
    for (const [name, value] of preflightHeaders) reply.header(name, value);
    reply.code(204).send();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    if (userIdOfInternalRequest(request.raw) === undefined) options.observe(request, reply);
    done();
  });
  if (!options.logsRequests) return;
  fastify.addHook('onResponse', (request, reply, done) => {
    const { caller, clientAddress } = request as ApiRequest;
    if (userIdOfInternalRequest(request.raw) !== undefined) return done();
    options.log(
      formatLogLine('request', {
        request: request.id,
        address: clientAddress,
        method: request.method,
        url: withoutSecrets(request.url),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        ...(caller && { user: caller.user.id }),
        agent: request.headers['user-agent'],
      }),
    );
    done();
  });
}

/**
 * Headers of every answer, except those to refused connections and to requests that the parser or the router cannot read: no credentials
 * across origins, no MIME sniffing, no caching, no referrer (threats A8, A13, D9). A handler may replace them.
 */
const responseHeaders: readonly (readonly [string, string])[] = [
  ['Access-Control-Allow-Origin', '*'],
  [
    'Access-Control-Expose-Headers',
    'ETag, Location, Retry-After, Content-Disposition, Idempotent-Replayed, Ignored-Keys, Preference-Applied, X-Total, X-Next-Offset, X-Next-Cursor, X-As-Of-Version, X-As-Of-Commit',
  ],
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; sandbox"],
  ['Cross-Origin-Resource-Policy', 'cross-origin'],
  ['Referrer-Policy', 'no-referrer'],
  ['X-Content-Type-Options', 'nosniff'],
];
const preflightHeaders: readonly (readonly [string, string])[] = [
  ['Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
  [
    'Access-Control-Allow-Headers',
    'Authorization, Content-Type, Content-MD5, Range, Idempotency-Key, Prefer',
  ],
  ['Access-Control-Max-Age', '86400'],
];

/** Closes the connection of a request that is not received within `requestMs`, or of an upload that pauses for `idleMs` (threat W2). */
function limitRequestTime(request: FastifyRequest, limits: ServerLimits): void {
  const { raw } = request;
  if (raw.method === 'PUT' && (raw.url ?? '').startsWith(uploadPrefix)) {
    const { socket } = raw; // on close, `raw.socket` is null if the client has disconnected
    socket.setTimeout(limits.idleMs);
    raw.once('close', () => socket.setTimeout(limits.requestMs));
    return;
  }
  if (raw.complete) return;
  const timer = setTimeout(() => {
    if (!raw.complete) raw.socket.destroy();
  }, limits.requestMs);
  timer.unref();
  raw.once('close', () => clearTimeout(timer));
}

/**
 * Answers connections of an address beyond its limit with 503 and closes them (threat W2); while as many answers are pending as connections
 * are allowed, it closes further ones without an answer. The HTTP parser does not get them, so that none of their requests is carried out.
 */
function limitConnections(server: Server, maxConnections: number): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const openCounts = new Map<string, number>();
  const refusedCounts = new Map<string, number>();
  const detail =
    `Too many connections: ${maxConnections} are open from this address, and it may have no more ` +
    '(--connections-per-address). Use those again, or close them first.';
  server.on('connection', (socket: Socket) => {
    if (tryCountConnection(openCounts, socket, maxConnections))
      for (const listener of listeners) listener.call(server, socket);
    else if (tryCountConnection(refusedCounts, socket, maxConnections))
      refuseConnection(socket, detail);
    else socket.destroy();
  });
}

/**
 * Counts a socket among those of its address until it is closed; returns false, without counting it, if the address has `maxConnections`
 * sockets already.
 */
function tryCountConnection(
  counts: Map<string, number>,
  socket: Socket,
  maxConnections: number,
): boolean {
  const address = socket.remoteAddress ?? '';
  const count = counts.get(address) ?? 0;
  if (count >= maxConnections) return false;
  counts.set(address, count + 1);
  socket.once('close', () => {
    const remainingCount = counts.get(address)! - 1;
    if (remainingCount > 0) counts.set(address, remainingCount);
    else counts.delete(address);
  });
  return true;
}

/** How long a refused client has to read the answer. */
const refusalTimeoutMs = 1_000;

/**
 * Answers a refused connection and closes it when the client has closed its side, or after `refusalTimeoutMs`: closing a socket with unread
 * bytes resets the connection, and the answer would be lost.
 */
function refuseConnection(socket: Socket, detail: string): void {
  const close = (): void => void socket.destroy();
  const timer = setTimeout(close, refusalTimeoutMs);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', close).on('end', close).resume();
  endWithError(socket, '503 Service Unavailable', detail);
}

/**
 * Answers a request that Node's HTTP parser rejects (request smuggling, headers above 16 kB, slow headers, no HTTP) and closes the
 * connection.
 */
function answerMalformedRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, detail] = parserErrors.get(error.code ?? '') ?? ['400 Bad Request', 'malformed'];
  endWithError(socket, status, `the request is ${detail}`);
}

/** Writes an error answer directly to the socket, without Node's HTTP parser, and closes the server's side of the connection. */
function endWithError(socket: Socket, status: string, detail: string): void {
  const body = JSON.stringify({ detail });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const parserErrors = new Map<string, readonly [string, string]>([
  ['HPE_HEADER_OVERFLOW', ['431 Request Header Fields Too Large', 'too large in its headers']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'too slow']],
]);

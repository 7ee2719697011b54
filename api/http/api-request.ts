import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../engine/catalog/access.js';
import type { ReadMark } from '../../engine/catalog/database.js';

/** Who sends a request: the user, the account and what the token allows. */
export type Caller = Principal;

/**
 * A request, with what the server determines before the handler runs: the caller, the resource, the base address of links, and the IP
 * address of the client.
 */
export interface ApiRequest extends FastifyRequest {
  caller?: Caller;
  /** The version of the catalogue that the caller was read from. */
  readMark?: ReadMark;
  /** The row that the id of the path names, after the access check. */
  resource?: unknown;
  /** The public base address that links in the answer start with, perhaps with a path prefix. */
  origin: string;
  /** The path prefix in `origin`; empty without one. */
  pathPrefix: string;
  /** The IP address of the client as a trusted proxy reports it; without such a proxy, the address of the peer. */
  clientAddress: string;
}

/** An answer of Fastify that a handler may change. */
export type ApiReply = FastifyReply;

/**
 * Returns a signal that aborts when the client disconnects, so that work for it stops (threats W6, Q9). It also aborts when the answer has
 * been sent, which ends the reading of records that an error has left unsent.
 */
export function connectionClosedSignal(request: ApiRequest, reply: ApiReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort(connectionClosed));
  if (request.raw.socket.destroyed) controller.abort(connectionClosed);
  return controller.signal;
}

/** The reason with which the signals abort. All share one error, because recording a stack trace takes longer than aborting a signal. */
const connectionClosed = new DOMException('The connection was closed', 'AbortError');

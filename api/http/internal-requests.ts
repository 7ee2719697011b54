import type { IncomingMessage, Server } from 'node:http';
import { duplexPair } from 'node:stream';

/*
 * Requests that the server sends to itself when it starts, so that the code for requests is compiled. They are handled like all other
 * requests, but arrive on a connection in memory, by which the server recognises them: they need no token that could leak, do not count
 * towards any rate limit, and are neither logged nor measured.
 */

/**
 * For each connection in memory on which the server sends requests to itself, the user in whose name it sends them; the key is the end of
 * the connection that receives the requests.
 */
const userIdBySocket = new WeakMap<object, number>();

/** Returns the user in whose name the server sends a request to itself; undefined if a client sends it. */
export function userIdOfInternalRequest({ socket }: IncomingMessage): number | undefined {
  return userIdBySocket.get(socket);
}

/** Sends a request with a JSON body in the name of a user; resolves to the answer with its head when it is complete. */
export async function postToSelf(
  server: Server,
  userId: number,
  path: string,
  body: object,
): Promise<string> {
  const [client, socket] = duplexPair();
  userIdBySocket.set(socket, userId);
  server.emit('connection', Object.assign(socket, { remoteAddress: '127.0.0.1' }));
  const text = JSON.stringify(body);
  client.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  const pieces: Buffer[] = [];
  for await (const piece of client) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

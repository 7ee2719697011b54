import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Status and body of an HTTP response. The body is decoded when it is read, so that the time until the last byte does not include it. */
export interface HttpReply {
  readonly status: number;
  readonly text: string;
}

/** A pool of persistent connections to one server. */
export interface HttpConnectionPool {
  post(path: string, body: string): Promise<HttpReply>;
  close(): void;
}

/**
 * Opens at most `count` connections; further requests wait for a free one. It supports only the HTTP/1.1 that Strandlake's answers need: a
 * status line, headers, and a body with a content-length or in chunks. A client library would take some tenths of a millisecond per request
 * from the same two processors, time that is not the server's and that the other databases, measured without a client, do not need.
 */
export function openConnections(origin: string, token: string, count: number): HttpConnectionPool {
  const { hostname, port } = new URL(origin);
  const freeConnections: Connection[] = [];
  const waitingRequests: ((connection: Connection) => void)[] = [];
  const allConnections: Connection[] = [];
  const acquire = (): Promise<Connection> | Connection => {
    for (let idle = freeConnections.pop(); idle !== undefined; idle = freeConnections.pop()) {
      if (!idle.isClosed) return idle;
      allConnections.splice(allConnections.indexOf(idle), 1); // the server closes connections that are idle for long
    }
    if (allConnections.length === count)
      return new Promise((resolve) => waitingRequests.push(resolve));
    const newConnection = new Connection(Number(port), hostname);
    allConnections.push(newConnection);
    return newConnection;
  };
  const head = `Host: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  return {
    async post(path, body) {
      const connection = await acquire();
      try {
        const length = Buffer.byteLength(body);
        return await connection.send(
          `POST ${path} HTTP/1.1\r\n${head}Content-Length: ${length}\r\n\r\n${body}`,
        );
      } finally {
        const next = waitingRequests.shift();
        if (next === undefined) freeConnections.push(connection);
        else next(connection);
      }
    },
    close: () => {
      for (const connection of allConnections) connection.close();
    },
  };
}

/** A connection, which carries one request at a time. */
class Connection {
  readonly #socket: Socket;
  readonly #connectEvent: Promise<unknown>;

  constructor(port: number, host: string) {
    this.#socket = connect(port, host).setNoDelay();
    this.#connectEvent = once(this.#socket, 'connect');
  }

  get isClosed(): boolean {
    return this.#socket.closed || this.#socket.readableEnded;
  }

  async send(text: string): Promise<HttpReply> {
    if (this.#socket.connecting) await this.#connectEvent;
    return new Promise((resolve, reject) => {
      const socket = this.#socket;
      const pieces: Buffer[] = [];
      let receivedLength = 0;
      let expectedLength = Infinity;
      let bodyStart = 0;
      let isChunked = false;
      const endRequest = (): void => {
        socket.off('data', hear).off('error', fail).off('close', onClose);
      };
      const fail = (error: Error): void => {
        endRequest();
        reject(error);
      };
      const onClose = (): void => fail(new Error('the server closed the connection'));
      const hear = (piece: Buffer): void => {
        pieces.push(piece);
        receivedLength += piece.length;
        if (bodyStart === 0) {
          const receivedBytes = Buffer.concat(pieces);
          const end = receivedBytes.indexOf('\r\n\r\n');
          if (end < 0) return;
          const headers = receivedBytes.toString('latin1', 0, end);
          const length = /\r\ncontent-length: (\d+)/i.exec(headers);
          isChunked = /\r\ntransfer-encoding: chunked/i.test(headers);
          if (length === null && !isChunked) return fail(new Error('an answer without a length'));
          bodyStart = end + 4;
          if (length !== null) expectedLength = bodyStart + Number(length[1]);
        }
        const tail = piece.length < 5 ? Buffer.concat(pieces.slice(-5)) : piece;
        if (isChunked ? !tail.subarray(-5).equals(lastChunk) : receivedLength < expectedLength)
          return;
        const receivedBytes = Buffer.concat(pieces);
        const bodies = isChunked
          ? parseChunkedBody(receivedBytes, bodyStart)
          : [receivedBytes.subarray(bodyStart)];
        if (bodies === undefined) return;
        endRequest();
        resolve({
          status: Number(receivedBytes.toString('latin1', 9, 12)),
          get text() {
            return Buffer.concat(bodies).toString();
          },
        });
      };
      socket.on('data', hear).on('error', fail).on('close', onClose);
      socket.write(text);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

const lastChunk = Buffer.from('0\r\n\r\n');

/** Returns the chunks of a body (RFC 9112, section 7.1); undefined if the last one has not arrived. */
function parseChunkedBody(bytes: Buffer, begin: number): readonly Buffer[] | undefined {
  const chunks: Buffer[] = [];
  for (let at = begin; at < bytes.length;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (size === 0) return chunks;
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return undefined;
}

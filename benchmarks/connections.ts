import { Agent, request } from 'node:http';

/** An answer's status and text. */
export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Connections to a server that are kept open, as a client in use keeps them. */
export interface Connections {
  post(path: string, body: string): Promise<Reply>;
  close(): void;
}

/** At most `count` of them; more requests than that wait for one. */
export function openConnections(origin: string, token: string, count: number): Connections {
  const agent = new Agent({ keepAlive: true, maxSockets: count, maxFreeSockets: count });
  return {
    post: (path, body) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        };
        const sent = request(origin + path, { method: 'POST', agent, headers }, (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(pieces).toString();
            resolve({ status: response.statusCode ?? 0, text });
          });
        });
        sent.on('error', reject);
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}

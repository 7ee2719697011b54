import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Body } from './body.js';
import { connectTo } from './connect.js';
import { passing } from './failure.js';
import type { FetchLimits } from './limits.js';
import { Line } from './line.js';
import type { Network } from './network.js';
import { Tally } from './tally.js';

/** What a host answered; `body` must be read within `use` of `get`. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as they are sent, without the framing; ends only when the body is whole. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** With what requests are made. */
export interface RequestContext {
  readonly network: Network;
  readonly limits: FetchLimits;
  readonly signal: AbortSignal;
}

/**
 * One GET over one new connection to an address that was checked. Node's own agents take no part: they would look names
 * up again, keep connections, and honour proxies of the environment.
 */
export async function get<T>(
  url: URL,
  address: string,
  headers: Readonly<Record<string, string>>,
  context: RequestContext,
  use: (answer: Answer) => Promise<T>,
): Promise<T> {
  const { network, limits, signal } = context;
  const line = new Line(signal);
  try {
    line.expect(limits.connectMs, 'no connection', 'fetchConnectMs');
    const socket = await connectTo(url, address, network, (one) => line.hold(one));
    line.expect(limits.firstByteMs, 'no answer', 'fetchFirstByteMs');
    const { message, tally } = await answerOf(url, socket, headers, limits.headerBytes);
    line.relax();
    const body = new Body(message, tally, line, limits.idleMs);
    return await use({ status: message.statusCode ?? 0, headers: message.headers, body });
  } catch (error) {
    throw line.reason ?? error;
  } finally {
    line.end();
  }
}

function answerOf(
  url: URL,
  socket: Socket,
  headers: Readonly<Record<string, string>>,
  headerBytes: number,
): Promise<{ readonly message: IncomingMessage; readonly tally: Tally }> {
  const tally = new Tally(socket, headerBytes);
  return new Promise((resolve, reject) => {
    const asked = request({
      // With this, and without an agent, the request goes over this socket and no other.
      createConnection: () => socket,
      method: 'GET',
      path: url.pathname + url.search,
      setHost: false,
      headers: {
        Host: url.host,
        'User-Agent': 'strandlake',
        Accept: '*/*',
        // Files come as they are; who encodes them all the same is decoded once (`decode.ts`).
        'Accept-Encoding': 'identity',
        Connection: 'close',
        ...headers,
      },
      maxHeaderSize: headerBytes,
      insecureHTTPParser: false,
    });
    asked.on('response', (message) => {
      tally.bodyBegins();
      resolve({ message, tally });
    });
    asked.on('error', reject);
    asked.on('close', () => reject(passing('the connection broke off')));
    asked.end();
  });
}

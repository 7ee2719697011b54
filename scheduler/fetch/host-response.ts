import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ResponseBody } from './response-body.js';
import { connectTo } from './connect.js';
import { transientFailure } from './fetch-failure.js';
import type { FetchLimits } from './fetch-limits.js';
import { ConnectionTimeout } from './connection-timeout.js';
import type { Network } from './network.js';
import { ByteCounter } from './byte-counter.js';

/** Response of a host; `body` can be read only within the callback of `getResponse`. */
export interface HostResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as sent, without transfer framing; an incomplete body ends with an error. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface RequestContext {
  readonly network: Network;
  readonly limits: FetchLimits;
  readonly signal: AbortSignal;
}

/**
 * Sends one GET over a new connection to an address that was checked. No agent of Node is used: it would resolve the name
 * again, reuse connections, and obey the proxy settings of the environment.
 */
export async function getResponse<T>(
  url: URL,
  address: string,
  headers: Readonly<Record<string, string>>,
  context: RequestContext,
  use: (response: HostResponse) => Promise<T>,
): Promise<T> {
  const { network, limits, signal } = context;
  const timeout = new ConnectionTimeout(signal);
  try {
    timeout.startTimer(limits.connectMs, 'its host accepted no connection');
    const socket = await connectTo(url, address, network, (one) => timeout.addSocket(one));
    timeout.startTimer(limits.firstByteMs, 'its host sent no answer');
    const { message, counter } = await sendRequest(url, socket, headers, limits.headerBytes);
    timeout.stopTimer();
    const body = new ResponseBody(message, counter, timeout, limits.idleMs);
    return await use({ status: message.statusCode ?? 0, headers: message.headers, body });
  } catch (error) {
    throw timeout.destroyReason ?? error;
  } finally {
    timeout.close();
  }
}

function sendRequest(
  url: URL,
  socket: Socket,
  headers: Readonly<Record<string, string>>,
  headerBytes: number,
): Promise<{ readonly message: IncomingMessage; readonly counter: ByteCounter }> {
  const counter = new ByteCounter(socket, headerBytes);
  return new Promise((resolve, reject) => {
    const sentRequest = request({
      // Without an agent, the request uses exactly this socket.
      createConnection: () => socket,
      method: 'GET',
      path: url.pathname + url.search,
      setHost: false,
      headers: {
        Host: url.host,
        'User-Agent': 'strandlake',
        Accept: '*/*',
        // If the host encodes the file nevertheless, `transfer.ts` decodes it once.
        'Accept-Encoding': 'identity',
        Connection: 'close',
        ...headers,
      },
      maxHeaderSize: headerBytes,
      insecureHTTPParser: false,
    });
    sentRequest.on('response', (message) => {
      counter.startBody();
      resolve({ message, counter });
    });
    sentRequest.on('error', reject);
    sentRequest.on('close', () => reject(transientFailure('the connection broke off')));
    sentRequest.end();
  });
}

import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFetcher, type FetchRequest } from '../../../scheduler/fetch/fetcher.js';
import type { FetchLimits } from '../../../scheduler/fetch/fetch-limits.js';
import { systemNetwork, type Network } from '../../../scheduler/fetch/network.js';

/** An HTTP host on this machine whose responses the test scripts. */
export interface ScriptedHost {
  readonly port: number;
  /** Returns the URL of a path: `http(s)://127.0.0.1:<port><path>`. */
  url(path: string): string;
  /** Number of connections that the host has accepted so far. */
  connectionCount: number;
  /** The headers of all requests, each as text. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** A self-signed certificate for `files.example` and 127.0.0.1. */
export const certificate = readFileSync('test/fixtures/tls/cert.pem', 'utf8');
const privateKey = readFileSync('test/fixtures/tls/key.pem', 'utf8');

/** Responds to the nth request (from 1) by writing to the socket. */
export type RespondToRequest = (socket: Socket, head: string, nth: number) => void;

/** Starts a host on a free port. The script may end or destroy the socket. */
export async function startScriptedHost(
  script: RespondToRequest,
  address = '127.0.0.1',
  scheme: 'http' | 'https' = 'http',
): Promise<ScriptedHost> {
  const openSockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    host.connectionCount += 1;
    openSockets.add(socket);
    socket.on('close', () => openSockets.delete(socket));
    socket.on('error', () => undefined); // the client may close the connection at any moment
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (!text.includes('\r\n\r\n')) return;
      host.requests.push(text);
      const head = text;
      text = '';
      script(socket, head, host.requests.length);
    });
  };
  const server: Server =
    scheme === 'http'
      ? createServer(accept)
      : createSecureServer({ cert: certificate, key: privateKey }, accept);
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  const host: ScriptedHost = {
    port,
    url: (path) => `${scheme}://127.0.0.1:${port}${path}`,
    connectionCount: 0,
    requests: [],
    async close() {
      for (const socket of openSockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return host;
}

/** Returns a complete response, with a `Content-Length` unless the headers determine the end of the body. */
export function httpResponse(body: string | Uint8Array, headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body);
  const isFramed = headers.some((one) => /^(content-length|transfer-encoding):/i.test(one));
  const length = isFramed ? [] : [`Content-Length: ${bytes.length}`];
  return Buffer.concat([Buffer.from(responseHead(200, [...length, ...headers])), bytes]);
}

/** Returns the status line and the headers of a response. */
export function responseHead(status: number, headers: readonly string[]): string {
  return `HTTP/1.1 ${status} Some Reason\r\n${headers.map((one) => `${one}\r\n`).join('')}\r\n`;
}

/** Fetch limits for tests: short delays between attempts, and timeouts that even a busy machine does not reach. */
export const patientLimits: Partial<FetchLimits> = {
  connectMs: 300_000,
  firstByteMs: 300_000,
  idleMs: 300_000,
  totalMs: 300_000,
  pauseMs: 1,
  longestPauseMs: 20,
};

/** The outcome of a download: the bytes, or the error message and whether a file remains. */
export interface FetchOutcome {
  readonly bytes?: Buffer;
  readonly error?: string;
  readonly isLeft: boolean;
}

/** Returns a fetcher with its own folder, which `remove` deletes. */
export function createTestFetcher(
  allow: readonly string[],
  limits: Partial<FetchLimits> = {},
  network: Partial<Network> = {},
): {
  get(url: string, more?: Partial<FetchRequest>, signal?: AbortSignal): Promise<FetchOutcome>;
  remove(): void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-fetch-'));
  const wholeNetwork = { ...systemNetwork, ...network };
  const fetchFile = openFetcher({ allow, limits: { ...patientLimits, ...limits } }, wholeNetwork);
  let downloadCount = 0;
  return {
    async get(url, more = {}, signal = new AbortController().signal) {
      downloadCount += 1;
      const file = join(folder, `${downloadCount}`);
      const expected = { bytes: null, md5: null };
      const request = { url, name: 'a.json', accountId: 1, expected, ...more };
      try {
        const writtenFile = await fetchFile(request, file, signal);
        const bytes = readFileSync(file);
        const md5 = createHash('md5').update(bytes).digest('hex');
        if (writtenFile.bytes !== bytes.length || writtenFile.md5 !== md5)
          throw new Error('miscounted');
        return { bytes, isLeft: true };
      } catch (error) {
        return { error: (error as Error).message, isLeft: existsSync(file) };
      }
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

import { AppError } from '../engine/core/errors.js';

/** The JSON object of a response or of a resource in it. */
export type Answer = Readonly<Record<string, unknown>>;

/** HTTP client of the server's public interface. The command line uses the network only through it. */
export interface Client {
  readonly origin: string;
  get(path: string): Promise<Answer>;
  post(path: string, body: Answer): Promise<Answer>;
  patch(path: string, body: Answer): Promise<Answer>;
  /** Uploads the bytes of a file to a signed URL. */
  upload(url: string, bytes: AsyncIterable<Uint8Array>, headers: UploadHeaders): Promise<void>;
}

interface UploadHeaders {
  readonly 'content-length': string;
  readonly 'content-md5': string;
}

/** Creates a client of the server at `origin`; `signal` aborts its requests. */
export function openClient(origin: string, token: string, signal: AbortSignal): Client {
  async function send(method: string, path: string, body?: Answer): Promise<Answer> {
    const response = await fetch(origin + path, {
      method,
      signal,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw responseError(method, path, response.status, text);
    return JSON.parse(text) as Answer;
  }
  return {
    origin,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    patch: (path, body) => send('PATCH', path, body),
    async upload(url, bytes, headers) {
      // Only path and query are signed; the public address in the URL may not be reachable from this machine.
      const { pathname, search } = new URL(url);
      const response = await fetch(origin + pathname + search, {
        method: 'PUT',
        signal,
        headers: { ...headers },
        body: bytes,
        duplex: 'half', // required for a body that is a stream
      });
      const text = await response.text();
      if (!response.ok) throw responseError('PUT', 'the upload URL', response.status, text);
    },
  };
}

/** The error of a failed request, with the server's reason taken out of its JSON. */
function responseError(method: string, path: string, status: number, text: string): AppError {
  let reason = text.slice(0, 500);
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    reason = Object.entries(body)
      .map(([key, value]) => (key === 'detail' ? String(value) : `${key}: ${String(value)}`))
      .join('; ');
  } catch {
    // Not JSON, for example a proxy's error page: its first characters stand as the reason.
  }
  return new AppError('invalid', `${method} ${path}: ${status} ${reason}`);
}

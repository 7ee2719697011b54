import { AppError } from '../engine/core/errors.js';

/** A JSON object of the interface, as it came. */
export type Answer = Readonly<Record<string, unknown>>;

/** Speaks to the server as any client does. The command line's one way to the network. */
export interface Client {
  readonly origin: string;
  get(path: string): Promise<Answer>;
  post(path: string, body: Answer): Promise<Answer>;
  patch(path: string, body: Answer): Promise<Answer>;
  /** Sends the bytes of a file to a signed URL. */
  upload(url: string, bytes: AsyncIterable<Uint8Array>, headers: UploadHeaders): Promise<void>;
}

export interface UploadHeaders {
  readonly 'content-length': string;
  readonly 'content-md5': string;
}

/** A client for the server at `origin`; `signal` ends whatever it is doing. */
export function openClient(origin: string, token: string, signal: AbortSignal): Client {
  async function send(method: string, path: string, body?: Answer): Promise<Answer> {
    const response = await fetch(origin + path, {
      method,
      signal,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw refused(method, path, response.status, text);
    return JSON.parse(text) as Answer;
  }
  return {
    origin,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    patch: (path, body) => send('PATCH', path, body),
    async upload(url, bytes, headers) {
      // The signature is of the path: a public address may not be reachable from here.
      const { pathname, search } = new URL(url);
      const response = await fetch(origin + pathname + search, {
        method: 'PUT',
        signal,
        headers: { ...headers },
        body: bytes,
        duplex: 'half', // a body that is a stream asks for this
      });
      const text = await response.text();
      if (!response.ok) throw refused('PUT', 'the upload URL', response.status, text);
    },
  };
}

/** The reason that the server gave, without the JSON around it. */
function refused(method: string, path: string, status: number, text: string): AppError {
  let reason = text.slice(0, 500);
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    reason = Object.entries(body)
      .map(([key, value]) => (key === 'detail' ? String(value) : `${key}: ${String(value)}`))
      .join('; ');
  } catch {
    // Not JSON: a proxy's page, say. Its beginning is the best there is.
  }
  return new AppError('invalid', `${method} ${path}: ${status} ${reason}`);
}

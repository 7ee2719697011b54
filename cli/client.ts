import { AppError } from '../engine/core/errors.js';
import { parseJson } from '../engine/core/json.js';

/** The JSON object of a response, of a resource in it, or of a request. */
export type JsonBody = Readonly<Record<string, unknown>>;

/** HTTP client of the server's public interface. Commands use the network only through it, and through `isServer`. */
export interface Client {
  /** The base address of the server, perhaps with a path prefix. */
  readonly origin: string;
  get(path: string): Promise<JsonBody>;
  post(path: string, body: JsonBody): Promise<JsonBody>;
  put(path: string, body: JsonBody): Promise<JsonBody>;
  patch(path: string, body: JsonBody): Promise<JsonBody>;
  delete(path: string): Promise<JsonBody>;
  /** Uploads the bytes of a file, or of a part of one, to a signed URL. */
  upload(url: string, bytes: AsyncIterable<Uint8Array>, headers: UploadHeaders): Promise<void>;
  /** Yields the bytes behind a signed URL. */
  download(url: string): AsyncIterable<Uint8Array>;
}

interface UploadHeaders {
  readonly 'content-length': string;
  readonly 'content-md5'?: string;
}

/** Creates a client of the server at `origin`; `signal` aborts its requests. */
export function openClient(origin: string, token: string, signal: AbortSignal): Client {
  const failConnection = (error: unknown): never => {
    throw signal.aborted ? error : connectionError(origin, error);
  };

  function reachServer(url: string, request: RequestInit): Promise<Response> {
    return fetch(url, { ...request, signal }).catch(failConnection);
  }

  async function send(method: string, path: string, body?: JsonBody): Promise<JsonBody> {
    const response = await reachServer(origin + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        prefer: 'handling=strict', // a misspelt key is an error
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text().catch(failConnection);
    if (!response.ok) throw responseError(method, path, response.status, text);
    return parseJson(text) as unknown as JsonBody;
  }
  return {
    origin,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    patch: (path, body) => send('PATCH', path, body),
    delete: (path) => send('DELETE', path),
    async *download(url) {
      const response = await reachServer(reachableUrl(origin, url), {});
      if (!response.ok || response.body === null) {
        const text = await response.text().catch(failConnection);
        throw responseError('GET', 'the download URL', response.status, text);
      }
      try {
        yield* response.body;
      } catch (error) {
        failConnection(error);
      }
    },
    async upload(url, bytes, headers) {
      const response = await reachServer(reachableUrl(origin, url), {
        method: 'PUT',
        headers: { ...headers },
        body: bytes,
        duplex: 'half', // required for a body that is a stream
      });
      const text = await response.text().catch(failConnection);
      if (!response.ok) throw responseError('PUT', 'the upload URL', response.status, text);
    },
  };
}

/**
 * Returns the signed URL with the address of the server that the client uses. Only path and query are signed, and the public address in the
 * URL may not be reachable from this machine.
 */
function reachableUrl(origin: string, url: string): string {
  const { pathname, search } = new URL(url);
  const prefix = new URL(origin).pathname.replace(/\/$/, '');
  const path = pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
  return origin + path + search;
}

/** Returns the error for a request without an answer: it names the address of the server, or why the file to upload cannot be read. */
function connectionError(origin: string, error: unknown): AppError {
  const { cause } = error as { readonly cause?: { readonly code?: string } };
  if (cause instanceof AppError) return cause; // the file cannot be read
  const reason = cause?.code ?? String(error);
  return new AppError('not-found', `no server answers at ${origin} (${reason})`, undefined, error);
}

/** Returns whether a server answers at `origin` whose `/health` is like that of Strandlake. */
export async function isServer(origin: string): Promise<boolean> {
  try {
    const response = await fetch(`${origin}/health`);
    return typeof ((await response.json()) as { status?: unknown }).status === 'string';
  } catch {
    return false; // nothing listens at this address, or another program does
  }
}

/** Returns the error of a failed request, with the reason from the server's JSON. */
function responseError(method: string, path: string, status: number, text: string): AppError {
  let reason = text.slice(0, 500);
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    reason = Object.entries(body)
      .map(([key, value]) => (key === 'detail' ? String(value) : `${key}: ${String(value)}`))
      .join('; ');
  } catch {
    // If the answer is not JSON, for example a proxy's error page, its first characters are the reason.
  }
  return new AppError('invalid', `${method} ${path}: ${status} ${reason}`);
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { budgets, byteSize } from '../../engine/core/budgets.js';
import { AppError } from '../../engine/core/errors.js';
import { JsonError, parseJson, stringifyJson } from '../../engine/core/json.js';

/** Path prefix of signed uploads, whose bodies are not parsed, whatever their content type (contract 6.5). */
export const uploadPrefix = '/v2/uploads/';

/** The media type that Fastify sees; a hook replaces whatever the client sent by it. */
const anyBody = 'application/octet-stream';

/**
 * Installs the body parsers: every body is JSON whatever its type, except uploads (raw) and form-encoded text.
 * Empty means `{}`; bodies on GET and DELETE are ignored; compressed bodies are refused.
 */
export function installBodyParsers(
  fastify: FastifyInstance,
  admit: (request: FastifyRequest) => Promise<unknown>,
): void {
  fastify.removeAllContentTypeParsers();
  // Clients send types like `gzip` that are no media types at all; Fastify would refuse them before any parser runs.
  fastify.addHook('onRequest', (request, _reply, done) => {
    const type = request.raw.headers['content-type'];
    if (type === undefined) return done();
    sentTypes.set(request.raw, type);
    request.raw.headers['content-type'] = anyBody;
    done();
  });
  for (const type of ['*', anyBody]) {
    fastify.addContentTypeParser(type, (request: FastifyRequest, stream: Readable) =>
      readBody(request, stream, admit),
    );
  }
}

/** The operations with a body that need no credentials, and the most bytes that such a body may have. */
const publicPaths: ReadonlySet<string> = new Set(['/v1/invitations/accept']);
const publicBodyBytes = 16 << 10;

const sentTypes = new WeakMap<object, string>();

/** The content type as the client sent it. */
export function contentTypeOf(request: FastifyRequest): string | undefined {
  return sentTypes.get(request.raw);
}

async function readBody(
  request: FastifyRequest,
  stream: Readable,
  admit: (request: FastifyRequest) => Promise<unknown>,
): Promise<unknown> {
  if (request.raw.url?.startsWith(uploadPrefix)) return undefined; // the handler streams it
  if (request.is404 || request.method === 'DELETE' || request.method === 'GET') {
    stream.resume();
    return undefined;
  }
  // Authenticate first: a stranger must not make the server buffer 64 MB.
  const isPublic = publicPaths.has(request.raw.url?.split('?', 1)[0] ?? '');
  if (!isPublic) await admit(request);
  refuseEncoded(request.headers['content-encoding']);
  const bytes = await collect(
    stream,
    request.headers['content-length'],
    isPublic ? publicBodyBytes : budgets.jsonBodyBytes,
  );
  if (keepsText.test(request.raw.url ?? '')) sentBytes.set(request.raw, bytes);
  return parseBody(bytes, contentTypeOf(request));
}

/** The requests whose handlers also read the text of the body: expressions tell `1.0` from `1`. */
const keepsText = /^\/v1\/(?:evaluate|annotate)(?:$|[/?])/;

const sentBytes = new WeakMap<object, Buffer>();

/** The JSON text of a body, for what the parsed value has lost; only of operations that `keepsText` names. */
export function jsonTextOf(request: FastifyRequest): string {
  const bytes = sentBytes.get(request.raw);
  const isJson = bytes !== undefined && [0x7b, 0x5b].includes(bytes[firstByte(bytes)] ?? 0);
  return isJson ? new TextDecoder().decode(bytes) : stringifyJson(request.body ?? {});
}

/** The value of a body; an empty one is `{}` (R sends zero bytes with a JSON content type, contract 1.2). */
export function parseBody(bytes: Buffer, type = ''): unknown {
  if (isBlank(bytes)) return {};
  const first = bytes[firstByte(bytes)];
  const isForm = /^\s*application\/x-www-form-urlencoded/i.test(type);
  // `curl -d '{…}'` labels JSON as a form.
  if (isForm && first !== 0x7b && first !== 0x5b) return parseForm(bytes.toString('utf8'));
  try {
    return parseJson(bytes, { maxDepth: budgets.jsonDepth });
  } catch (error) {
    if (error instanceof JsonError) throw new AppError('invalid', error.message);
    throw error;
  }
}

function parseForm(text: string): Record<string, string> {
  const form = Object.create(null) as Record<string, string>;
  for (const [key, value] of new URLSearchParams(text)) form[key] = value;
  return form;
}

function refuseEncoded(encoding: string | undefined): void {
  if (encoding === undefined || /^\s*(identity)?\s*$/i.test(encoding)) return;
  throw new AppError(
    'unsupported-media',
    `request bodies with Content-Encoding ${JSON.stringify(encoding.slice(0, 40))} are not supported; send it plain`,
  );
}

/** Collects a body up to the limit, whatever its header announces. (An async iterator would cost a small body more than all else here.) */
function collect(stream: Readable, announced: string | undefined, max: number): Promise<Buffer> {
  const tooLarge = (): AppError =>
    new AppError(
      'too-large',
      `The request body is larger than ${byteSize(max)}, the most that one may have: split the request, or upload records as a file and import it by object_id.`,
    );
  if (Number(announced) > max) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= max) chunks.push(chunk);
      else stream.destroy(tooLarge());
    });
    stream.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size)),
    );
    stream.once('error', reject);
    stream.once('close', () => {
      if (!stream.readableEnded) reject(new AppError('invalid', 'the request broke off'));
    });
  });
}

function firstByte(bytes: Buffer): number {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (at < bytes.length && [0x20, 0x09, 0x0a, 0x0d].includes(bytes[at] ?? 0)) at++;
  return at;
}

function isBlank(bytes: Buffer): boolean {
  return firstByte(bytes) === bytes.length;
}

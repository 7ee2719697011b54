import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import { AppError } from '../../engine/core/errors.js';
import { JsonError, parseJson, stringifyJson } from '../../engine/core/json.js';

/** Path prefix of signed uploads, whose bodies are not parsed, whatever their content type (contract 6.5). */
export const uploadPrefix = '/v2/uploads/';

/** The media type that Fastify sees: a hook sets it in place of the one that the client sent. */
const octetStreamType = 'application/octet-stream';

/**
 * Installs the body parsers: a body is JSON whatever its content type, unless it is form-encoded; the bodies of uploads are not parsed. An
 * empty body means `{}`. Bodies of GET and DELETE, and of requests without a route, are ignored; other compressed bodies are refused.
 */
export function installBodyParsers(
  fastify: FastifyInstance,
  admit: (request: FastifyRequest) => Promise<unknown>,
): void {
  fastify.removeAllContentTypeParsers();
  // Clients send values of `Content-Type` that are no media types, such as `gzip`; Fastify would refuse them before any parser runs.
  fastify.addHook('onRequest', (request, _reply, done) => {
    const type = request.raw.headers['content-type'];
    if (type === undefined) return done();
    contentTypeByRequest.set(request.raw, type);
    request.raw.headers['content-type'] = octetStreamType;
    done();
  });
  for (const type of ['*', octetStreamType]) {
    fastify.addContentTypeParser(type, (request: FastifyRequest, stream: Readable) =>
      readBody(request, stream, admit),
    );
  }
}

/** The paths of requests that have no token because their body contains the credentials. */
const credentialPathPattern =
  /^\/(?:v1\/auth\/token|v1\/oauth2\/\w+|v1\/invitations\/accept|authorize)(?:$|[/?])/;

/** The paths below which anyone may send a body, with a token or without. */
const anonymousPathPattern = /^\/beacon\/v2\//;

/** Whether a request to this address may have a token but needs none. */
export function isAnonymousAllowed(url: string): boolean {
  return anonymousPathPattern.test(url);
}

/** The maximum size of a request body in bytes, and the advice in the error message for a larger one. */
interface BodyLimit {
  readonly max: number;
  readonly advice: string;
}
const credentialBodyLimit: BodyLimit = { max: 16 << 10, advice: 'send the credentials alone' };
const anonymousBodyLimit: BodyLimit = {
  max: 64 << 10,
  advice: 'send a shorter query, or a token',
};
const authenticatedBodyLimit: BodyLimit = {
  max: budgets.jsonBodyBytes,
  advice: 'split the request, or upload records as a file and import it by object_id',
};

const contentTypeByRequest = new WeakMap<object, string>();

/** Returns the content type as the client sent it. */
function contentTypeOf(request: FastifyRequest): string | undefined {
  return contentTypeByRequest.get(request.raw);
}

async function readBody(
  request: FastifyRequest,
  stream: Readable,
  admit: (request: FastifyRequest) => Promise<unknown>,
): Promise<unknown> {
  if (request.raw.url?.startsWith(uploadPrefix)) return undefined; // the handler streams the body
  if (request.is404 || request.method === 'DELETE' || request.method === 'GET') {
    stream.resume();
    return undefined;
  }
  const url = request.raw.url ?? '';
  const isCredentialRequest = credentialPathPattern.test(url);
  // The caller is authenticated before the body is read, because a client without credentials must not make the server buffer 64 MB.
  const caller = isCredentialRequest ? undefined : await admit(request);
  refuseContentEncoding(request.headers['content-encoding']);
  const isAnonymous = caller === undefined && isAnonymousAllowed(url);
  const limit = isCredentialRequest
    ? credentialBodyLimit
    : isAnonymous
      ? anonymousBodyLimit
      : authenticatedBodyLimit;
  const bytes = await collectBody(stream, request.headers['content-length'], limit);
  if (rawTextPathPattern.test(url)) bodyByRequest.set(request.raw, bytes);
  return parseBody(bytes, contentTypeOf(request));
}

/** The requests whose handlers also read the text of the body, because expressions distinguish `1.0` from `1`. */
const rawTextPathPattern = /^\/v1\/(?:evaluate|annotate)(?:$|[/?])/;

const bodyByRequest = new WeakMap<object, Buffer>();

/**
 * Returns the JSON text of a body, from which a handler reads what the parsed value no longer shows. Only for the operations of
 * `rawTextPathPattern`.
 */
export function jsonTextOf(request: FastifyRequest): string {
  const bytes = bodyByRequest.get(request.raw);
  const isJson =
    bytes !== undefined && [0x7b, 0x5b].includes(bytes[firstNonBlankIndex(bytes)] ?? 0);
  return isJson ? new TextDecoder().decode(bytes) : stringifyJson(request.body ?? {});
}

/** Returns the value of a body; an empty body is `{}` (R sends zero bytes with a JSON content type, contract 1.2). */
export function parseBody(bytes: Buffer, type = ''): unknown {
  if (isBlank(bytes)) return {};
  const firstByte = bytes[firstNonBlankIndex(bytes)];
  const isForm = /^\s*application\/x-www-form-urlencoded/i.test(type);
  // `curl -d '{…}'` sends JSON with the content type of a form.
  if (isForm && firstByte !== 0x7b && firstByte !== 0x5b) return parseForm(bytes.toString('utf8'));
  try {
    return parseJson(bytes, { maxDepth: budgets.jsonDepth });
  } catch (error) {
    if (error instanceof JsonError) throw new AppError('invalid', error.message);
    throw error;
  }
}

/** Returns the values of a form by key; the value of a repeated key is a list. */
function parseForm(text: string): Record<string, string | string[]> {
  const form = Object.create(null) as Record<string, string | string[]>;
  const fields = new URLSearchParams(text);
  for (const key of new Set(fields.keys())) {
    const values = fields.getAll(key);
    form[key] = values.length === 1 ? values[0]! : values;
  }
  return form;
}

function refuseContentEncoding(encoding: string | undefined): void {
  if (encoding === undefined || /^\s*(identity)?\s*$/i.test(encoding)) return;
  throw new AppError(
    'unsupported-media',
    `request bodies with Content-Encoding ${JSON.stringify(encoding.slice(0, 40))} are not supported; send it plain`,
  );
}

/**
 * Collects a body of at most `max` bytes; rejects a larger one, even if its header announces a smaller size. An async iterator is not used,
 * because for a small body it would take most of the time of this function.
 */
function collectBody(
  stream: Readable,
  announced: string | undefined,
  { max, advice }: BodyLimit,
): Promise<Buffer> {
  const tooLargeError = (): AppError =>
    new AppError(
      'too-large',
      `The request body is larger than ${byteSizeText(max)}, the most that one may have: ${advice}.`,
    );
  if (Number(announced) > max) return Promise.reject(tooLargeError());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= max) chunks.push(chunk);
      else stream.destroy(tooLargeError());
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

function firstNonBlankIndex(bytes: Buffer): number {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (at < bytes.length && [0x20, 0x09, 0x0a, 0x0d].includes(bytes[at] ?? 0)) at++;
  return at;
}

function isBlank(bytes: Buffer): boolean {
  return firstNonBlankIndex(bytes) === bytes.length;
}

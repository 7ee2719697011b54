import type { IncomingHttpHeaders } from 'node:http';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { checkSizeLimit, EncodedBodyDigest, type ExpectedDigest } from './expected-digest.js';
import { permanentFailure, statusFailure, transientFailure } from './fetch-failure.js';
import { followRedirects, type AccountContext } from './follow-redirects.js';
import type { HostResponse } from './host-response.js';
import type { Spool } from './spool.js';

/** A file to fetch, and where to store it. */
export interface DownloadRequest extends AccountContext {
  readonly url: URL;
  readonly file: string;
  readonly expected: ExpectedDigest;
  /** Called with the bytes received so far and the total; the total is null while it is unknown. */
  report(bytes: number, total: number | null): void;
}

/** The transfer of one file, over one or more connections. */
export class Transfer {
  /** Size and MD5 of the body as received, if it is encoded. */
  encodedBodyDigest: EncodedBodyDigest | undefined;
  #resumePoint: ResumePoint | undefined;
  /** The strong entity tag of the representation whose first bytes are in the spool. */
  #tag: string | undefined;
  readonly #job: DownloadRequest;
  readonly #spool: Spool;

  constructor(job: DownloadRequest, spool: Spool) {
    this.#job = job;
    this.#spool = spool;
  }

  /** Makes one attempt: resumes the transfer where that is possible, and starts it anew otherwise. */
  async runAttempt(): Promise<void> {
    const { bytes } = this.#spool;
    this.#resumePoint =
      this.#tag === undefined || bytes === 0 ? undefined : { bytes, tag: this.#tag };
    const headers = rangeRequestHeaders(this.#resumePoint);
    await followRedirects(this.#job.url, headers, this.#job, (response) => this.#receive(response));
  }

  async #receive(response: HostResponse): Promise<void> {
    const { status, headers } = response;
    if (status === 206 && this.#resumePoint !== undefined) {
      return this.#resume(response, this.#resumePoint);
    }
    if (status === 416 && this.#resumePoint !== undefined) {
      this.#tag = undefined;
      throw transientFailure('the host cannot resume the transfer');
    }
    if (status !== 200) throw statusFailure(status, headers);
    const decoder = decoderOf(headers['content-encoding']);
    const length = bodyLengthOf(response, this.#job.expected);
    await this.#spool.restart();
    this.#tag = decoder === undefined ? strongEntityTag(headers) : undefined;
    this.encodedBodyDigest = decoder === undefined ? undefined : new EncodedBodyDigest();
    if (decoder !== undefined) return this.#decode(response.body, decoder, length);
    if (length !== null) {
      this.#spool.checkFileSize(length);
      checkSizeLimit(this.#job.expected, length, undefined);
    }
    await this.#store(response.body, length);
  }

  async #resume(response: HostResponse, point: ResumePoint): Promise<void> {
    const total = totalBytesOfRange(response.headers, point);
    const isEncoded = decoderOf(response.headers['content-encoding']) !== undefined;
    if (total === undefined || isEncoded) {
      this.#tag = undefined; // the next attempt starts from the first byte
      throw transientFailure('the host resumed the transfer at another offset');
    }
    this.#spool.checkFileSize(total);
    await this.#store(response.body, total);
  }

  async #store(body: AsyncIterable<Uint8Array>, total: number | null): Promise<void> {
    for await (const piece of body) await this.#add(piece, total);
    if (total !== null && this.#spool.bytes !== total) {
      throw transientFailure(`only ${this.#spool.bytes} of ${total} bytes were received`);
    }
  }

  async #add(piece: Uint8Array, total: number | null): Promise<void> {
    checkSizeLimit(
      this.#job.expected,
      this.#spool.bytes + piece.byteLength,
      this.encodedBodyDigest,
    );
    await this.#spool.write(piece);
    this.#job.report(this.encodedBodyDigest?.bytes ?? this.#spool.bytes, total);
  }

  async #decode(
    body: AsyncIterable<Uint8Array>,
    decoder: CreateDecoder,
    total: number | null,
  ): Promise<void> {
    const { encodedBodyDigest } = this;
    const iterator = body[Symbol.asyncIterator]();
    const firstPiece = await iterator.next();
    if (firstPiece.done === true) return;
    // `pipeline` throws the decoder's errors into the generator as well; this variable holds an error of the connection itself.
    let connectionError: unknown;
    const readNextPiece = (): Promise<IteratorResult<Uint8Array>> =>
      iterator.next().catch((error: unknown) => {
        connectionError = error;
        throw error;
      });
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (
        let piece: IteratorResult<Uint8Array> = firstPiece;
        piece.done !== true;
        piece = await readNextPiece()
      ) {
        encodedBodyDigest?.add(piece.value);
        yield piece.value;
      }
    }
    const add = (piece: Uint8Array): Promise<void> => this.#add(piece, total);
    const decodedStream = decoder(firstPiece.value);
    try {
      await pipeline(
        Readable.from(pieces(), { objectMode: false }),
        decodedStream,
        async (source) => {
          for await (const piece of source) await add(piece as Uint8Array);
        },
      );
    } catch (error) {
      if (connectionError !== undefined) throw connectionError;
      throw isDecodingError(error) ? permanentFailure('its Content-Encoding is damaged') : error;
    }
    // A decoder may finish before the body ends; the remaining bytes must not be dropped silently.
    if ((await iterator.next()).done !== true)
      throw permanentFailure('its Content-Encoding is damaged');
  }
}

/**
 * Returns the length of the body in bytes; null if it is unknown but the end of the body can be detected. Throws if the end cannot be
 * detected.
 */
function bodyLengthOf({ headers }: HostResponse, expected: ExpectedDigest): number | null {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  const isChunked = /\bchunked$/i.test(headers['transfer-encoding'] ?? '');
  if (isChunked || expected.bytes !== null || expected.md5 !== null) return null;
  throw permanentFailure(
    'the host does not say where it ends (no Content-Length); give size or md5',
  );
}

/**
 * The state from which a broken transfer can be resumed: `bytes` bytes of the representation with this strong entity tag have been
 * received.
 */
interface ResumePoint {
  readonly bytes: number;
  readonly tag: string;
}

/** Returns the entity tag if it is strong; only a strong tag guarantees identical bytes (RFC 9110, section 8.8.1). */
function strongEntityTag(headers: IncomingHttpHeaders): string | undefined {
  const tag = headers.etag;
  return tag !== undefined && /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(tag) ? tag : undefined;
}

/**
 * Returns the headers that request the remaining bytes; because of `If-Range`, a host whose file has changed sends the whole new file
 * instead.
 */
function rangeRequestHeaders(point: ResumePoint | undefined): Readonly<Record<string, string>> {
  if (point === undefined) return {};
  return { Range: `bytes=${point.bytes}-`, 'If-Range': point.tag };
}

/**
 * Returns the size of the whole file if the partial content is of the same version, as far as its entity tag tells, and covers exactly the
 * bytes after the resume point; undefined otherwise.
 */
function totalBytesOfRange(headers: IncomingHttpHeaders, point: ResumePoint): number | undefined {
  const range = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headers['content-range'] ?? '');
  if (range === null) return undefined;
  const [from = -1, to = -1, total = -1] = range.slice(1).map(Number);
  if (from !== point.bytes || to !== total - 1) return undefined;
  if (headers.etag !== undefined && headers.etag !== point.tag) return undefined;
  return total;
}

/** Makes the stream that decodes a body whose first bytes are `firstPiece`. */
type CreateDecoder = (firstPiece: Uint8Array) => Transform;

/**
 * Returns the decoder for a `Content-Encoding`; undefined for none. Throws for an unknown encoding. The encoding is removed exactly once:
 * the result is the file, whose own compression is handled by its reader (threat N8).
 */
function decoderOf(encoding: string | undefined): CreateDecoder | undefined {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const decoder = decoderByEncoding.get(name);
  if (decoder === undefined) throw permanentFailure('its Content-Encoding is not supported');
  return decoder;
}

const decoderByEncoding = new Map<string, CreateDecoder>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  // Some hosts send raw deflate, others the zlib format, whose first byte ends with the method number 8.
  [
    'deflate',
    (firstPiece) => (((firstPiece[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  ],
]);

/** Whether an error of the decoding pipeline says that the bytes do not follow their encoding. */
function isDecodingError(error: unknown): boolean {
  const code = String((error as { code?: unknown } | null)?.code);
  // `ERR_STREAM_PREMATURE_CLOSE` occurs when more bytes follow after the decoder has finished.
  return /^(Z_|ERR_BROTLI_|ERR__ERROR_|ERR_STREAM_PREMATURE_CLOSE$)/.test(code);
}

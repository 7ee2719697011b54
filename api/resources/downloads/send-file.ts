import { Readable } from 'node:stream';
import { AppError } from '../../../engine/core/errors.js';
import { openFile, type FileReader } from '../../../engine/core/files.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import { attachmentHeader } from '../../http/signed-url.js';

/** A stalled download buffers up to three chunks. With chunks of 256 kB, 600 stalled downloads took 690 MB of memory (threat D6). */
const readChunkBytes = 32 << 10;

/** A stored file as a download. */
export interface StoredDownload {
  readonly path: string;
  readonly name: string;
  /** The entity tag, which changes with the content. */
  readonly etag: string;
  readonly idleMs: number;
}

/**
 * Streams a stored file: always as an attachment of unknown type, whatever type the client gave that stored it (threat D9), never
 * content-encoded, and only one byte range if the request names one.
 */
export async function sendFile(
  download: StoredDownload,
  request: ApiRequest,
  reply: ApiReply,
): Promise<Readable> {
  const file = await openFile(download.path);
  try {
    const range = requestedRange(file, download, request, reply);
    const { start, end } = range ?? { start: 0, end: file.bytes };
    reply.code(range ? 206 : 200);
    if (range) reply.header('Content-Range', `bytes ${start}-${end - 1}/${file.bytes}`);
    reply.header('Content-Type', 'application/octet-stream');
    reply.header('Content-Disposition', attachmentHeader(download.name));
    reply.header('Content-Length', String(end - start));
    reply.header('Accept-Ranges', 'bytes');
    reply.header('ETag', download.etag);
    if (request.method === 'HEAD') {
      await file.close();
      return Readable.from([]); // not an empty Buffer: Fastify would set a Content-Length of 0
    }
    // A stalled client must not hold the file descriptor forever (threat D6).
    request.raw.socket.setTimeout(download.idleMs);
    const stream = Readable.from(file.stream(start, end, readChunkBytes), {
      objectMode: false,
      highWaterMark: readChunkBytes,
    });
    // The file is closed here and not in the generator, because a generator that was never started runs no `finally`.
    stream.once('close', () => void file.close());
    return stream;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function requestedRange(
  file: FileReader,
  download: StoredDownload,
  request: ApiRequest,
  reply: ApiReply,
): ByteRange | undefined {
  const ifRange = request.headers['if-range'];
  if (ifRange !== undefined && ifRange !== download.etag) return undefined;
  try {
    return parseRangeHeader(request.headers.range, file.bytes);
  } catch (error) {
    if (error instanceof AppError) reply.header('Content-Range', `bytes */${file.bytes}`);
    throw error;
  }
}

/** The bytes to send: from `start` up to (not including) `end`. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a `Range` header: undefined means the whole file, also for several ranges or an unknown unit.
 * Throws 416 for a range beyond the end (threat D10).
 */
function parseRangeHeader(header: string | undefined, size: number): ByteRange | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  if (!match) return undefined;
  const [, firstText = '', lastText = ''] = match;
  if (firstText === '' && lastText === '') return undefined;
  const start = firstText === '' ? Math.max(0, size - Number(lastText)) : Number(firstText);
  const end = firstText === '' || lastText === '' ? size : Math.min(size, Number(lastText) + 1);
  if (firstText !== '' && lastText !== '' && Number(lastText) < Number(firstText)) return undefined; // reversed bounds: not a range
  if (start >= size || start >= end) {
    throw new AppError('range', `the file has ${size} bytes; the range begins beyond its end`);
  }
  return { start, end };
}

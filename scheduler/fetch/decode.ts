import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { final } from './failure.js';

/**
 * What undoes a `Content-Encoding`; undefined where there is none. It is removed exactly once, and what is inside is the
 * file, whose own compression is the reader's business (threats N8).
 */
export function decoderOf(encoding: string | undefined): Decoder | undefined {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const decoder = decoders.get(name);
  if (decoder === undefined) throw final('its Content-Encoding is not supported');
  return decoder;
}

/** Makes the stream that decodes a body which begins with `first`. */
export type Decoder = (first: Uint8Array) => Transform;

/** Whether the bytes were not what their encoding says. */
export function isDamage(error: unknown): boolean {
  const code = String((error as { code?: unknown } | null)?.code);
  // The last one: the decoder was done, and more came.
  return /^(Z_|ERR_BROTLI_|ERR__ERROR_|ERR_STREAM_PREMATURE_CLOSE$)/.test(code);
}

const decoders = new Map<string, Decoder>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  // Some hosts mean raw deflate, others the zlib format, whose first byte names method 8.
  ['deflate', (first) => (((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw())],
]);

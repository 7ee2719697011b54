import type { IncomingHttpHeaders } from 'node:http';

/** From where a broken transfer may go on: so many bytes are here, of the file that had this tag. */
export interface Bookmark {
  readonly bytes: number;
  readonly tag: string;
}

/** The tag that promises the very same bytes; a weak one (`W/…`) promises only something like them (RFC 9110, 8.8.1). */
export function strongTag(headers: IncomingHttpHeaders): string | undefined {
  const tag = headers.etag;
  return tag !== undefined && /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(tag) ? tag : undefined;
}

/** Asks for the rest; a host whose file has changed sends all of the new one instead. */
export function rangeHeaders(mark: Bookmark | undefined): Readonly<Record<string, string>> {
  if (mark === undefined) return {};
  return { Range: `bytes=${mark.bytes}-`, 'If-Range': mark.tag };
}

/** How large the whole file is, if partial content goes on exactly at the mark up to its end; undefined if it does not. */
export function wholeBytes(headers: IncomingHttpHeaders, mark: Bookmark): number | undefined {
  const shown = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headers['content-range'] ?? '');
  if (shown === null) return undefined;
  const [from = -1, to = -1, whole = -1] = shown.slice(1).map(Number);
  if (from !== mark.bytes || to !== whole - 1) return undefined;
  if (headers.etag !== undefined && headers.etag !== mark.tag) return undefined;
  return whole;
}

import { isWebPort } from '../../engine/core/allowed-addresses.js';

/** Maximum length of a URL; signed URLs can have two or three thousand characters. */
const maxUrlLength = 8_192;

/**
 * Parses the URL of a manifest or of a redirect. If the URL is not allowed, returns the reason as the end of a message whose subject is the
 * URL. The addresses of the host are checked separately (`resolve.ts`).
 */
export function parseAllowedUrl(text: string, base?: URL): URL | string {
  if (text.length > maxUrlLength) return `is longer than ${maxUrlLength} characters`;
  const url = URL.parse(text, base);
  if (url === null) return 'is not a URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http or https';
  // Credentials would be stored in the catalogue and logged by proxies.
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  if (url.hostname === '') return 'has no host';
  if (!isWebPort(portOf(url))) return 'must have port 80, 443 or one from 1024 on';
  url.hash = '';
  return url;
}

/** Returns the port of a URL, or the default of its scheme. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/**
 * Returns the file name in a checked URL: the last segment of the path, decoded and with control, format and private-use characters and
 * the like (`\p{C}`) replaced by U+FFFD, or the host if that is empty.
 */
export function fileNameOf(text: string): string {
  const url = new URL(text);
  const last = url.pathname.split('/').at(-1) ?? '';
  return decodeUrlText(last).replaceAll(/\p{C}/gu, '\ufffd') || url.hostname;
}

function decodeUrlText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a `%` that begins no escape
  }
}

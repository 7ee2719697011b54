import { isWebPort } from '../../engine/core/allowed-addresses.js';

/** The longest URL that is fetched; signed ones have two or three thousand characters. */
const longest = 8_192;

/**
 * Reads the URL of a manifest, or says what is wrong with it: before anything is contacted, and for every redirect again.
 * Which address its host has comes later (`resolve.ts`).
 */
export function readUrl(text: string, base?: URL): URL | string {
  if (text.length > longest) return `is longer than ${longest} characters`;
  const url = URL.parse(text, base);
  if (url === null) return 'is not a URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http or https';
  // They would stay in the catalogue, and in the messages of proxies.
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  if (url.hostname === '') return 'has no host';
  if (!isWebPort(portOf(url))) return 'must have port 80, 443 or one from 1024 on';
  url.hash = '';
  return url;
}

/** The port that a URL means. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** What a URL that was checked calls its file: the last part of its path, else its host. */
export function fileNameOf(text: string): string {
  const url = new URL(text);
  const last = url.pathname.split('/').at(-1) ?? '';
  return decoded(last).replaceAll(/\p{C}/gu, '\ufffd') || url.hostname;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // `%` that is no escape stands for itself
  }
}

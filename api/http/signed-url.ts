import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../engine/core/errors.js';

/** Signs addresses that work without credentials, and checks them. */
export interface UrlSigner {
  /** Returns the path and query with a signature for one method and with the time `expiresAt`, in milliseconds, rounded up to seconds. */
  sign(method: 'GET' | 'PUT', target: string, expiresAt: number): string;
  /**
   * Throws 403 unless the path and query are exactly what was signed for this method, or for GET if it is HEAD. Returns the time at which
   * they expire, in milliseconds, which the caller compares.
   */
  verify(method: string, target: string): number;
}

/**
 * Signs and verifies URLs. The signature covers the method and the whole path and query before it, so that no byte of them can be changed
 * (threat D7). A new key invalidates all signed URLs.
 */
export function createUrlSigner(key: Uint8Array): UrlSigner {
  const signatureOf = (method: string, text: string): string =>
    createHmac('sha256', key).update(`${method} ${text}`).digest('base64url');
  return {
    sign(method, target, expiresAt) {
      const separator = target.includes('?') ? '&' : '?';
      const text = `${target}${separator}expires=${Math.ceil(expiresAt / 1000)}`;
      return `${text}&signature=${signatureOf(method, text)}`;
    },
    verify(method, target) {
      const match = /^(.*[?&]expires=(\d{1,12}))&signature=([A-Za-z0-9_-]{43})$/s.exec(target);
      const [, text = '', expires = '0', signature = ''] = match ?? [];
      // A URL that is signed for GET is valid for HEAD, too.
      const expectedSignature = signatureOf(method === 'HEAD' ? 'GET' : method, text);
      const isSame = timingSafeEqual(
        Buffer.from(expectedSignature),
        Buffer.from(signature.padEnd(43, ' ')),
      );
      if (!match || !isSame) throw new AppError('forbidden', 'the address is not valid');
      return Number(expires) * 1000;
    },
  };
}

/**
 * Returns the download parameter with the file's name. Clients find the name by searching the address for this literal text (contract
 * 11.4): `response-content-disposition=attachment%3B%20filename%3D<name>`.
 */
export function dispositionParameter(name: string): string {
  return `response-content-disposition=attachment%3B%20filename%3D${encodeFilename(name)}`;
}

/** Percent-encodes every character that some client would encode: a URL that a client changes has no valid signature. */
function encodeFilename(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Returns the `Content-Disposition` of a download: always an attachment, the name in plain ASCII and in full (RFC 6266). */
export function attachmentHeader(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%;]/g, '_');
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeFilename(name)}`;
}

import { createHash } from 'node:crypto';
import type { Written } from '../../engine/core/files.js';
import type { Promised } from '../jobs/import/source.js';
import { final } from './failure.js';

/*
 * Choice: `size` and `md5` of a manifest are those of the file. Where a host adds a `Content-Encoding`, they may as well be
 * those of the encoded bytes: hosts of genomes send `x.vcf.gz` as `x.vcf` encoded with gzip, and list the checksum of what
 * they store.
 */

/** Counts and sums up the bytes as they are sent, where they are not yet those of the file. */
export class Sent {
  bytes = 0;
  readonly #md5 = createHash('md5');

  add(piece: Uint8Array): void {
    this.bytes += piece.byteLength;
    this.#md5.update(piece);
  }

  written(): Written {
    return { bytes: this.bytes, md5: this.#md5.digest('hex') };
  }
}

/** Throws as soon as more has come than was promised. */
export function refuseMore(promised: Promised, bytes: number, sent: Sent | undefined): void {
  const most = promised.bytes;
  if (most === null || bytes <= most || (sent !== undefined && sent.bytes <= most)) return;
  throw final(`has more than the ${most} bytes that the manifest says (size)`);
}

/** Throws unless the bytes are those that were promised. */
export function keepPromise(promised: Promised, file: Written, sent: Written | undefined): void {
  const found = sent === undefined ? [file] : [file, sent];
  const { bytes, md5 } = promised;
  if (bytes !== null && !found.some((one) => one.bytes === bytes)) {
    throw final(`has ${file.bytes} bytes, not the ${bytes} that the manifest says (size)`);
  }
  if (md5 !== null && !found.some((one) => one.md5 === md5)) {
    throw final(`its md5 is ${file.md5}, not ${md5} as the manifest says`);
  }
}

import { createHash } from 'node:crypto';
import type { WrittenFile } from '../../engine/core/file-writer.js';
import { permanentFailure } from './fetch-failure.js';

/** Size in bytes and MD5 (lower-case hex) that a manifest declares for a file; null where it declares none. */
export interface ExpectedDigest {
  readonly md5: string | null;
  readonly bytes: number | null;
}

/*
 * Choice: `size` and `md5` of a manifest are those of the file. If the host adds a `Content-Encoding`, they may instead be
 * those of the encoded bytes: genomic archives send `x.vcf.gz` as `x.vcf` encoded with gzip, and list the checksum of the
 * stored file.
 */

/** Size and MD5 of a body as received, before its `Content-Encoding` is removed. */
export class EncodedBodyDigest {
  bytes = 0;
  readonly #md5 = createHash('md5');

  add(piece: Uint8Array): void {
    this.bytes += piece.byteLength;
    this.#md5.update(piece);
  }

  /** Returns the size and the MD5 digest. Must be called once, after the last `add`. */
  finish(): WrittenFile {
    return { bytes: this.bytes, md5: this.#md5.digest('hex'), sha256: '' };
  }
}

/**
 * Throws if `bytes` bytes of the decoded body exceed the expected size and, if the body is encoded, the bytes received so far (`encoded`)
 * exceed it, too.
 */
export function checkSizeLimit(
  expected: ExpectedDigest,
  bytes: number,
  encoded: EncodedBodyDigest | undefined,
): void {
  const maxBytes = expected.bytes;
  if (
    maxBytes === null ||
    bytes <= maxBytes ||
    (encoded !== undefined && encoded.bytes <= maxBytes)
  )
    return;
  throw permanentFailure(`has more than the ${maxBytes} bytes that the manifest says (size)`);
}

/** Throws unless the expected size, if any, is that of the file or of its encoded form, and likewise the expected MD5. */
export function checkDigest(
  expected: ExpectedDigest,
  file: WrittenFile,
  encoded: WrittenFile | undefined,
): void {
  const candidateFiles = encoded === undefined ? [file] : [file, encoded];
  const { bytes, md5 } = expected;
  if (bytes !== null && !candidateFiles.some((one) => one.bytes === bytes)) {
    throw permanentFailure(
      `has ${file.bytes} bytes, not the ${bytes} that the manifest says (size)`,
    );
  }
  if (md5 !== null && !candidateFiles.some((one) => one.md5 === md5)) {
    throw permanentFailure(`its md5 is ${file.md5}, not ${md5} as the manifest says`);
  }
}

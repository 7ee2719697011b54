import { InputError } from '../../engine/core/errors.js';
import { utf16OfByteOrderMark } from './utf16.js';

/** The compression of a file, determined from its first bytes and never from its name. */
export type Compression = 'plain' | 'gzip' | 'bgzf' | 'bzip2';

/** Returns the name of a file without an extension of its compression: `.gz`, `.bgz`, `.bgzf` or `.bz2`, in any letter case. */
export function removeCompressionExtension(filename: string): string {
  return filename.replace(/\.(?:gz|bgz|bgzf|bz2)$/i, '');
}

/**
 * Returns the compression of a file that begins with `head` (at least 18 bytes, if the file has as many). Throws InputError for files that
 * no reader can use: other compressions, archives, binary formats, UTF-32 and (unless `decodesUtf16`) UTF-16 with a byte order mark.
 */
export function detectCompression(
  head: Uint8Array,
  name: string,
  decodesUtf16 = false,
): Compression {
  if (decodesUtf16 && utf16OfByteOrderMark(head) !== undefined) return 'plain';
  for (const { what, magic, fix } of unsupportedFormats) {
    if (magic.every((byte, i) => head[i] === byte)) {
      throw new InputError({ file: name, byte: 0 }, `this is ${what}, not a text file: ${fix}`);
    }
  }
  if (isBzip2(head)) return 'bzip2';
  if (head[0] !== 0x1f || head[1] !== 0x8b) return 'plain';
  return bgzfBlockBytes(head, 0) > 0 ? 'bgzf' : 'gzip';
}

/**
 * Returns the size of the BGZF block at `at`; 0 if there is none. A block is a gzip member whose extra field has the subfield `BC` with the
 * size of the block minus one (SAM specification, section 4.1).
 */
export function bgzfBlockBytes(bytes: Uint8Array, at: number): number {
  if (at + 18 > bytes.length) return 0;
  const isMember = bytes[at] === 0x1f && bytes[at + 1] === 0x8b && (bytes[at + 3]! & 4) !== 0;
  if (!isMember) return 0;
  const extraEnd = at + 12 + bytes[at + 10]! + (bytes[at + 11]! << 8);
  for (let field = at + 12; field + 4 <= extraEnd && field + 6 <= bytes.length;) {
    const size = bytes[field + 2]! + (bytes[field + 3]! << 8);
    if (bytes[field] === 66 && bytes[field + 1] === 67 && size === 2)
      return bytes[field + 4]! + (bytes[field + 5]! << 8) + 1;
    field += 4 + size;
  }
  return 0;
}

/** Returns whether the bytes begin like bzip2, with `BZh` and a level; damage after that is reported when the file is read. */
function isBzip2(head: Uint8Array): boolean {
  if (head[0] !== 0x42 || head[1] !== 0x5a || head[2] !== 0x68) return false;
  return head.length < 4 || (head[3]! >= 49 && head[3]! <= 57);
}

/** Returns whether a text begins with the UTF-8 byte order mark. */
export function hasByteOrderMark(text: Uint8Array): boolean {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf;
}

const unsupportedFormats = [
  { what: 'a zip archive', magic: [0x50, 0x4b, 3, 4], fix: 'unpack it first' },
  { what: 'xz-compressed', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a], fix: 'compress it with gzip' },
  { what: 'zstd-compressed', magic: [0x28, 0xb5, 0x2f, 0xfd], fix: 'compress it with gzip' },
  { what: 'UTF-32 text', magic: [0xff, 0xfe, 0, 0], fix: 'save it as UTF-8' },
  { what: 'UTF-32 text', magic: [0, 0, 0xfe, 0xff], fix: 'save it as UTF-8' },
  { what: 'UTF-16 text', magic: [0xff, 0xfe], fix: 'save it as UTF-8' },
  { what: 'UTF-16 text', magic: [0xfe, 0xff], fix: 'save it as UTF-8' },
  { what: 'a BCF file', magic: [0x42, 0x43, 0x46], fix: 'convert it with bcftools view' },
  { what: 'a BAM file', magic: [0x42, 0x41, 0x4d, 1], fix: 'import variants, not reads' },
  { what: 'a CRAM file', magic: [0x43, 0x52, 0x41, 0x4d], fix: 'import variants, not reads' },
  { what: 'a Parquet file', magic: [0x50, 0x41, 0x52, 0x31], fix: 'export it as JSON lines' },
] as const;

import { damaged } from '../core/file-steps.js';
import type { FileReader } from '../core/files.js';

/*
 * Entries of a tar file: ustar (POSIX.1-1988, section 10.1.1), and a pax record of the size (POSIX.1-2001, "pax Extended Header") for files
 * of 8 GiB and more, whose size ustar cannot hold. Every tar program reads both.
 */

/** A regular file in a tar file. */
export interface TarEntry {
  readonly path: string;
  /** Position of its first byte in the tar file. */
  readonly from: number;
  readonly bytes: number;
}

const blockBytes = 512;
/** Sizes from here on need more than the eleven octal digits of ustar. */
const ustarLimit = 8 ** 11;
/** A pax header of ours has one short record; those of other programs hold times and owners, too. */
const maxPaxBytes = 1 << 20;

/** The header of a file that follows it; `modifiedAt` is in milliseconds. Paths have at most 100 ASCII characters. */
export function tarHeader(path: string, bytes: number, modifiedAt: number): Uint8Array {
  if (bytes < ustarLimit) return header('0', path, bytes, modifiedAt);
  const record = paxRecord('size', String(bytes));
  return Buffer.concat([
    header('x', 'pax', record.byteLength, modifiedAt),
    record,
    tarPadding(record.byteLength),
    header('0', path, ustarLimit - 1, modifiedAt),
  ]);
}

/** The zeros that follow a file, up to the next full block. */
export function tarPadding(bytes: number): Uint8Array {
  return new Uint8Array((blockBytes - (bytes % blockBytes)) % blockBytes);
}

/** The end of a tar file: two blocks of zeros. */
export const tarEnd: Uint8Array = new Uint8Array(2 * blockBytes);

/** The entries of a tar file, in order, without their bytes. Anything but regular files, and a file without an end, is `damaged`. */
export async function* tarEntries(
  file: Pick<FileReader, 'path' | 'bytes' | 'read'>,
): AsyncGenerator<TarEntry> {
  let size: number | undefined;
  for (let at = 0; ;) {
    const block = await file.read(at, blockBytes);
    if (block.byteLength < blockBytes) throw damaged(file.path, 'ends early');
    at += blockBytes;
    if (block.every((byte) => byte === 0)) return;
    if (octal(block, 148, 8) !== checksumOf(block))
      throw damaged(file.path, `has a damaged header at ${at - blockBytes}`);
    const type = textOf(block, 156, 1);
    const bytes = (type === 'x' ? undefined : size) ?? octal(block, 124, 12);
    if (!(at + bytes <= file.bytes)) throw damaged(file.path, 'ends early');
    if (type === 'x') {
      if (bytes > maxPaxBytes) throw damaged(file.path, 'has a pax header without end');
      size = paxSize(Buffer.from(await file.read(at, bytes)).toString());
    } else if (type === '0' || type === '') {
      size = undefined;
      yield { path: textOf(block, 0, 100), from: at, bytes };
    } else {
      throw damaged(file.path, `has an entry of the type ${type}`);
    }
    at += bytes + tarPadding(bytes).byteLength;
  }
}

function header(type: '0' | 'x', path: string, bytes: number, modifiedAt: number): Uint8Array {
  if (!/^[\x21-\x7e]{1,100}$/.test(path)) throw new Error(`${path} is no path of an archive`);
  const block = Buffer.alloc(blockBytes);
  block.write(path, 0, 'latin1');
  block.write('0000600\0', 100, 'latin1'); // mode
  block.write('0000000\0', 108, 'latin1'); // owner
  block.write('0000000\0', 116, 'latin1'); // group
  block.write(`${digits(bytes, 11)}\0`, 124, 'latin1');
  block.write(`${digits(Math.trunc(modifiedAt / 1_000), 11)}\0`, 136, 'latin1');
  block.write(type, 156, 'latin1');
  block.write('ustar\u000000', 257, 'latin1'); // magic and version
  block.write(`${digits(checksumOf(block), 6)}\0 `, 148, 'latin1');
  return block;
}

function digits(value: number, count: number): string {
  return value.toString(8).padStart(count, '0');
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Uint8Array {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length)
    length = String(length).length + rest.length;
  return Buffer.from(`${length}${rest}`);
}

function paxSize(records: string): number | undefined {
  const [, size] = /^\d+ size=(\d+)$/m.exec(records) ?? [];
  return size === undefined ? undefined : Number(size);
}

/** The sum of the bytes of a header, with blanks for the checksum itself. */
function checksumOf(block: Uint8Array): number {
  return block.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 32 : byte), 0);
}

function octal(block: Uint8Array, from: number, length: number): number {
  const text = textOf(block, from, length).trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

function textOf(block: Uint8Array, from: number, length: number): string {
  const [text = ''] = Buffer.from(block.subarray(from, from + length))
    .toString('latin1')
    .split('\0', 1);
  return text;
}

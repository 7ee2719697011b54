import { crc32, deflateRawSync } from 'node:zlib';

/** Compresses at most 65,280 bytes to one BGZF block (SAM specification, section 4.1). */
export function bgzfBlock(bytes: Uint8Array): Uint8Array {
  const body = deflateRawSync(bytes, { level: 6 });
  const block = Buffer.alloc(18 + body.length + 8);
  block.set([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 0x42, 0x43, 2, 0]);
  block.writeUInt16LE(block.length - 1, 16);
  block.set(body, 18);
  block.writeUInt32LE(crc32(bytes), 18 + body.length);
  block.writeUInt32LE(bytes.length, 22 + body.length);
  return block;
}

/** The empty block that marks the end of a complete file. */
export const bgzfEofBlock: Uint8Array = bgzfBlock(new Uint8Array());

import { crc32, deflateRawSync } from 'node:zlib';

/** Compresses a text as BGZF in blocks of `blockBytes` (SAM specification, section 4.1), with the end block if `hasEnd`. */
export function compressBgzf(text: Uint8Array, blockBytes = 65_280, hasEnd = true): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < text.length; at += blockBytes)
    blocks.push(bgzfBlock(text.subarray(at, at + blockBytes)));
  if (hasEnd) blocks.push(bgzfBlock(new Uint8Array(0)));
  return Buffer.concat(blocks);
}

function bgzfBlock(text: Uint8Array): Buffer {
  const data = deflateRawSync(text, { level: 1 });
  const head = Buffer.from([31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 66, 67, 2, 0, 0, 0]);
  head.writeUInt16LE(data.length + 25, 16);
  const tail = Buffer.alloc(8);
  tail.writeUInt32LE(crc32(text), 0);
  tail.writeUInt32LE(text.length, 4);
  return Buffer.concat([head, data, tail]);
}

import { describe, expect, test } from '@jest/globals';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { gzipMembers } from '../../writers/gzip-members.js';

const pack = promisify(gzip);

async function* from(blocks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const block of blocks) yield Buffer.from(block);
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

describe('gzip members', () => {
  test('unpack to the blocks in order, whichever was packed first', async () => {
    const blocks = Array.from({ length: 50 }, (_, i) => `block ${i}\n`.repeat(1 + (i % 7)));
    let turn = 0;
    const slowFirst = async (block: Uint8Array): Promise<Uint8Array> => {
      // Every third block lets others overtake it.
      if (turn++ % 3 === 0) for (let i = 0; i < 20; i++) await new Promise(setImmediate);
      return pack(block);
    };
    const packed = await collect(gzipMembers(from(blocks), slowFirst, 4));
    expect(gunzipSync(packed).toString()).toBe(blocks.join(''));
  });

  test('hold only a few blocks at a time', async () => {
    let open = 0;
    let most = 0;
    const counting = async (block: Uint8Array): Promise<Uint8Array> => {
      most = Math.max(most, ++open);
      const member = await pack(block);
      open -= 1;
      return member;
    };
    await collect(gzipMembers(from(Array.from({ length: 100 }, () => 'x')), counting, 3));
    expect(most).toBeLessThanOrEqual(4);
  });

  test('of nothing are a valid empty gzip file', async () => {
    const packed = await collect(gzipMembers(from([]), (block) => pack(block), 2));
    expect(gunzipSync(packed)).toHaveLength(0);
  });

  test('pass an error on after the others have ended', async () => {
    let isOver = false;
    const failing = async (block: Uint8Array): Promise<Uint8Array> => {
      if (block[0] === 48) throw new Error('no thread');
      await new Promise(setImmediate);
      isOver = true;
      return block;
    };
    await expect(collect(gzipMembers(from(['0', '1']), failing, 4))).rejects.toThrow('no thread');
    expect(isOver).toBe(true);
  });
});

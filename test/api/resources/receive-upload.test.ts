import type { IncomingMessage } from 'node:http';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { AppContext } from '../../../api/http/app-context.js';
import { receiveBody } from '../../../api/resources/uploads/receive-upload.js';
import { DataFolder } from '../../../engine/core/data-folder.js';

test('the memory of each piece of an upload is freed once it is written, unless others may share it', async () => {
  const data = new DataFolder(await mkdtemp(join(tmpdir(), 'strandlake-receive-')));
  try {
    await mkdir(data.scratch);
    const ownPiece = new Uint8Array(100_000).fill(65);
    const sharingPiece = new Uint8Array(2_000).fill(66).subarray(0, 1_000);
    const expectedBytes = Buffer.concat([ownPiece, sharingPiece]);
    const pieces = [ownPiece, sharingPiece];
    const body = {
      headers: {},
      async *[Symbol.asyncIterator]() {
        yield* pieces;
      },
    } as unknown as IncomingMessage;
    const nothingAnnounced = { size: null, md5: null };
    let writtenBytes = Buffer.alloc(0);
    await receiveBody(
      { data } as AppContext,
      1,
      body,
      nothingAnnounced,
      undefined,
      async (path) => {
        writtenBytes = await readFile(path);
      },
    );
    expect(writtenBytes.equals(expectedBytes)).toBe(true);
    expect(pieces.map(({ byteLength }) => byteLength)).toEqual([0, 1_000]);
  } finally {
    await rm(data.root, { recursive: true });
  }
});

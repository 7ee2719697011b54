import { createHash } from 'node:crypto';
import { mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { publishFile, replaceFile } from '../../../engine/core/atomic-files.js';
import { armFault, faultHits } from '../../../engine/core/faultpoint.js';
import { createFile, writeStream } from '../../../engine/core/file-writer.js';
import * as files from '../../../engine/core/files.js';

let root: string;
let folder: DataFolder;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-files-')));
  folder = await files.openDataFolder(root);
});
afterEach(() => rm(root, { recursive: true }));

const utf8Bytes = (value: string) => new TextEncoder().encode(value);

describe('the data folder', () => {
  test('names nothing outside its root (D1)', () => {
    const names = [
      '../x',
      '..',
      'a/b',
      'a\\b',
      'a\0',
      '/etc/passwd',
      'C:x',
      '',
      '.x',
      'x'.repeat(300),
    ];
    for (const name of names) expect(() => folder.path('exports', name)).toThrow('not a name');
    expect(() => folder.datasetFile(1, '../2/x.parquet')).toThrow('not a name');
    expect(() => folder.datasetFile(-1, 'x.parquet')).toThrow('not an id');
    expect(() => folder.requireInside('/etc/passwd')).toThrow('not in the data folder');
    expect(() => folder.requireInside(`${root}/datasets/../../etc`)).toThrow('not a name');
    expect(folder.requireInside(folder.object(7, 1))).toBe(folder.object(7, 1));
  });

  test('is refused with the reason where there can be none', async () => {
    const [file, link] = [join(root, 'file'), join(root, 'link')];
    await writeFile(file, '');
    await symlink(join(root, 'none'), link);
    const reasons = { [file]: 'is a file', [join(file, 'x')]: 'is below a file', [link]: 'is a link that leads nowhere' }; // prettier-ignore
    for (const [path, reason] of Object.entries(reasons)) {
      const message = `the data folder ${path} ${reason}; choose another with --data`;
      await expect(files.openDataFolder(path)).rejects.toMatchObject({ code: 'invalid', message });
    }
    // On Linux, creating a folder in /proc is not allowed and reports that the parent folder is missing.
    if (process.platform === 'linux')
      await expect(files.openDataFolder('/proc/a/b')).rejects.toMatchObject({
        code: 'invalid',
        message: 'no folder /proc/a can be created there; choose another with --data',
      });
  });

  test('is created with the folders above it', async () => {
    const { root: createdRoot } = await files.openDataFolder(join(root, 'a', 'b', 'c'));
    expect([createdRoot, (await stat(createdRoot)).mode & 0o777]).toEqual([
      join(root, 'a', 'b', 'c'),
      0o700,
    ]);
  });
});

describe('files', () => {
  test('fails to finish a file of which a flush failed while it was written (R6)', async () => {
    const piece = new Uint8Array(33 << 20);
    const file = await createFile(folder.object(13, 1));
    armFault({ code: 'EIO', nth: 1, operations: ['flush'] });
    try {
      await file.write(piece);
      await expect(file.finish()).rejects.toThrow(/EIO/);
    } finally {
      armFault(undefined);
      await file.abort();
    }
    expect(await readdir(join(root, 'objects'))).toEqual([]);
    const goodFile = await createFile(folder.object(13, 1), { md5: true });
    for (let i = 0; i < 3; i++) await goodFile.write(piece);
    const md5 = createHash('md5').update(piece).update(piece).update(piece).digest('hex');
    expect(await goodFile.finish()).toEqual({ bytes: 3 * piece.length, md5, sha256: '' });
  });

  test.each([
    ['while it is written', false, 3], // flushes after 32 and 64 MB, and at the end
    ['as often as its caller does, and not besides', true, 5], // flushes after every 16 of 66 MB, and at the end
  ])('flushes a file %s', async (_, isFlushedByCaller, flushCount) => {
    for (const nth of [flushCount, flushCount + 1]) {
      armFault({ code: 'EIO', nth, operations: ['flush'] });
      const file = await createFile(folder.object(15, 1));
      try {
        for (let mb = 1; mb <= 66; mb++) {
          await file.write(new Uint8Array(1 << 20));
          if (isFlushedByCaller && mb % 16 === 0) await file.flush();
        }
        await file.finish().catch(() => undefined);
        expect([nth, faultHits()]).toEqual([nth, nth === flushCount ? ['flush'] : []]);
      } finally {
        armFault(undefined);
        await file.abort();
      }
    }
  });

  test('cannot finish a file of which a flush that its caller asked for has failed (R6)', async () => {
    const file = await createFile(folder.object(16, 1));
    armFault({ code: 'EIO', nth: 1, operations: ['flush'] });
    try {
      await file.write(utf8Bytes('lost'));
      await expect(file.flush()).rejects.toThrow(/EIO/);
      await expect(file.finish()).rejects.toThrow(/EIO/);
    } finally {
      armFault(undefined);
      await file.abort();
    }
  });

  test('never repeats a flush after one in the background has failed (R6)', async () => {
    const file = await createFile(folder.object(17, 1));
    armFault({ code: 'EIO', nth: 1, operations: ['flush'] });
    try {
      await file.write(new Uint8Array(33 << 20));
      await expect(file.flush()).rejects.toThrow(/EIO/);
      await expect(file.flush()).rejects.toThrow(/EIO/);
    } finally {
      armFault(undefined);
      await file.abort();
    }
  });

  test('counts bytes and md5 while writing, and reads ranges', async () => {
    const path = folder.object(12, 1);
    const writtenFile = await writeStream(path, [utf8Bytes('hello '), utf8Bytes('world')]);
    expect(writtenFile).toEqual({ bytes: 11, md5: '5eb63bbbe01eeed093cb22bb8f5acdc3', sha256: '' });
    const file = await files.openFile(path);
    try {
      expect(new TextDecoder().decode(await file.read(6, 100))).toBe('world');
      expect((await file.read(50, 10)).byteLength).toBe(0);
      let wholeText = '';
      for await (const piece of file.stream(0, 11, 4)) wholeText += new TextDecoder().decode(piece);
      expect(wholeText).toBe('hello world');
    } finally {
      await file.close();
    }
  });

  test('leaves no file after a write that failed or was too large', async () => {
    async function* failingChunks() {
      yield utf8Bytes('abc');
      throw new Error('the client went away');
    }
    await expect(writeStream(folder.object(1, 1), failingChunks())).rejects.toThrow('went away');
    const tooLargeWrite = writeStream(folder.object(1, 1), [utf8Bytes('abcdef')], { maxBytes: 5 });
    await expect(tooLargeWrite).rejects.toMatchObject({ code: 'too-large' });
    expect(await files.listFolder(folder.objects)).toEqual([]);
  });

  test('publishes a name once, and leaves no temporary file', async () => {
    const path = folder.path('exports', 'one.json');
    expect(await publishFile(path, utf8Bytes('first'))).toBe(true);
    expect(await publishFile(path, utf8Bytes('second'))).toBe(false);
    expect(new TextDecoder().decode(await files.readFile(path))).toBe('first');
    expect(await readdir(folder.exports)).toEqual(['one.json']);
  });

  test('lets exactly one of many publishers have the name', async () => {
    const path = folder.path('exports', 'race.json');
    const tries = Array.from({ length: 20 }, (_, i) => publishFile(path, utf8Bytes(String(i))));
    expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
  });

  test('replaces a file as a whole', async () => {
    await replaceFile(folder.signingKey, utf8Bytes('a'));
    await replaceFile(folder.signingKey, utf8Bytes('b'));
    expect(new TextDecoder().decode(await files.readFile(folder.signingKey))).toBe('b');
    expect(await readdir(join(root, 'keys'))).toEqual(['signing.key']);
  });

  test('refuses a planted symbolic link, as a file and as a folder (D2)', async () => {
    const outsideFolder = await mkdtemp(join(tmpdir(), 'strandlake-outside-'));
    try {
      await writeFile(join(outsideFolder, 'secret'), 'secret');
      await symlink(join(outsideFolder, 'secret'), folder.object(5, 1));
      await expect(files.openFile(folder.object(5, 1))).rejects.toMatchObject({ code: 'damaged' });
      await expect(files.readFileStats(folder.object(5, 1))).rejects.toMatchObject({
        code: 'damaged',
      });
      await symlink(outsideFolder, folder.dataset(6));
      const insidePath = folder.datasetFile(6, 'secret');
      await expect(files.openFile(insidePath)).rejects.toThrow('symbolic link');
      await expect(createFile(`${insidePath}2`)).rejects.toThrow('symbolic link');
      await files.sweepFolder(folder.datasets);
      expect(await readdir(outsideFolder)).toEqual(['secret']);
    } finally {
      await rm(outsideFolder, { recursive: true });
    }
  });

  test('calls a missing file damaged and names it without the root', async () => {
    const openingMissingFile = files.openFile(folder.object(9, 1));
    await expect(openingMissingFile).rejects.toMatchObject({ code: 'damaged' });
    await expect(openingMissingFile).rejects.toThrow(/objects\/9-1 is missing/);
    expect(await files.readFileStats(folder.object(9, 1))).toBeUndefined();
  });

  test('opens files named on the command line, including links', async () => {
    const outsideFolder = await mkdtemp(join(tmpdir(), 'strandlake-outside-'));
    try {
      await writeFile(join(outsideFolder, 'my.vcf'), 'hello');
      await symlink(join(outsideFolder, 'my.vcf'), join(outsideFolder, 'link.vcf'));
      const file = await files.openLocalFile(join(outsideFolder, 'link.vcf'));
      expect(file.bytes).toBe(5);
      await file.close();
      await expect(files.openLocalFile(outsideFolder)).rejects.toThrow('not a regular file');
    } finally {
      await rm(outsideFolder, { recursive: true });
    }
  });
});

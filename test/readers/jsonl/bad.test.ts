import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { toErrorValue } from '../../../engine/core/errors.js';
import { errorMessage } from '../../../engine/ingest/findings.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { jsonlReader } from '../../../readers/jsonl/jsonl.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import { loadChunk, releaseChunk } from '../../../readers/source/load-chunk.js';
import { openSource } from '../../../readers/source/open-source.js';
import { importChunks } from '../import-pieces.js';

const fixtureFolder = 'test/fixtures/jsonl/bad';
const expectedOutcomeByFile = new Map(
  readFileSync(`${fixtureFolder}/expected.txt`, 'utf8')
    .split('\n')
    .filter((line) => line.includes(' ==>'))
    .map((line) => line.split(/ ==> ?/) as [string, string]),
);

test.each(readdirSync(fixtureFolder).filter((file) => file.startsWith('json_')))(
  '%s has the outcome of the table',
  async (file) => {
    const outcome = expectedOutcomeByFile.get(file);
    expect(outcome).toBeDefined();
    const [, words] = /^error (.*)$/.exec(outcome!) ?? [];
    const { error, records } = await importFixture(file);
    if (words === undefined) expect([error, records]).toEqual([null, outcome]);
    else {
      expect(error).toContain(file);
      expect(error).toContain(words);
      expect(error!.length).toBeLessThan(300);
    }
  },
);

/** Returns the error message of an import, or its records. */
async function importFixture(file: string): Promise<{ error: string | null; records: string }> {
  let source;
  try {
    source = await openSource(resolve(fixtureFolder, file), file);
    const head = await jsonlReader.header(source.head, null);
    const loadedChunks: { readonly ref: ChunkRef; readonly bytes: Uint8Array }[] = [];
    for await (const { ref } of source.chunks(head.bodyOffset, 1000))
      loadedChunks.push({ ref, bytes: await loadChunk(ref) });
    const { rows, findings } = importChunks(loadedChunks.map(({ bytes }) => bytes));
    for (const { ref, bytes } of loadedChunks) releaseChunk(ref, bytes);
    return {
      error: errorMessage(file, findings),
      records: rows.map((row) => stringifyJson(row)).join('\n'),
    };
  } catch (error) {
    return { error: toErrorValue(error).message, records: '' };
  } finally {
    await source?.close();
  }
}

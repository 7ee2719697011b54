import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  readers,
  readerForFile,
  readerNamed,
  detectReaderForContent,
} from '../../readers/index.js';
import { openSource } from '../../readers/source/open-source.js';

/** The folder with one folder of files for each format; `STRANDLAKE_SAMPLES=<folder>` names another one. */
const samplesFolder = resolve(process.env['STRANDLAKE_SAMPLES'] ?? 'test/fixtures');

/**
 * The name of the reader that recognizes the files of a folder by their content. For tables (`csv`, `tsv`) the file name decides, and the
 * value only says that they are tables.
 */
const formatByFolder = {
  vcf: 'vcf',
  jsonl: 'json',
  csv: 'csv',
  tsv: 'tsv',
  maf: 'tsv',
  gff3: 'gff3',
  gtf: 'gtf',
  xml: 'xml',
  nirvana: 'nirvana',
  bed: 'bed',
} as const;

test('every reader that recognizes its files has a folder here', () => {
  const names = readers
    .filter(({ recognizes }) => recognizes !== undefined)
    .map(({ name }) => name);
  const readersWithFolder = new Set<string>(Object.values(formatByFolder));
  const advice = names
    .filter((name) => !readersWithFolder.has(name))
    .map((name) => `add a folder of ${name} to \`formatByFolder\`, and its extension below`);
  expect(advice).toEqual([]);
});

async function recognizeReader(path: string, readerName: string): Promise<string> {
  const source = await openSource(path, path);
  try {
    return (await detectReaderForContent(readerNamed(readerName), source.head)).name;
  } finally {
    await source.close();
  }
}

const sampleFiles = readdirSync(samplesFolder, { recursive: true, withFileTypes: true })
  .filter(
    (entry) =>
      entry.isFile() && /\.(vcf|json|csv|tsv|txt|maf|gff3?|gtf|xml|bed)(\.gz)?$/.test(entry.name),
  )
  .map(({ parentPath, name }) => join(parentPath, name))
  .filter((path) => !path.includes('/bad/'))
  .flatMap((path) => {
    const format = Object.entries(formatByFolder).find(([name]) =>
      path.slice(samplesFolder.length).startsWith(`/${name}/`),
    );
    if (!format) return [];
    // Tables in folders of other formats are expected results from an independent tool.
    const isTable = /\.(tsv|txt)(\.gz)?$/.test(path);
    const isOracle = isTable && format[1] !== 'csv' && format[1] !== 'tsv';
    return isOracle ? [] : [{ path, format: format[1] }];
  });

test.each(sampleFiles)('$path is recognized by its content', async ({ path, format }) => {
  const namedReader = readerForFile(path).name;
  // The folder of CSV fixtures contains tables with many extensions.
  const isTable = format === 'csv' || format === 'tsv';
  expect(await recognizeReader(path, namedReader)).toBe(isTable ? namedReader : format);
});

const recognizableFiles = sampleFiles.filter(({ format }) => format !== 'csv' && format !== 'tsv');

test.each(recognizableFiles)('$path is recognized whatever its name', async ({ path, format }) => {
  expect(await recognizeReader(path, 'csv')).toBe(format);
});

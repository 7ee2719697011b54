import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { readerForFile, readerNamed, readerOfContent } from '../../readers/index.js';
import { openSource } from '../../readers/source/open.js';

/** Further files: `STRANDLAKE_SAMPLES=<folder>` with one folder for each format. */
const folder = resolve(process.env['STRANDLAKE_SAMPLES'] ?? 'test/fixtures');

/** The format of the files in each folder, whatever their names. */
const formats = {
  vcf: 'vcf',
  jsonl: 'json',
  csv: 'csv',
  tsv: 'tsv',
  maf: 'tsv',
  gff3: 'gff3',
  gtf: 'gtf',
  xml: 'xml',
  nirvana: 'nirvana',
} as const;

async function readerOf(path: string, named: string): Promise<string> {
  const source = await openSource(path, path);
  try {
    return (await readerOfContent(readerNamed(named), source.head)).name;
  } finally {
    await source.close();
  }
}

const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter(
    (entry) =>
      entry.isFile() && /\.(vcf|json|csv|tsv|txt|maf|gff3?|gtf|xml)(\.gz)?$/.test(entry.name),
  )
  .map(({ parentPath, name }) => join(parentPath, name))
  .filter((path) => !path.includes('/bad/'))
  .flatMap((path) => {
    const format = Object.entries(formats).find(([name]) =>
      path.slice(folder.length).startsWith(`/${name}/`),
    );
    if (!format) return [];
    // The tables in the other folders are expected results of a second tool.
    const isTable = /\.(tsv|txt)(\.gz)?$/.test(path);
    const isOracle = isTable && format[1] !== 'csv' && format[1] !== 'tsv';
    return isOracle ? [] : [{ path, format: format[1] }];
  });

test.each(files)('$path is recognized by its content', async ({ path, format }) => {
  const namedReader = readerForFile(path).name;
  // The folder of CSV fixtures has tables of every extension.
  const isTable = format === 'csv' || format === 'tsv';
  expect(await readerOf(path, namedReader)).toBe(isTable ? namedReader : format);
});

const recognizableFiles = files.filter(({ format }) => format !== 'csv' && format !== 'tsv');

test.each(recognizableFiles)('$path is recognized whatever its name', async ({ path, format }) => {
  expect(await readerOf(path, 'csv')).toBe(format);
});

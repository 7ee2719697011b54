import { expect, test } from '@jest/globals';
import { readerForFile, readers } from '../../../../readers/index.js';
import { canImport, readerByHints } from '../../../../scheduler/jobs/import/reader-choice.js';

const extensions = readers.flatMap((reader) => reader.extensions);

test.each(['', '.gz', '.bgz', '.bgzf', '.bz2', '.BZ2'])('a file name with a known extension before "%s" selects its reader', (compression) => {
  for (const extension of extensions) {
    const name = `sample.${extension}${compression}`;
    const { name: reader } = readerForFile(name);
    expect([name, canImport(name)]).toEqual([name, true]);
    // If the name of a manifest's entry, which is preferred, has no known extension, the name of the file selects the reader.
    const hints = { names: ['download', name], format: null, readerParams: null };
    expect([name, readerByHints(hints, null)]).toEqual([name, { reader, isNamed: false }]);
    const format = { names: ['download'], format: `.${extension}${compression}`, readerParams: null };
    const { isNamed } = readerByHints(format, null);
    expect([name, isNamed]).toEqual([name, true]);
  }
}); // prettier-ignore

test.each(['sample', 'sample.zip', 'vcf', 'sample.vcf.zip', 'sample.gz'])('%s selects none', (name) => {
  expect(canImport(name)).toBe(false);
}); // prettier-ignore

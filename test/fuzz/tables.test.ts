import { expect, test } from '@jest/globals';
import { readers } from '../../readers/index.js';
import { fixtureFolders } from './corpus.js';
import { repeatedTexts, dictionaryWords } from './dictionary.js';
import { textGenerators } from './grammar.js';
import { paramGenerators } from './params.js';

test.each([
  ['fixtureFolders of test/fuzz/corpus.ts', fixtureFolders],
  ['dictionaryWords of test/fuzz/dictionary.ts', dictionaryWords],
  ['repeatedTexts of test/fuzz/dictionary.ts', repeatedTexts],
  ['textGenerators of test/fuzz/grammar.ts', textGenerators],
  ['paramGenerators of test/fuzz/params.ts', paramGenerators],
])('%s have an entry for every reader', (_, table) => {
  const names = readers.map(({ name }) => name);
  expect(Object.keys(table).sort()).toEqual(names.sort());
});

import { expect, test } from '@jest/globals';
import { readers } from '../../readers/index.js';
import { folders } from './corpus.js';
import { nestings, dictionaryWords } from './dictionary.js';
import { makers } from './grammar.js';
import { knownParams } from './params.js';

test.each([
  ['folders of test/fuzz/corpus.ts', folders],
  ['dictionaryWords of test/fuzz/dictionary.ts', dictionaryWords],
  ['nestings of test/fuzz/dictionary.ts', nestings],
  ['makers of test/fuzz/grammar.ts', makers],
  ['knownParams of test/fuzz/params.ts', knownParams],
])('%s have an entry for every reader', (_, table) => {
  const names = readers.map(({ name }) => name);
  expect(Object.keys(table).sort()).toEqual(names.sort());
});

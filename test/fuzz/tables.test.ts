import { expect, test } from '@jest/globals';
import { readers } from '../../readers/index.js';
import { folders } from './corpus.js';
import { nestings, words } from './dictionary.js';
import { makers } from './grammar.js';
import { known } from './params.js';

test.each([
  ['folders of test/fuzz/corpus.ts', folders],
  ['words of test/fuzz/dictionary.ts', words],
  ['nestings of test/fuzz/dictionary.ts', nestings],
  ['makers of test/fuzz/grammar.ts', makers],
  ['known of test/fuzz/params.ts', known],
])('%s have an entry for every reader', (_, table) => {
  const names = readers.map(({ name }) => name);
  expect(Object.keys(table).sort()).toEqual(names.sort());
});

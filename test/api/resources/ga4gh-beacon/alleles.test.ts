import { expect, test } from '@jest/globals';
import { standardBases, variantTypeOf } from '../../../../api/resources/ga4gh-beacon/alleles.js';

/** The forms of ALT in VCF 4.5, sections 1.6.1 and 5.4, most with the bases of the examples there. */
test.each([
  ['A', 'G', 'SNP', 'G'],
  ['AC', 'GT', 'MNP', 'GT'],
  ['C', 'CT', 'INS', 'CT'],
  ['CT', 'C', 'DEL', 'C'],
  ['AC', 'G', 'INDEL', 'G'],
  ['A', 'A', 'no_sequence_alteration', 'A'],
  ['A', '*', 'DEL', '-'],
  ['T', '<DEL:ME>', 'DEL', 'N'],
  ['G', 'G]17:198982]', 'BND', 'N'],
  ['A', ']13:123456]T', 'BND', 'N'],
  ['C', '.TC', 'BND', 'N'],
  ['C', 'CT.', 'BND', 'N'],
  ['C', 'ct.', 'BND', 'N'],
])('%s to %s is %s, with the alternate bases %s', (reference, alternate, type, bases) => {
  expect(variantTypeOf({ reference, length: reference.length, alternate })).toBe(type);
  expect(standardBases(alternate)).toBe(bases);
});

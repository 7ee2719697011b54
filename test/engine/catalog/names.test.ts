import { expect, test } from '@jest/globals';
import {
  checkFilename,
  checkVaultName,
  foldName,
  numberedName,
} from '../../../engine/catalog/object-names.js';

test('D1: names that differ only in case or Unicode normalisation are equal', () => {
  const sameNames: readonly (readonly string[])[] = [
    ['Runs', 'rUNS'],
    ['é', 'e\u0301', 'É'],
    ['Straße', 'STRASSE'],
    ['ΟΔΟΣ', 'οδος', 'οδοσ'],
    ['ﬁle', 'FILE'],
  ];
  for (const [first, ...others] of sameNames) {
    for (const other of others) expect([other, foldName(other)]).toEqual([other, foldName(first!)]);
  }
  expect(foldName('a')).not.toBe(foldName('b'));
});

test('folding a path equals folding its components', () => {
  const names = ['Ünï', 'ΑΣ', 'e\u0301', '\u0301x', '𝒳', 'İ'];
  for (const a of names) {
    for (const b of names) expect(foldName(`/${a}/${b}`)).toBe(`/${foldName(a)}/${foldName(b)}`);
  }
});

test('D1: rejects invalid names', () => {
  for (const name of [
    '',
    ' ',
    'a/b',
    '/',
    '..',
    '.',
    'a\0b',
    'a\nb',
    '\u007f',
    '\ud800',
    'x'.repeat(1_001),
  ]) {
    expect(() => checkFilename('filename', name)).toThrow(/name|blank/);
  }
  for (const name of [
    'CON',
    'a..b',
    '...',
    'a\\b',
    '\u202Etxt',
    '😀',
    'a ',
    'x'.repeat(1_000),
    '$&',
  ]) {
    expect(() => checkFilename('filename', name)).not.toThrow();
  }
  for (const name of ['a:b', '~', '~x', 'a*', 'a?']) {
    expect(() => checkVaultName('name', name)).toThrow('vault name');
  }
});

test('numbers are inserted before the extension of a file', () => {
  const cases = [
    ['a.vcf', 'a-1.vcf'],
    ['a.b.vcf.gz', 'a.b-1.vcf.gz'],
    ['a', 'a-1'],
    ['.bashrc', '.bashrc-1'],
    ['a.', 'a.-1'],
    ['a.gz', 'a-1.gz'],
    ['a.b c', 'a.b c-1'],
  ];
  for (const [name, numberedFilename] of cases)
    expect(numberedName(name!, 1, true)).toBe(numberedFilename);
  expect(numberedName('v1.2', 3, false)).toBe('v1.2-3');
});

import { expect, test } from '@jest/globals';
import {
  normalizePath,
  parseFullPath,
  requireFullPath,
} from '../../../engine/catalog/full-path.js';

/** Each line is `text ==> domain | vault | path`, where `-` stands for the caller's own domain or personal vault. */
const fullPathCases = `
~                              ==> - | - | /
~/                             ==> - | - | /
~/x                            ==> - | - | /x
~:/x/y                         ==> - | - | /x/y
~:x                            ==> - | - | /x
lab                            ==> - | lab | /
lab:                           ==> - | lab | /
lab/x                          ==> - | lab | /x
lab:/x                         ==> - | lab | /x
lab://x///y/                   ==> - | lab | /x/y
acme:lab                       ==> acme | lab | /
acme:lab:                      ==> acme | lab | /
acme:lab/x                     ==> acme | lab | /x
acme:lab:/x                    ==> acme | lab | /x
acme:lab:x/y                   ==> acme | lab | /x/y
acme:~/x                       ==> acme | - | /x
Acme:My Lab:/Runs/A b          ==> Acme | My Lab | /Runs/A b
lab/folder1/project: ABCD      ==> - | lab | /folder1/project: ABCD
acme:lab:/folder1/a:b:/c       ==> acme | lab | /folder1/a:b:/c
acme:lab:a: b/c                ==> acme | lab | /a: b/c
`;

for (const line of fullPathCases.trim().split('\n')) {
  const [text = '', result = ''] = line.split('==>').map((part) => part.trim());
  test(`reads ${text}`, () => {
    const [domain, vault, path] = result.split(' | ');
    const expectedName = (name: string | undefined): string | null =>
      name === '-' ? null : (name ?? '');
    expect(parseFullPath(text)).toEqual({
      domain: expectedName(domain),
      vault: expectedName(vault),
      path,
    });
  });
}

test('rejects text without a vault', () => {
  for (const text of ['', '/', '/x', ':', ':/x', ':lab:/x', '::x']) {
    expect([text, parseFullPath(text)]).toEqual([text, undefined]);
    expect(() => requireFullPath('dataset', text)).toThrow('not a full path');
  }
});

test('normalizes paths', () => {
  expect(['', '/', 'a', 'a/', '//a//b//'].map(normalizePath)).toEqual([
    '/',
    '/',
    '/a',
    '/a',
    '/a/b',
  ]);
});

import { expect } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Expects that a page of the documents, which is made from the sources, is up to date. If it is not, the page is written and the test
 * fails: commit the new page, and the next run passes.
 */
export function expectPage(path: string, wanted: string): void {
  const isCurrent = readFileSync(path, 'utf8') === wanted;
  if (!isCurrent) writeFileSync(path, wanted);
  expect(isCurrent ? 'up to date' : `rewritten: commit the new ${path}`).toBe('up to date');
}

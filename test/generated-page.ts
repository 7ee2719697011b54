import { expect } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Expects that a page of the documents that is generated from the sources is up to date. If it is not, writes the page and fails the test;
 * after the new page has been committed, the test passes.
 */
export function expectCurrentPage(path: string, expectedText: string): void {
  const isCurrent = readFileSync(path, 'utf8') === expectedText;
  if (!isCurrent) writeFileSync(path, expectedText);
  expect(isCurrent ? 'up to date' : `rewritten: commit the new ${path}`).toBe('up to date');
}

/**
 * Expects that the part of a page between `<!-- name: … -->` and `<!-- end of name -->` is `expectedText`. If it is not, writes the page
 * and fails the test, as `expectCurrentPage` does.
 */
export function expectCurrentSection(path: string, name: string, expectedText: string): void {
  const text = readFileSync(path, 'utf8');
  const parts = text.split(new RegExp(`(?<=<!-- ${name}: .* -->\n)|(?=<!-- end of ${name} -->)`));
  if (parts.length !== 3) throw new Error(`${path} has no section ${name}`);
  expectCurrentPage(path, `${parts[0]}\n${expectedText}\n\n${parts[2]}`);
}

/** Returns a Markdown table as Prettier formats it; the first row is the header. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) => Math.max(3, ...rows.map((row) => row[i]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  const [header, ...rest] = rows;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(header!), rule, ...rest.map(line)].join('\n');
}

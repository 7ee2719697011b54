import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { errorMessage } from '../../../engine/ingest/findings.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Column, Columns, StoredType } from '../../../engine/core/types.js';
import { importLines } from '../import-pieces.js';
import { describeColumnTypes } from '../rows.js';

// F7: tests a table of lines, each of which is imported alone.
const lineCases = readFileSync('test/fixtures/jsonl/lines.txt', 'utf8')
  .split('\n')
  .filter((line) => line.includes(' ==> '))
  .map((line) => line.split(' ==> ') as [string, string]);

test('F7: the table has at least 120 lines', () => {
  expect(lineCases.length).toBeGreaterThanOrEqual(120);
});

test.each(lineCases)('F7: %s ==> %s', (source, expected) => {
  const declaration = /^\[(\w+):(\[?(?:\{.*?\}|\w+)\]?)\] /.exec(source);
  const line = source.slice(declaration?.[0].length ?? 0);
  const existing = declaration ? [parseColumn(declaration[1]!, declaration[2]!)] : [];
  const imported = importLines(bytesWithEscapes(line), { existing });
  const { findings, columns, rows } = imported;
  expect(rows.length + imported.rejected).toBe(1);
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();

  const error = /^error (\d+) (.*)$/.exec(expected);
  if (error) {
    expect(errorMessage('file.json', findings)).toContain(error[2]!);
    expect(findings.counts[error[1]!]).toBe(1);
    expect(findings.errors).toBe(1);
    expect(rows).toEqual([]);
    return;
  }
  const [record, types, warning] = expected.split(/ ; ?/);
  expect(errorMessage('file.json', findings)).toBeNull();
  expect(rows.map((row) => stringifyJson(row))).toEqual([stringifyJson(expectedRecord(record!))]);
  expect(describeColumnTypes(columns)).toBe(new TextDecoder().decode(bytesWithEscapes(types!)));
  const [, code, words] = /^warning (\d+) (.*)$/.exec(warning ?? '') ?? [];
  // Code 202, for names that break the strict rules, is left out, because it has its own test.
  const codes = Object.keys(findings.counts).filter((key) => key !== '202');
  expect(codes).toEqual(code === undefined ? [] : [code]);
  if (words !== undefined) {
    const messages = findings.examples.filter((finding) => String(finding.code) === code);
    expect(messages.map(({ message }) => message).join()).toContain(words);
  }
});

/** Returns the bytes of a text in which `<XX>` stands for the byte with this hexadecimal value. */
function bytesWithEscapes(text: string): Uint8Array {
  const parts = text.split(/<([0-9A-F]{2})>/);
  return Buffer.concat(
    parts.map((part, i) => (i % 2 ? Buffer.from([parseInt(part, 16)]) : Buffer.from(part))),
  );
}

function parseColumn(name: string, text: string): Column {
  if (text.startsWith('[')) return { ...parseColumn(name, text.slice(1, -1)), isList: true };
  const common = { name, physical: name, isList: false, isDeclared: true as const };
  if (!text.startsWith('{')) return { ...common, type: text as StoredType };
  const children: Columns = text
    .slice(1, -1)
    .split(' ')
    .map((child) => parseColumn(...(child.split(':') as [string, string])));
  return { ...common, type: 'object', children };
}

function expectedRecord(text: string): unknown {
  return parseJson(bytesWithEscapes(text));
}

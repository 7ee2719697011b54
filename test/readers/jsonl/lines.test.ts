import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { errorMessage } from '../../../engine/ingest/findings.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Column, Columns, StoredType } from '../../../engine/core/types.js';
import { importLines } from '../import-pieces.js';
import { typesOf } from '../rows.js';

// F7: a table of lines, each imported alone.
const cases = readFileSync('test/fixtures/jsonl/lines.txt', 'utf8')
  .split('\n')
  .filter((line) => line.includes(' ==> '))
  .map((line) => line.split(' ==> ') as [string, string]);

test('F7: the table has at least 120 lines', () => {
  expect(cases.length).toBeGreaterThanOrEqual(120);
});

test.each(cases)('F7: %s ==> %s', (source, expected) => {
  const declared = /^\[(\w+):(\[?(?:\{.*?\}|\w+)\]?)\] /.exec(source);
  const line = source.slice(declared?.[0].length ?? 0);
  const existing = declared ? [column(declared[1]!, declared[2]!)] : [];
  const imported = importLines(raw(line), { existing });
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
  expect(typesOf(columns)).toBe(new TextDecoder().decode(raw(types!)));
  const [, code, words] = /^warning (\d+) (.*)$/.exec(warning ?? '') ?? [];
  // Names that break the strict rules (validation code 202) have a test of their own.
  const codes = Object.keys(findings.counts).filter((found) => found !== '202');
  expect(codes).toEqual(code === undefined ? [] : [code]);
  if (words !== undefined) {
    const messages = findings.examples.filter((finding) => String(finding.code) === code);
    expect(messages.map(({ message }) => message).join()).toContain(words);
  }
});

/** The bytes of a text in which `<XX>` is the byte with this hexadecimal value. */
function raw(text: string): Uint8Array {
  const parts = text.split(/<([0-9A-F]{2})>/);
  return Buffer.concat(
    parts.map((part, i) => (i % 2 ? Buffer.from([parseInt(part, 16)]) : Buffer.from(part))),
  );
}

function column(name: string, text: string): Column {
  if (text.startsWith('[')) return { ...column(name, text.slice(1, -1)), isList: true };
  const common = { name, physical: name, isList: false, isDeclared: true as const };
  if (!text.startsWith('{')) return { ...common, type: text as StoredType };
  const children: Columns = text
    .slice(1, -1)
    .split(' ')
    .map((child) => column(...(child.split(':') as [string, string])));
  return { ...common, type: 'object', children };
}

function expectedRecord(text: string): unknown {
  return parseJson(raw(text));
}

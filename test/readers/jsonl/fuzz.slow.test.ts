import { expect, test } from '@jest/globals';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Row } from '../../../engine/core/types.js';
import { seededRandom, type Random } from '../../random.js';
import { castRecord, randomText } from '../records.js';
import { importLines } from '../import-pieces.js';
import { seed } from '../../seed.js';

// F15 for JSONL: slightly damaged lines are read as by JSON.parse, or rejected if it rejects them.
test(`damaged lines are accepted exactly if JSON.parse accepts them (seed ${seed})`, () => {
  const next = seededRandom(seed);
  let acceptedCount = 0;
  for (let round = 0; round < 5_000; round++) {
    const line = damageLine(Buffer.from(randomText(next, 1)), next);
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(line);
    const { findings, rows, columns, rejected } = importLines(line);
    const caseText = `${JSON.stringify(text)} -> ${JSON.stringify(findings.examples)}`;
    const isMalformed = findings.examples.some(
      ({ code, level }) => code === 0 && level === 'error',
    );
    expect(`${caseText} ${isMalformed}`).toBe(
      `${caseText} ${!isJsonObject(text) && text.trim() !== ''}`,
    );
    expect(rows.length + rejected).toBe(text.trim() === '' ? 0 : 1);
    if (rows.length === 0) continue;
    acceptedCount++;
    const expectedRecord = castRecord(parseJson(text) as Row, columns);
    expect(`${caseText} ${jsonTextOf(rows[0])}`).toBe(`${caseText} ${jsonTextOf(expectedRecord)}`);
  }
  expect(acceptedCount).toBeGreaterThan(500);
});

/** Returns JSON text in which a zero has no sign, because a long does not keep it. */
function jsonTextOf(value: unknown): string {
  return stringifyJson(value).replace(/-0(?=[,\]}])/g, '0');
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const jsonBytes = Buffer.from('{}[]",:\\/0123456789.eE+-tfnulrsax \t');

function damageLine(line: Buffer, next: Random): Buffer {
  let bytes = line;
  for (let edits = Math.floor(next() * 3); edits >= 0; edits--) {
    const at = Math.floor(next() * bytes.length);
    const length = Math.floor(next() * 4);
    const [bytesBefore, bytesAfter] = [bytes.subarray(0, at), bytes.subarray(at + length)];
    const roll = next();
    if (roll < 0.2) bytes = Buffer.concat([bytesBefore, bytesAfter]);
    else if (roll < 0.3)
      bytes = Buffer.concat([bytesBefore, bytes.subarray(at, at + length), bytesAfter]);
    else if (roll < 0.4) bytes = Buffer.concat([bytes, bytes.subarray(at, at + length)]);
    else {
      const byte =
        roll < 0.9 ? jsonBytes[Math.floor(next() * jsonBytes.length)]! : Math.floor(next() * 256);
      if (byte === 10 || byte === 13) continue;
      const rest = roll < 0.65 ? bytes.subarray(at) : bytes.subarray(at + 1);
      bytes = Buffer.concat([bytesBefore, Buffer.from([byte]), rest]);
    }
  }
  return bytes;
}

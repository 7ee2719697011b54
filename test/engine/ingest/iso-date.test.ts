import { expect, test } from '@jest/globals';
import { isoMicros } from '../../../engine/ingest/iso-date.js';
import { seededRandom } from '../../random.js';

const readDate = (text: string, isLenient = false) => {
  const bytes = new TextEncoder().encode(text);
  return isoMicros(bytes, 0, bytes.length, isLenient);
};

test.each<[string, string]>([
  ['1970-01-01', '1970-01-01T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['1600-02-29T23:59:59Z', '1600-02-29T23:59:59.000Z'],
  ['2020-05-06T07:08:09', '2020-05-06T07:08:09.000Z'],
  ['2020-05-06T07:08:09.5Z', '2020-05-06T07:08:09.500Z'],
  ['2020-05-06T07:08:09+02:00', '2020-05-06T05:08:09.000Z'],
  ['2020-05-06T23:08:09.5-0130', '2020-05-07T00:38:09.500Z'],
])('%s is a date', (text, iso) => {
  expect(Number(readDate(text))).toBe(Date.parse(iso) * 1000);
});

test.each([
  '',
  '2020',
  '2020-1-01',
  '2020-13-01',
  '2020-02-30',
  '2023-02-29',
  '2020-01-00',
  '2020-01-01T',
  '2020-01-01 00:00:00',
  '2020-01-01T24:00:00',
  '2020-01-01T00:60:00',
  '2020-01-01T00:00',
  '2020-01-01T00:00:00.',
  '2020-01-01T00:00:00.1234567',
  '2020-01-01T00:00+01:00',
  '2020-01-01T00:00:00+25:00',
  '2020-01-01x',
  '20200101',
  '2020/01/01',
  '2020-01-01Z',
  '-020-01-01',
  '2020-01-01T00:00:00ZZ',
  '2020-01-0é',
])('%j is not', (text) => {
  expect(readDate(text)).toBeUndefined();
});

test.each<[string, string]>([
  ['2020-01-01 10:00', '2020-01-01T10:00:00Z'],
  ['2020-01-01T10:00:00+02:00', '2020-01-01T08:00:00Z'],
  ['2020-01-01T10:00:00-0530', '2020-01-01T15:30:00Z'],
  ['2020-01-01T10:00:00+02', '2020-01-01T08:00:00Z'],
  ['2020-01-01T10:00:00.123456789Z', '2020-01-01T10:00:00.123Z'],
])('a declared date may be %s', (text, iso) => {
  expect(Math.floor(Number(readDate(text, true)) / 1000)).toBe(Date.parse(iso));
});

test('keeps microseconds, also far from 1970', () => {
  expect(readDate('2020-01-01T00:00:00.123456')).toBe(1577836800123456);
  expect(readDate('9999-12-31T23:59:59.999999')).toBe(253402300799999999n);
  expect(readDate('0000-01-01')).toBe(-62167219200000000n);
});

test('agrees with Date over all years', () => {
  const next = seededRandom(7);
  for (let i = 0; i < 5_000; i++) {
    const time = Math.floor((next() * 9_990 * 365.2425 - 719_000) * 86_400) * 1000;
    const iso = new Date(time).toISOString();
    expect(`${iso} ${Number(readDate(iso))}`).toBe(`${iso} ${time * 1000}`);
  }
});

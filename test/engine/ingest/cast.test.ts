import { describe, expect, test } from '@jest/globals';
import { castScalar, isCastError, type InputScalar } from '../../../engine/ingest/cast-scalar.js';
import type { StoredType } from '../../../engine/core/types.js';

describe('castScalar', () => {
  test.each<[StoredType, InputScalar, InputScalar | null]>([
    ['string', 'x', 'x'],
    ['string', '', ''],
    ['string', 1.5, '1.5'],
    ['text', true, 'true'],
    ['blob', 9223372036854775808n, '9223372036854775808'],
    ['boolean', true, true],
    ['boolean', 1, true],
    ['boolean', 'FALSE', false],
    ['boolean', '', null],
    ['integer', 2147483647, 2147483647],
    ['integer', '-2147483648', -2147483648],
    ['long', 9223372036854775807n, 9223372036854775807n],
    ['long', '-9223372036854775808', -9223372036854775808n],
    ['long', 3.0, 3],
    ['long', '', null],
    ['double', '1e3', 1000],
    ['double', 9007199254740993n, 9007199254740992],
    ['double', Infinity, Infinity],
    ['double', '', null],
    ['float', 1.5, 1.5],
    ['date', '1970-01-02', 86_400_000_000],
    ['date', '', null],
  ])('%s from %p is %p', (type, value, expected) => {
    expect(castScalar(type, value)).toBe(expected);
  });

  test.each<[StoredType, InputScalar]>([
    ['boolean', 'yes'],
    ['boolean', 2],
    ['integer', 2147483648],
    ['integer', 1.5],
    ['integer', true],
    ['long', 9223372036854775808n],
    ['long', '1.0'],
    ['long', ' 1'],
    ['long', '9'.repeat(100_000)],
    ['long', 1e300],
    ['double', 'x'],
    ['double', '1e400'],
    ['double', 'Infinity'],
    ['double', '9'.repeat(1_000_000) + 'x'],
    ['double', true],
    ['float', 1e39],
    ['date', 5],
    ['date', '2024-13-01'],
    ['object', 'x'],
  ])('%s from %p is a misfit of code 301', (type, value) => {
    const cast = castScalar(type, value);
    expect(isCastError(cast)).toBe(true);
    expect(cast).toMatchObject({ code: 301, message: expect.stringMatching(/^.{3,120}$/) });
  });
});

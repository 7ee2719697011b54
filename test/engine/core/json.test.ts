import { describe, expect, test } from '@jest/globals';
import { JsonError, parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Value } from '../../../engine/core/types.js';

describe('parseJson', () => {
  test.each<[string, Value]>([
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['[-9223372036854775808]', [-9223372036854775808n]],
    ['{"a":9223372036854775807}', { a: 9223372036854775807n }],
    ['9223372036854775808', 9223372036854775808n],
    ['1e400', Infinity],
    ['-1e400', -Infinity],
    ['1'.repeat(400), Infinity],
    ['-0', -0],
    ['1.0', 1],
    ['0.30000000000000004', 0.30000000000000004],
    ['1e2', 100],
    ['[NaN, Infinity, -Infinity]', [NaN, Infinity, -Infinity]],
    ['{"a":1,"b":2,"a":3}', { a: 3, b: 2 }],
    [
      '{"a":[9007199254740993],"b":"x\\u00e9\\n","c":null,"d":true,"e":false,"f":{}}',
      { a: [9007199254740993n], b: 'xé\n', c: null, d: true, e: false, f: {} },
    ],
    [' [ ] ', []],
    ['"\\\\"', '\\'],
    ['["a\\\\\\"b",NaN]', ['a\\"b', NaN]],
  ])('reads %s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
    expect(parseJson(text, { onDuplicate: () => {} })).toEqual(value); // the slow path of the parser gives the same result
    expect(parseJson(new TextEncoder().encode(text))).toEqual(value);
  });

  test('keeps __proto__ and constructor as data on both paths', () => {
    for (const text of [
      '{"__proto__":{"x":1},"constructor":2}',
      '{"__proto__":{"x":1},"constructor":2,"n":NaN}',
    ]) {
      const value = parseJson(text) as Record<string, Value>;
      expect(Object.hasOwn(value, '__proto__')).toBe(true);
      expect(Object.keys(value).slice(0, 2)).toEqual(['__proto__', 'constructor']);
      expect(Object.getPrototypeOf(value)).toBe(Object.getPrototypeOf(JSON.parse('{}')));
      expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    }
  });

  test('reports repeated keys with their offset', () => {
    const seenKeys: [string, number][] = [];
    parseJson('{"a":1,"b":{"a":2,"a":3},"a":4}', {
      onDuplicate: (key, offset) => seenKeys.push([key, offset]),
    });
    expect(seenKeys).toEqual([
      ['a', 18],
      ['a', 25],
    ]);
  });

  test('accepts 64 levels and refuses 65, naming the limit', () => {
    expect(() => parseJson('['.repeat(64) + ']'.repeat(64))).not.toThrow();
    expect(() => parseJson('['.repeat(65) + ']'.repeat(65))).toThrow(
      /JSON may nest at most 64 levels deep: flatten what is deeper/,
    );
    expect(() => parseJson('['.repeat(1_000_000))).toThrow(/at most 64 levels/);
    expect(() => parseJson('"' + '['.repeat(100) + '"')).not.toThrow();
    expect(() => parseJson('{"a":'.repeat(3) + '1' + '}'.repeat(3), { maxDepth: 2 })).toThrow(
      /line 1 column 11: JSON may nest at most 2 levels deep/,
    );
  });

  test.each<[string, number, number, RegExp]>([
    ['', 1, 1, /ends too early/],
    ['{"a":1,}', 1, 8, /key in double quotes/],
    ['[1,]', 1, 4, /unexpected "]"/],
    ['{a:1}', 1, 2, /key in double quotes/],
    ['{"a" 1}', 1, 6, /`:`/],
    ['{"a":1\n"b":2}', 2, 1, /`,` or `}`/],
    ['[1 2]', 1, 4, /`,` or `]`/],
    ['"a\nb"', 1, 1, /control character/],
    ['"\\x"', 1, 1, /bad escape/],
    ['"abc', 1, 1, /does not end/],
    ['{} {}', 1, 4, /after the value/],
    ['01', 1, 2, /after the value/],
    ['+1', 1, 1, /unexpected "\+"/],
    ['nul', 1, 1, /unexpected "n"/],
    ['[\0]', 1, 2, /unexpected/],
    ['1.', 1, 2, /after the value/],
    ['-NaN', 1, 1, /unexpected/],
  ])('names the position of the mistake in %j', (text, line, column, reason) => {
    const error = catchError(() => parseJson(text));
    expect(error).toBeInstanceOf(JsonError);
    expect(error).toMatchObject({
      code: 'invalid',
      line,
      column,
      reason: expect.stringMatching(reason),
    });
  });

  test('refuses bytes that are not UTF-8 and drops a byte order mark', () => {
    expect(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(/UTF-8/);
    expect(parseJson(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31))).toBe(1);
  });
});

describe('stringifyJson', () => {
  test('is the counterpart of parseJson', () => {
    const text =
      '{"a":9007199254740993,"b":NaN,"c":[Infinity,-Infinity,-0],"__proto__":{"d":"\\n\\u0000"},"e":1.5}';
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  test('writes valid JSON for responses', () => {
    expect(
      stringifyJson({ a: NaN, b: 1n, c: undefined, d: [Infinity] }, { nonFinite: 'null' }),
    ).toBe('{"a":null,"b":1,"d":[null]}');
    expect(stringifyJson({ a: NaN, d: [undefined] }, { nonFinite: 'null' })).toBe(
      '{"a":null,"d":[null]}',
    );
    expect(stringifyJson({})).toBe('{}');
  });
});

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

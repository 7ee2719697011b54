import { describe, expect, test } from '@jest/globals';
import { parseBody } from '../../../api/http/body-parsers.js';
import { secretOf } from '../../../api/http/credentials.js';
import { errorAnswerOf } from '../../../api/http/errors.filter.js';
import { Form, readBoolean, readId } from '../../../api/http/form.js';
import { formatLogLine, withoutSecrets } from '../../../engine/core/server-log.js';
import { listEnvelope, readPage } from '../../../api/http/page.js';
import { createRateLimiter } from '../../../api/http/rate-limiter.js';
import { attachmentHeader, createUrlSigner } from '../../../api/http/signed-url.js';
import { AppError, InputError, invalidError } from '../../../engine/core/errors.js';

describe('a form', () => {
  test.each([
    [true, true],
    ['True', true],
    ['TRUE', true],
    ['true', true],
    ['1', true],
    [1, true],
    ['False', false],
    ['FALSE', false],
    ['0', false],
    [0, false],
    ['', false],
    ['maybe', undefined],
    [2, undefined],
    [null, undefined],
    [[], undefined],
  ])('reads %j as the boolean %j', (input, expected) => expect(readBoolean(input)).toBe(expected));

  test.each([
    [5, 5],
    ['5', 5],
    [' 5 ', 5],
    ['5.0', 5],
    [481200000000017, 481200000000017],
    [0, undefined],
    [-1, undefined],
    ['x', undefined],
    [1.5, undefined],
    ['9'.repeat(20), undefined],
    [2n, undefined],
    [null, undefined],
    [{}, undefined],
  ])('reads %p as the id %p', (input, expected) => expect(readId(input)).toBe(expected));

  test('reads a single value as a list, null as absent, and keys of the body only', () => {
    const form = new Form({ tags: 'a', list: ['a', 5], none: null, text: 5 });
    expect(form.textList('tags')).toEqual(['a']);
    expect(form.textList('list')).toEqual(['a', '5']);
    expect(form.text('none')).toBeUndefined();
    expect(form.nullableText('none')).toBeNull();
    expect(form.text('text')).toBe('5');
    expect(form.text('toString')).toBeUndefined();
    expect(form.has('constructor')).toBe(false);
    expect(new Form(null).raw('x')).toBeUndefined();
    expect(() => new Form([])).toThrow('JSON object');
  });

  test('throws everything that is wrong as one error', () => {
    const form = new Form({ a: {}, b: 'x' });
    form.text('a');
    form.integer('b');
    form.requiredText('c');
    form.choice('b', ['y']);
    expect(() => form.throwIfInvalid()).toThrow(
      expect.objectContaining({
        code: 'invalid',
        fields: {
          a: [expect.any(String)],
          b: [expect.any(String), expect.any(String)],
          c: ['This field is required.'],
        },
      }),
    );
  });

  test('reads lists of objects in the three ways that clients write them', () => {
    const form = new Form({
      list: [{ name: 'a' }],
      one: { name: 'a' },
      keyed: { a: { x: 1 }, b: {} },
      bad: [1],
    });
    expect(form.objectList('list')).toEqual([{ name: 'a' }]);
    expect(form.objectList('one')).toEqual([{ name: 'a' }]);
    expect(form.objectList('keyed')).toEqual([{ name: 'a', x: 1 }, { name: 'b' }]);
    expect(form.objectList('bad')).toBeUndefined();
  });
});

describe('a body', () => {
  test('is lossless, and {} when empty', () => {
    expect(parseBody(Buffer.from(''))).toEqual({});
    expect(parseBody(Buffer.from(' \n'))).toEqual({});
    expect(parseBody(Buffer.from('{"n":9007199254740993}'))).toEqual({ n: 9_007_199_254_740_993n });
    expect(parseBody(Buffer.from('{"n":NaN}'))).toEqual({ n: NaN });
  });
});

describe('credentials', () => {
  test('need no header to be absent and no password to be basic', () => {
    expect(secretOf(undefined, undefined)).toBeUndefined();
    expect(secretOf('', '')).toBeUndefined();
    expect(secretOf('Basic YWJjOg==', undefined)).toBe('abc');
    expect(() => secretOf('Basic YWJjOmQ=', undefined)).toThrow();
  });
});

describe('errors', () => {
  test.each([
    [invalidError('a', 'b'), 400, { a: ['b'] }],
    [new AppError('invalid', 'text'), 400, { detail: 'text' }],
    [new AppError('forbidden', 'no'), 403, { detail: 'no' }],
    [new AppError('damaged', 'datasets/1 is torn'), 500, { detail: 'Internal server error' }],
    [new InputError({ file: 'a.vcf', line: 3 }, 'odd'), 400, { detail: 'a.vcf, line 3: odd' }],
    [new Error('secret stack'), 500, { detail: 'Internal server error' }],
    ['thrown text', 500, { detail: 'Internal server error' }],
    [null, 500, { detail: 'Internal server error' }],
    [Object.assign(new Error('x'), { code: 'ENOSPC' }), 500, { detail: 'Internal server error' }],
  ])('%p answers %d', (error, status, body) => {
    expect(errorAnswerOf(error)).toMatchObject({ status, body });
  });
});

describe('lists', () => {
  test.each([
    [{}, { limit: 100, offset: 0 }],
    [
      { limit: '5', page: '3' },
      { limit: 5, offset: 10 },
    ],
    [
      { limit: '5', page: '3', offset: '1' },
      { limit: 5, offset: 1 },
    ],
    [
      { limit: '', page: '' },
      { limit: 100, offset: 0 },
    ],
    [{ limit: ['5', '7'] }, { limit: 7, offset: 0 }],
  ])('%j asks for %j', (query, page) => expect(readPage(query)).toEqual(page));

  test('links keep the query as it was written and end in the page', () => {
    const target = '/v2/x?a=%20b&page=2&access_token=t&tags=x&tags=y';
    const { url, links } = listEnvelope('http://h', target, { limit: 10, offset: 10 }, 35, []);
    expect(url).toBe('http://h/v2/x?a=%20b&page=2&tags=x&tags=y');
    expect(links).toEqual({
      next: 'http://h/v2/x?a=%20b&tags=x&tags=y&page=3',
      prev: 'http://h/v2/x?a=%20b&tags=x&tags=y&page=1',
    });
  });
});

describe('the log', () => {
  test('stays short, one line, and without what controls a terminal', () => {
    const line = formatLogLine('x', {
      a: `\n\u001b[31m\u007f\u0085${'y'.repeat(50_000)}`,
      b: 'z'.repeat(50_000),
      c: 'w'.repeat(50_000),
    });
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8192);
    // oxlint-disable-next-line no-control-regex -- finding control characters is the point
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    expect(withoutSecrets('/x?access_token=abc&a=1&signature=def')).toBe(
      '/x?access_token=***&a=1&signature=***',
    );
  });
});

describe('the rate limiter', () => {
  test('counts within a window and says how long it lasts', () => {
    let now = 1_000;
    const limiter = createRateLimiter(2, () => now);
    expect([1, 2, 3].map(() => limiter.acquire('a').ok)).toEqual([true, true, false]);
    now = 31_500;
    expect(limiter.acquire('a')).toEqual({ ok: false, retryAfter: 30 });
    expect(limiter.acquire('b').ok).toBe(true);
    now = 61_000;
    expect(limiter.acquire('a').ok).toBe(true);
    expect(createRateLimiter(0, () => now).acquire('a').ok).toBe(true);
  });

  test('keeps its memory bounded under a flood of keys (W4)', () => {
    const limiter = createRateLimiter(5, () => 0);
    for (let i = 0; i < 300_000; i++) limiter.acquire(`key ${i}`);
    expect(limiter.acquire('yet another').ok).toBe(false);
    expect(limiter.acquire('key 1').ok).toBe(true);
  });
});

describe('signed addresses', () => {
  const signer = createUrlSigner(Buffer.alloc(32, 1));
  const signedUrl = signer.sign('GET', '/v2/downloads/objects/1/1?x=a%20b', 10_000);

  test('hold for their method and under their key, and tell when they expire, to the second (D7)', () => {
    expect(signer.verify('GET', signedUrl)).toBe(10_000);
    expect(signer.verify('HEAD', signedUrl)).toBe(10_000);
    expect(() => signer.verify('PUT', signedUrl)).toThrow('not valid');
    expect(() => createUrlSigner(Buffer.alloc(32, 2)).verify('GET', signedUrl)).toThrow(
      'not valid',
    );
    expect(() => signer.verify('GET', `${signedUrl}&a=b`)).toThrow('not valid');
    expect(() => signer.verify('GET', '/x')).toThrow('not valid');
  });

  test('name files so that every header parser finds the name (D1)', () => {
    expect(attachmentHeader('a"b\\c;é.txt')).toBe(
      `attachment; filename="a_b_c__.txt"; filename*=UTF-8''a%22b%5Cc%3B%C3%A9.txt`,
    );
  });
});

import { afterEach, describe, expect, test } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { budgets } from '../../engine/core/budgets.js';
import { FetchFailure, networkFailure, retryAfterMs } from '../../scheduler/fetch/fetch-failure.js';
import { SlidingWindowLimiter } from '../../scheduler/fetch/politeness-limits.js';
import { defaultFetchLimits } from '../../scheduler/fetch/fetch-limits.js';
import { retryDelayMs } from '../../scheduler/fetch/download.js';
import { seededRandom } from '../random.js';
import {
  httpResponse,
  createTestFetcher,
  responseHead,
  startScriptedHost,
  type ScriptedHost,
  type RespondToRequest,
} from '../scheduler/fetch/host.js';
import { seed } from '../seed.js';
import { withChangedBudgets } from '../with-budgets.js';

/* Tests hostile behaviour of other hosts during a fetch: threats N6 to N10. */

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanups.splice(0).toReversed()) await close();
});

/** Starts a scripted host; returns it with a fetch function that may connect to it, and the URL of a file. */
async function openHostAndFetcher(
  script: RespondToRequest,
  limits: Parameters<typeof createTestFetcher>[1] = {},
): Promise<{ host: ScriptedHost; get: ReturnType<typeof createTestFetcher>['get']; url: string }> {
  const host = await startScriptedHost(script);
  const newFetcher = createTestFetcher([`127.0.0.1:${host.port}`], limits);
  cleanups.push(
    () => newFetcher.remove(),
    () => host.close(),
  );
  return { host, get: newFetcher.get, url: host.url('/a.json') };
}

/** Writes a piece of data every few milliseconds until the other side closes the connection. */
function dripBytes(socket: Socket, piece: string, everyMs = 2): void {
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.on('close', () => clearInterval(timer));
}

describe('N6: a host that is slow, endless or lies fails the fetch, by name, and leaves nothing', () => {
  const cases: readonly (readonly [string, RespondToRequest, RegExp, object?])[] = [
    [
      'never answers',
      () => undefined,
      /its host sent no answer within 0.3 s, the longest that is waited: try again later, or upload the file/,
      { limits: { firstByteMs: 300 } },
    ],
    [
      'sends headers slowly, for ever',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        dripBytes(socket, 'X-A: b\r\n', 20);
      },
      /its host sent no answer within 0.3 s, the longest that is waited: try again later, or upload the file/,
      { limits: { firstByteMs: 300 } },
    ],
    [
      'sends headers fast, for ever',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        dripBytes(socket, `X-A: ${'b'.repeat(1_000)}\r\n`, 1);
      },
      /its host sent headers of more than 32 KiB, the most that are read: upload the file/,
    ],
    [
      'sends interim answers for ever',
      (socket) => dripBytes(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000), 1),
      /its host sent headers of more than 32 KiB, the most that are read: upload the file/,
    ],
    [
      'stops in the middle',
      (socket) => void socket.write(`${responseHead(200, ['Content-Length: 100'])}abc`),
      /its host sent no further bytes within 0.3 s, the longest/,
      { limits: { idleMs: 300 } },
    ],
    [
      'sends a byte now and then, for ever',
      (socket) => {
        socket.write(responseHead(200, ['Content-Length: 100000']));
        dripBytes(socket, 'a', 50);
      },
      /the download was not complete within 0.4 s, the longest/,
      { limits: { totalMs: 400 } },
    ],
    [
      'closes half way',
      (socket) => void socket.end(httpResponse('abc', ['Content-Length: 6'])),
      /the connection broke off/,
    ],
    [
      'closes half way through chunks',
      (socket) => void socket.end(httpResponse('3\r\nabc\r\n', ['Transfer-Encoding: chunked'])),
      /the connection broke off/,
    ],
    [
      'sends more than its Content-Length',
      (socket) => void socket.end(httpResponse('abcdef', ['Content-Length: 3'])),
      /sent more than its Content-Length says/,
    ],
    [
      'says two lengths',
      (socket) =>
        void socket.end(httpResponse('abcdef', ['Content-Length: 3', 'Content-Length: 6'])),
      /its answer is not HTTP/,
    ],
    [
      'says a length and chunks',
      (socket) =>
        void socket.end(
          httpResponse('3\r\nabc\r\n0\r\n\r\n', [
            'Content-Length: 3',
            'Transfer-Encoding: chunked',
          ]),
        ),
      /its answer is not HTTP/,
    ],
    [
      'does not say where it ends',
      (socket) => void socket.end(`${responseHead(200, [])}abc`),
      /does not say where it ends/,
    ],
    [
      'announces more than size',
      (socket) => void socket.end(httpResponse('abcdef')),
      /more than the 3 bytes that the manifest says/,
      { expected: { bytes: 3, md5: null } },
    ],
    [
      'sends more than size, without end',
      (socket) => {
        socket.write(responseHead(200, ['Transfer-Encoding: chunked']));
        dripBytes(socket, `400\r\n${'a'.repeat(1_024)}\r\n`);
      },
      /more than the 5000 bytes that the manifest says/,
      { expected: { bytes: 5_000, md5: null } },
    ],
    [
      'sends less than size',
      (socket) => void socket.end(httpResponse('abc')),
      /has 3 bytes, not the 4 that the manifest says/,
      { expected: { bytes: 4, md5: null } },
    ],
    [
      'sends something else',
      (socket) => void socket.end(httpResponse('abc')),
      /its md5 is 900150983cd24fb0d6963f7d28e17f72, not 0+ as the manifest says/,
      { expected: { bytes: 3, md5: '0'.repeat(32) } },
    ],
    ['is no web server', (socket) => void socket.end('SSH-2.0-x\r\n'), /its answer is not HTTP/],
    [
      'changes the protocol',
      (socket) => void socket.write(responseHead(101, ['Upgrade: x', 'Connection: upgrade'])),
      /the connection broke off/,
    ],
    ['resets', (socket) => void socket.resetAndDestroy(), /the connection broke off/],
    [
      'sends part of a file that nobody asked for in parts',
      (socket) =>
        void socket.end(
          `${responseHead(206, ['Content-Length: 1', 'Content-Range: bytes 2-2/3'])}c`,
        ),
      /answered with status 206/,
    ],
    [
      'says that nothing has changed',
      (socket) => void socket.end(responseHead(304, ['Content-Length: 0'])),
      /answered with status 304/,
    ],
    [
      'sends trailers without end',
      (socket) => {
        socket.write(`${responseHead(200, ['Transfer-Encoding: chunked'])}1\r\na\r\n0\r\n`);
        dripBytes(socket, `X: ${'b'.repeat(1_000)}\r\n`, 1);
      },
      /the connection broke off|headers are too large/,
    ],
    [
      'says gzip of what is not',
      (socket) => void socket.end(httpResponse('plain', ['Content-Encoding: gzip'])),
      /its Content-Encoding is damaged/,
    ],
    [
      'cuts its encoding',
      (socket) =>
        void socket.end(
          httpResponse(gzipSync(randomBytes(999)).subarray(0, 500), ['Content-Encoding: gzip']),
        ),
      /its Content-Encoding is damaged/,
    ],
    [
      'sends more behind its encoding',
      (socket) => {
        const body = Buffer.concat([gzipSync('abc'), randomBytes(200_000)]);
        socket.end(httpResponse(body, ['Content-Encoding: gzip']));
      },
      /its Content-Encoding is damaged/,
    ],
    [
      'encodes twice',
      (socket) => void socket.end(httpResponse('x', ['Content-Encoding: gzip, gzip'])),
      /its Content-Encoding is not supported/,
    ],
  ];
  test.each(cases)('%s', async (_, script, expected, more = {}) => {
    const { limits, ...request } = { limits: {}, ...more };
    const { get, url } = await openHostAndFetcher(script, { retries: 1, ...limits });
    const { error, isLeft } = await get(url, request);
    expect(error).toMatch(expected);
    expect(isLeft).toBe(false);
  });

  test('T0: what does not fit the disk is not begun, and what grows too large is ended', async () => {
    const { host, get, url } = await openHostAndFetcher((socket, text) => {
      if (text.includes('/endless')) {
        socket.write(responseHead(200, ['Transfer-Encoding: chunked']));
        dripBytes(socket, `400\r\n${'a'.repeat(1_024)}\r\n`);
      } else if (text.includes('/bomb')) {
        socket.end(httpResponse(gzipSync(Buffer.alloc(1 << 20)), ['Content-Encoding: gzip']));
      } else socket.end(httpResponse('a'.repeat(Number(/\/(\d+)/.exec(text)?.[1]))));
    });
    await withChangedBudgets({ decompressedBytes: 5_000 }, async () => {
      expect((await get(host.url('/5000'))).bytes?.length).toBe(5_000);
      const expected =
        'a.json: the file has more than 5000 bytes, the most that one may have: split it into several files';
      for (const path of ['/5001', '/endless', '/bomb']) {
        expect(await get(host.url(path))).toEqual({ error: expected, isLeft: false });
      }
    });
    await withChangedBudgets({ fetchShareOfFreeDisk: 1e-12 }, async () => {
      expect((await get(url)).error).toMatch(
        /the file has more than \d bytes, \S+ % of the free disk space: free some/,
      );
    });
  });
});

/** Serves bytes by ranges, but closes each connection at the position in the bytes that `cut` returns. */
function respondWithRanges(
  bytes: Buffer,
  cut: (nth: number, from: number) => number,
  tag = '"v1"',
): RespondToRequest {
  return (socket, text, nth) => {
    const range = /^range: bytes=(\d+)-\r$/im.exec(text)?.[1];
    const isSame = /^if-range: (.*)\r$/im.exec(text)?.[1] === tag;
    const from = range !== undefined && isSame ? Number(range) : 0;
    const status = from > 0 ? 206 : 200;
    const lines = [`Content-Length: ${bytes.length - from}`, `ETag: ${tag}`];
    if (status === 206)
      lines.push(`Content-Range: bytes ${from}-${bytes.length - 1}/${bytes.length}`);
    socket.write(responseHead(status, lines));
    const to = cut(nth, from);
    socket.write(bytes.subarray(from, to), () => {
      if (to >= bytes.length) socket.end();
      else if (nth % 2 === 0) socket.destroy();
      else socket.end(); // an orderly end before the last byte is no complete body either
    });
  };
}

describe('N7: what passes is tried again, and goes on where it broke off', () => {
  test(`the bytes are the same for a hundred random cuts (STRANDLAKE_SEED=${seed})`, async () => {
    const next = seededRandom(seed);
    for (let i = 0; i < 100; i += 1) {
      const bytes = randomBytes(1 + Math.floor(next() * 200_000));
      const cutCount = Math.floor(next() * 6);
      const { host, get, url } = await openHostAndFetcher(
        respondWithRanges(bytes, (nth, from) =>
          nth > cutCount ? bytes.length : from + Math.floor(next() * (bytes.length - from)),
        ),
      );
      const { bytes: fetchedBytes, error } = await get(url);
      expect([seed, i, error]).toEqual([seed, i, undefined]);
      expect(sha256(fetchedBytes!)).toBe(sha256(bytes));
      expect(host.connectionCount).toBeLessThanOrEqual(cutCount + 1);
      for (const close of cleanups.splice(0).toReversed()) await close();
    }
  });

  test.each([500, 502, 503, 504, 599, 408, 429])('status %i is tried again', async (status) => {
    const { host, get, url } = await openHostAndFetcher((socket, _, nth) =>
      socket.end(nth < 3 ? responseHead(status, ['Content-Length: 0']) : httpResponse('x')),
    );
    expect((await get(url)).bytes?.toString()).toBe('x');
    expect(host.connectionCount).toBe(3);
  });

  test.each([400, 401, 403, 404, 410, 418, 204, 300])('status %i is final', async (status) => {
    const { host, get, url } = await openHostAndFetcher((socket) =>
      socket.end(responseHead(status, ['Content-Length: 0'])),
    );
    expect((await get(url)).error).toBe(`a.json: the host answered with status ${status}`);
    expect(host.connectionCount).toBe(1);
  });

  test('T0: five retries and no more (fetchRetries)', async () => {
    const { host, get, url } = await openHostAndFetcher((socket) =>
      socket.end(responseHead(503, ['Content-Length: 0'])),
    );
    expect((await get(url)).error).toBe('a.json: the host answered with status 503');
    expect(host.connectionCount).toBe(1 + budgets.fetchRetries);
  });

  test.each([
    ['a weak tag', 'W/"v1"'],
    ['no tag', ''],
    ['a tag without quotes', 'v1'],
  ])('with %s it begins anew', async (_, tag) => {
    const bytes = randomBytes(50_000);
    const { host, get, url } = await openHostAndFetcher((socket, __, nth) => {
      const lines = [`Content-Length: ${bytes.length}`, ...(tag === '' ? [] : [`ETag: ${tag}`])];
      socket.write(responseHead(200, lines));
      socket.end(bytes.subarray(0, nth < 2 ? 20_000 : bytes.length));
    });
    expect((await get(url)).bytes?.equals(bytes)).toBe(true);
    expect(host.requests.some((text) => /^(range|if-range):/im.test(text))).toBe(false);
  });

  test('when the file has changed meanwhile, all of the new one is taken', async () => {
    const [oldBytes, newBytes] = [randomBytes(60_000), randomBytes(40_000)];
    const { host, get, url } = await openHostAndFetcher((socket, text, nth) =>
      nth === 1
        ? respondWithRanges(oldBytes, () => 30_000, '"old"')(socket, text, nth)
        : respondWithRanges(newBytes, () => newBytes.length, '"new"')(socket, text, nth),
    );
    expect((await get(url)).bytes?.equals(newBytes)).toBe(true);
    expect(host.requests[1]).toMatch(/^range: bytes=30000-\r$/im);
    expect(host.requests[1]).toMatch(/^if-range: "old"\r$/im);
  });

  test.each([
    ['elsewhere', 'bytes 10001-49999/50000', '"v1"'],
    ['up to somewhere else', 'bytes 20000-30000/50000', '"v1"'],
    ['in a file of no length', 'bytes 20000-49999/*', '"v1"'],
    ['in another file', 'bytes 20000-49999/50000', '"v2"'],
    ['nowhere', 'lines 1-2/3', '"v1"'],
  ])('a host that goes on %s is asked for everything again', async (_, range, tag) => {
    const bytes = randomBytes(50_000);
    const { get, url } = await openHostAndFetcher((socket, text, nth) => {
      if (nth !== 2)
        return respondWithRanges(bytes, () => (nth === 1 ? 20_000 : 50_000))(socket, text, nth);
      socket.write(
        responseHead(206, ['Content-Length: 30000', `Content-Range: ${range}`, `ETag: ${tag}`]),
      );
      socket.end(randomBytes(30_000));
    });
    expect((await get(url)).bytes?.equals(bytes)).toBe(true);
  });

  test('a host that cannot go on is asked for everything again', async () => {
    const bytes = randomBytes(50_000);
    const { get, url } = await openHostAndFetcher((socket, text, nth) =>
      nth === 2
        ? void socket.end(responseHead(416, ['Content-Length: 0']))
        : respondWithRanges(bytes, () => (nth === 1 ? 20_000 : 50_000))(socket, text, nth),
    );
    expect((await get(url)).bytes?.equals(bytes)).toBe(true);
  });

  test('pauses grow, differ, honour Retry-After, and end (T0: fetchPauseMs)', () => {
    const limits = defaultFetchLimits();
    expect([1, 2, 3].map((nth) => retryDelayMs(nth, 0, limits, () => 0))).toEqual([
      500, 1_000, 2_000,
    ]);
    expect([1, 2, 3].map((nth) => retryDelayMs(nth, 0, limits, () => 1))).toEqual([
      1_000, 2_000, 4_000,
    ]);
    expect(retryDelayMs(1, 7_000, limits)).toBe(7_000);
    expect(retryDelayMs(1, 1e9, limits)).toBe(budgets.fetchPauseMs);
    expect(retryDelayMs(60, 0, limits)).toBe(budgets.fetchPauseMs);
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(retryAfterMs('120', now)).toBe(120_000);
    expect(retryAfterMs('Thu, 01 Jan 2026 00:00:30 GMT', now)).toBe(30_000);
    expect(retryAfterMs('Thu, 01 Jan 2025 00:00:30 GMT', now)).toBe(0);
    for (const odd of ['', '-1', '1.5', '1e9', 'soon', '2026-01-01', 'Thu, 99 Jan 2026']) {
      expect([odd, retryAfterMs(odd, now)]).toEqual([odd, 0]);
    }
  });
});

describe('N8: a Content-Encoding is removed once', () => {
  const text = Buffer.from('{"a":1}\n'.repeat(1_000));
  test.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['GZip', gzipSync(text)],
    ['gzip', Buffer.concat([gzipSync(text.subarray(0, 80)), gzipSync(text.subarray(80))])],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', text],
  ])('%s', async (encoding, body) => {
    const { host, get, url } = await openHostAndFetcher((socket) =>
      socket.end(httpResponse(body, [`Content-Encoding: ${encoding}`])),
    );
    expect((await get(url)).bytes?.equals(text)).toBe(true);
    expect(host.requests[0]).toMatch(/^accept-encoding: identity\r$/im);
    const doublyEncoded = gzipSync(gzipSync(text));
    const doubleFetch = await openHostAndFetcher((socket) =>
      socket.end(httpResponse(doublyEncoded, ['Content-Encoding: gzip'])),
    );
    expect((await doubleFetch.get(doubleFetch.url)).bytes?.equals(gzipSync(text))).toBe(true);
  });

  test('size and md5 may be those of the file, or of what was sent', async () => {
    const body = gzipSync(text);
    const { get, url } = await openHostAndFetcher((socket) =>
      socket.end(httpResponse(body, ['Content-Encoding: gzip'])),
    );
    const md5Of = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');
    for (const bytes of [text, body]) {
      const expected = { bytes: bytes.length, md5: md5Of(bytes) };
      expect((await get(url, { expected })).bytes?.equals(text)).toBe(true);
    }
    const wrongExpectation = { bytes: text.length + 1, md5: null };
    expect((await get(url, { expected: wrongExpectation })).error).toMatch(/bytes, not the/);
  });

  test('an encoded body that breaks off begins anew', async () => {
    const body = gzipSync(randomBytes(50_000));
    const { host, get, url } = await openHostAndFetcher((socket, _, nth) => {
      socket.write(
        responseHead(200, [
          `Content-Length: ${body.length}`,
          'ETag: "a"',
          'Content-Encoding: gzip',
        ]),
      );
      socket.end(body.subarray(0, nth === 1 ? 20_000 : body.length));
    });
    expect((await get(url)).bytes?.length).toBe(50_000);
    expect(host.requests[1]).not.toMatch(/^range:/im);
  });
});

describe('N9: nothing that a host says comes through', () => {
  const marker = 'internal-secret-marker';
  const scripts: readonly (readonly [string, RespondToRequest])[] = [
    [
      'in its reason',
      (socket) => void socket.end(`HTTP/1.1 404 ${marker}\r\nContent-Length: 0\r\n\r\n`),
    ],
    [
      'in its headers',
      (socket) => void socket.end(responseHead(500, [`X: ${marker}`, 'Content-Length: 0'])),
    ],
    [
      'in its body',
      (socket) =>
        void socket.end(`${responseHead(403, [`Content-Length: ${marker.length}`])}${marker}`),
    ],
    [
      'in a redirect',
      (socket) =>
        void socket.end(responseHead(302, [`Location: ftp://${marker}/`, 'Content-Length: 0'])),
    ],
    [
      'in a redirect to a name',
      (socket) =>
        void socket.end(
          responseHead(302, [`Location: http://${marker}.invalid/`, 'Content-Length: 0']),
        ),
    ],
    [
      'in an encoding',
      (socket) => void socket.end(httpResponse('x', [`Content-Encoding: ${marker}`])),
    ],
    [
      'in a range',
      (socket) =>
        void socket.end(responseHead(206, [`Content-Range: ${marker}`, 'Content-Length: 0'])),
    ],
    ['instead of HTTP', (socket) => void socket.end(`${marker}\r\n\r\n`)],
    [
      'in broken framing',
      (socket) => void socket.end(httpResponse(`${marker}\r\n`, ['Transfer-Encoding: chunked'])),
    ],
  ];
  test.each(scripts)('%s', async (_, script) => {
    const { get, url } = await openHostAndFetcher(script, { retries: 0 });
    const { error } = await get(url);
    expect(error).toMatch(/^a\.json: /);
    expect(error).not.toContain(marker);
    expect(error).not.toContain('127.0.0.1');
  });

  test('nor what the system says, which knows addresses', () => {
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'CERT_HAS_EXPIRED', 'EODD']) {
      const error = Object.assign(new Error('connect 10.0.0.1:80'), { code });
      expect(networkFailure(error)).toBeInstanceOf(FetchFailure);
      expect(networkFailure(error).message).not.toMatch(/10\.0|80/);
    }
    expect(() => networkFailure(new TypeError('a bug'))).toThrow('a bug');
  });
});

describe('N10: a host is not flooded', () => {
  test('T0: four connections at once to one address, whatever its names (fetchesPerHost)', async () => {
    const waitingSocketList: Socket[] = [];
    let mostSockets = 0;
    const host = await startScriptedHost((socket) => {
      waitingSocketList.push(socket);
      mostSockets = Math.max(mostSockets, waitingSocketList.length);
      // Four requests are held until a fifth could have arrived; after the 196th connection, each request is held only for one turn of the
      // event loop.
      if (waitingSocketList.length >= 4 || host.connectionCount > 196)
        setImmediate(() =>
          waitingSocketList.splice(0).forEach((one) => one.end(httpResponse('x'))),
        );
    });
    const newFetcher = createTestFetcher(
      ['127.0.0.0/8'],
      {},
      { lookup: async () => ['127.0.0.1'] },
    );
    cleanups.push(
      () => newFetcher.remove(),
      () => host.close(),
    );
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        newFetcher.get(`http://victim-${i % 7}.example:${host.port}/${i}`),
      ),
    );
    expect(outcomes.every(({ bytes }) => bytes?.toString() === 'x')).toBe(true);
    expect(host.connectionCount).toBe(200);
    expect(mostSockets).toBe(4);
    expect(budgets.fetchesPerHost).toBe(4);
  });

  test('T0: so many requests an account and minute (fetchesPerAccountAndMinute)', () => {
    const limiter = new SlidingWindowLimiter(3);
    const starts = [0, 1, 2, 3, 4, 5, 6].map((now) => limiter.reserveStart(now));
    expect(starts).toEqual([0, 1, 2, 60_000, 60_001, 60_002, 120_000]);
    // Requests that no longer wait leave their start times to the next ones.
    for (const start of starts.slice(4)) limiter.cancelStart(start);
    expect([7, 8, 9].map((now) => limiter.reserveStart(now))).toEqual([60_001, 60_002, 120_000]);
    expect(limiter.reserveStart(200_000)).toBe(200_000);
    expect([limiter.isIdle(200_001), limiter.isIdle(260_001)]).toEqual([false, true]);
    expect(defaultFetchLimits().perAccountAndMinute).toBe(budgets.fetchesPerAccountAndMinute);
  });
});

test('T0: the budgets of fetching are those of the catalogue of threats', () => {
  const { fetchConnectMs, fetchFirstByteMs, fetchIdleMs, fetchTotalMs } = budgets;
  expect([fetchConnectMs, fetchFirstByteMs, fetchIdleMs]).toEqual([10_000, 30_000, 60_000]);
  expect(fetchTotalMs).toBe(24 * 3_600_000);
  expect([budgets.fetchRedirects, budgets.fetchRetries]).toEqual([5, 5]);
  expect([budgets.fetchHeaderBytes, budgets.fetchShareOfFreeDisk]).toEqual([32 << 10, 0.8]);
});

describe('a fetch that nobody wants any more', () => {
  test.each<[string, RespondToRequest]>([
    ['while it waits for an answer', () => undefined],
    [
      'in the middle',
      (socket) => void socket.write(`${responseHead(200, ['Content-Length: 9'])}abc`),
    ],
    [
      'between two tries',
      (socket) => void socket.end(responseHead(503, ['Retry-After: 60', 'Content-Length: 0'])),
    ],
  ])('ends at once %s', async (_, script) => {
    const abortController = new AbortController();
    const { get, url } = await openHostAndFetcher(
      (socket, text, nth) => {
        script(socket, text, nth);
        setTimeout(() => abortController.abort(), 20);
      },
      { firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000, longestPauseMs: 60_000 },
    );
    expect(await get(url, {}, abortController.signal)).toEqual({
      error: 'canceled',
      isLeft: false,
    });
  });

  test('tells how far it is', async () => {
    const bytes = randomBytes(300_000);
    const { get, url } = await openHostAndFetcher((socket) => socket.end(httpResponse(bytes)));
    const reports: [number, number | null][] = [];
    await get(url, { report: (at, total) => reports.push([at, total]) });
    expect(reports.at(-1)).toEqual([300_000, 300_000]);
    expect(reports.every(([at], i) => at > (reports[i - 1]?.[0] ?? 0))).toBe(true);
  });
});

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

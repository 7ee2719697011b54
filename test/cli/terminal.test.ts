import { describe, expect, test } from '@jest/globals';
import { datasetNameOf } from '../../cli/import-file.js';

import { openTerminal, progressLine } from '../../cli/terminal.js';
import { localOrigin, exampleRequests } from '../../cli/welcome.js';

class TestOutputStream {
  text = '';
  readonly isTTY: boolean;
  readonly columns = 40;
  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }
  write(text: string): void {
    this.text += text;
  }
}

describe('progress', () => {
  test('in a terminal a line replaces the previous one and is erased before other output', () => {
    const sink = new TestOutputStream(true);
    const terminal = openTerminal(sink, sink);
    terminal.progress('10 %');
    terminal.progress('x'.repeat(100));
    terminal.out('done');
    expect(sink.text).toBe(`10 %\r\x1b[2K${'x'.repeat(39)}\r\x1b[2Kdone\n`);
  });

  test('without a terminal plain lines are written at intervals', () => {
    const sink = new TestOutputStream(false);
    let now = 0;
    const terminal = openTerminal(sink, sink, () => now);
    for (; now < 5_000; now += 100) terminal.progress(`at ${now}`);
    terminal.progress('');
    expect(sink.text).toBe('at 0\nat 2000\nat 4000\n');
  });

  test('the line has a bar if the total is known', () => {
    const progressShown = { title: 'a.vcf', records: 26_334, perSecond: 61_200.4 };
    expect(progressLine({ ...progressShown, percent: 37.9 })).toBe(
      'a.vcf  [#########---------------]   37 %  26,334 records  61,200/s',
    );
    expect(progressLine({ ...progressShown, percent: null })).toBe(
      'a.vcf  26,334 records  61,200/s',
    );
  });
});

test('names and messages cannot control the terminal', () => {
  const sink = new TestOutputStream(false);
  openTerminal(sink, sink).out('evil\x1b]0;x\x07\u202e name\nnext line');
  expect(sink.text).toBe('evil\ufffd]0;x\ufffd\ufffd name\nnext line\n');
});

test.each([
  ['runs/sample.vcf.gz', 'sample'],
  ['a.vcf', 'a'],
  ['a.b.json.gz', 'a.b'],
  ['a.b.json.bz2', 'a.b'],
  ['x.vcf.bgz', 'x'],
  ['noextension', 'noextension'],
  ['.gz', '.gz'],
])('the dataset of %s is called %s', (file, name) => {
  expect(datasetNameOf(file)).toBe(name);
});

test.each([
  ['127.0.0.1', 'http://127.0.0.1:3000'],
  ['0.0.0.0', 'http://127.0.0.1:3000'],
  ['::', 'http://[::1]:3000'],
  ['::1', 'http://[::1]:3000'],
  ['genes.local', 'http://genes.local:3000'],
])('a server that listens on %s is reached at %s', (host, origin) => {
  expect(localOrigin(host, 3000)).toBe(origin);
});

test('the three requests are shell commands with valid JSON', async () => {
  const text = await exampleRequests('http://127.0.0.1:3000', 't'.repeat(30), 7);
  const bodies = [...text.matchAll(/-d '([^']+)'/g)].map(([, body]) => JSON.parse(body ?? ''));
  expect(bodies).toHaveLength(3);
  expect(bodies[1]).toEqual({ limit: 0, facets: { 'info.CLNSIG': { limit: 5 } } });
});

import { describe, expect, test } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import { isBuiltin, SourceMap, type SourceMapPayload } from 'node:module';
import { join, normalize } from 'node:path';
import { readSource } from './architecture/source.js';
import { sourceFiles } from './architecture/sources.js';

const bundler = readFileSync('bundle.mjs', 'utf8');
const entries = quoted(/const entries = \[([^\]]*)\]/.exec(bundler)?.[1]);
const files = sourceFiles();

describe('bundles', () => {
  test('are made of the command and of each module that starts a process or a thread', () => {
    const started = files
      .filter(({ path }) => !/^(test|benchmarks)\//.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/new URL\('([^']+)\.js', import\.meta\.url\)/g)].map(([, name]) =>
          normalize(join(path, '..', name!)),
        ),
      );
    expect([...new Set([...started, 'cli/strandlake'])].sort()).toEqual(entries);
  });

  test('have entries that no module imports: it would get a second copy of all that is in them', () => {
    const others = ['benchmarks', 'test'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => ({
          path: join(folder, name),
          text: readFileSync(join(folder, name), 'utf8'),
        })),
    );
    const imported = [...files, ...others].flatMap(({ path, text }) =>
      readSource(path, text)
        .imports.filter(({ isType, specifier }) => !isType && specifier.startsWith('.'))
        .map(({ specifier }) => normalize(join(path, '..', specifier.replace(/\.js$/, '')))),
    );
    expect(imported).toContain('scheduler/worker/thread');
    expect(imported.filter((path) => entries.includes(path))).toEqual([]);
  });

  test('load bundles, modules of Node and packages that cannot be bundled, nothing else', () => {
    const chunks = readdirSync('dist/chunks').filter((name) => name.endsWith('.js'));
    const bundles = [
      ...entries.map((entry) => `${entry}.js`),
      ...chunks.map((name) => `chunks/${name}`),
    ];
    const patterns = [
      /^(?:import|export)\b[^'"]*?["']([^'"]+)["'];$/gm,
      /\b__require\("([^"]+)"\)/g,
    ];
    const loaded = bundles.flatMap((path) =>
      patterns
        .flatMap((pattern) => [...read(path).matchAll(pattern)])
        .map(([, name]) => (name!.startsWith('.') ? normalize(join(path, '..', name!)) : name!)),
    );
    expect(loaded.filter((name) => bundles.includes(name)).length).toBeGreaterThan(chunks.length);
    const others = new Set(loaded.filter((name) => !bundles.includes(name) && !isBuiltin(name)));
    expect([...others].sort()).toEqual(['@duckdb/node-bindings', 'piscina']);
  });

  test.each([
    ['api/main', 'api/main.ts', 'is in use; stop the program that uses it'],
    ['cli/strandlake', 'cli/commands/serve.ts', 'starts the server and imports the named files'],
  ])('%s has the lines of %s in its source map', (entry, source, phrase) => {
    const lineOf = (text: string): number =>
      text.split('\n').findIndex((line) => line.includes(phrase));
    const path = `${entry}.js`;
    const map = new SourceMap(JSON.parse(read(`${path}.map`)) as SourceMapPayload);
    const line = lineOf(read(path));
    const found = map.findEntry(line, read(path).split('\n')[line]!.indexOf(phrase));
    expect(found).toMatchObject({
      originalSource: expect.stringContaining(source) as unknown,
      originalLine: lineOf(readFileSync(source, 'utf8')),
    });
  });
});

function read(path: string): string {
  return readFileSync(join('dist', path), 'utf8');
}

function quoted(list = ''): string[] {
  return Array.from(list.matchAll(/'([^']+)'/g), ([, name]) => name!);
}

import { describe, expect, test } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import { isBuiltin, SourceMap, type SourceMapPayload } from 'node:module';
import { join, normalize } from 'node:path';
import { readSource } from './architecture/source.js';
import { readSourceFiles } from './architecture/sources.js';

const buildScript = readFileSync('build.mjs', 'utf8');
const bundleEntries = quotedItems(/const entries = \[([^\]]*)\]/.exec(buildScript)?.[1]);
const files = readSourceFiles();

describe('bundles', () => {
  test('are made of the command and of each module that starts a process or a thread', () => {
    const startedEntries = files
      .filter(({ path }) => !/^(test|benchmarks)\//.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/new URL\('([^']+)\.js', import\.meta\.url\)/g)].map(([, name]) =>
          normalize(join(path, '..', name!)),
        ),
      );
    expect([...new Set([...startedEntries, 'cli/strandlake'])].sort()).toEqual(bundleEntries);
  });

  test('have entries that no module imports: it would get a second copy of all that is in them', () => {
    const otherFiles = ['benchmarks', 'test'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => ({
          path: join(folder, name),
          text: readFileSync(join(folder, name), 'utf8'),
        })),
    );
    const importedPaths = [...files, ...otherFiles].flatMap(({ path, text }) =>
      readSource(path, text)
        .imports.filter(({ isType, specifier }) => !isType && specifier.startsWith('.'))
        .map(({ specifier }) => normalize(join(path, '..', specifier.replace(/\.js$/, '')))),
    );
    expect(importedPaths).toContain('scheduler/worker/job-thread');
    expect(importedPaths.filter((path) => bundleEntries.includes(path))).toEqual([]);
  });

  test('load bundles, modules of Node and packages that cannot be bundled, nothing else', () => {
    const chunks = readdirSync('dist/chunks').filter((name) => name.endsWith('.js'));
    const bundles = [
      ...bundleEntries.map((entry) => `${entry}.js`),
      ...chunks.map((name) => `chunks/${name}`),
    ];
    const patterns = [
      /^(?:import|export)\b[^'"]*?["']([^'"]+)["'];$/gm,
      /\b__require\("([^"]+)"\)/g,
    ];
    const loadedModules = bundles.flatMap((path) =>
      patterns
        .flatMap((pattern) => [...readText(path).matchAll(pattern)])
        .map(([, name]) => (name!.startsWith('.') ? normalize(join(path, '..', name!)) : name!)),
    );
    expect(loadedModules.filter((name) => bundles.includes(name)).length).toBeGreaterThan(
      chunks.length,
    );
    const otherModules = new Set(
      loadedModules.filter((name) => !bundles.includes(name) && !isBuiltin(name)),
    );
    expect([...otherModules].sort()).toEqual(['@duckdb/node-bindings', 'piscina']);
  });

  test.each([
    ['api/main', 'api/main.ts', 'is in use; stop the program that uses it'],
    ['cli/strandlake', 'cli/commands/serve.ts', 'starts the server and imports the named files'],
  ])('%s has the lines of %s in its source map', (entry, source, phrase) => {
    const lineOf = (text: string): number =>
      text.split('\n').findIndex((line) => line.includes(phrase));
    const path = `${entry}.js`;
    const map = new SourceMap(JSON.parse(readText(`${path}.map`)) as SourceMapPayload);
    const line = lineOf(readText(path));
    const mapping = map.findEntry(line, readText(path).split('\n')[line]!.indexOf(phrase));
    expect(mapping).toMatchObject({
      originalSource: expect.stringContaining(source) as unknown,
      originalLine: lineOf(readFileSync(source, 'utf8')),
    });
  });
});

function readText(path: string): string {
  return readFileSync(join('dist', path), 'utf8');
}

function quotedItems(list = ''): string[] {
  return Array.from(list.matchAll(/'([^']+)'/g), ([, name]) => name!);
}

import { describe, expect, test } from '@jest/globals';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  formatNameFiles,
  sharedFileNames,
  smallFileLineLimit,
  registries,
  allowedSmallFiles,
  testedExports,
  unimportedExports,
} from './architecture/exceptions.js';
import {
  exportsForTestsAlone,
  findImportCycles,
  findSmallFilesWithOneImporter,
  unusedExports,
  type ImportedFile,
} from './architecture/graph.js';
import {
  allowedApiImports,
  allowedEngineImports,
  filesLoadedBy,
  allowedFolderImports,
  allowedQueryImports,
  allowedSchedulerImports,
  filesAboveFolders,
  folderOf,
  roomOf,
  rooms,
  findViolations,
} from './architecture/rules.js';
import { readSource } from './architecture/source.js';
import { readSourceFiles } from './architecture/sources.js';
import { jobs } from '../scheduler/jobs/index.js';
import { writers } from '../writers/index.js';

const allTexts = readSourceFiles();
const allSources = allTexts.map(({ path, text }) => readSource(path, text));
const sourceTexts = allTexts.filter(({ isProduct }) => isProduct);
const parsedSources = allSources.slice(0, sourceTexts.length);
/** The limits on each README of the source folders, in lines and in words (`maxReadmeWords`). */
const maxReadmeLines = 15;
const maxReadmeWords = 240;
/** The number of files from which on a folder needs a README of its own. */
const minFilesForReadme = 10;
/** The limit on ARCHITECTURE.md: one page. */
const maxArchitectureWords = 700;

describe('the sources', () => {
  test('keep the import directions, the doors and the ban on code from text (Q1)', () => {
    expect(parsedSources.length).toBeGreaterThan(20);
    expect(findViolations(parsedSources)).toEqual([]);
  });

  test.each(['scheduler/worker/job-thread.ts', 'scheduler/worker/worker-process.ts'])(
    '%s loads nothing of the catalogue',
    (entry) => {
      const loadedPaths = [...filesLoadedBy(entry, parsedSources).keys()];
      expect(loadedPaths).toContain(entry);
      expect(loadedPaths.filter((path) => path.startsWith('engine/catalog/'))).toEqual([]);
    },
  );

  test('a pool thread holds no native handle', () => {
    const entries = [
      'scheduler/worker/job-thread.ts',
      'scheduler/expressions/expression-thread.ts',
    ];
    const nativeImporters = entries
      .flatMap((entry) => [...filesLoadedBy(entry, parsedSources).values()])
      .filter(({ imports }) =>
        imports.some((one) => !one.isType && /^@duckdb\/|^node:sqlite$/.test(one.specifier)),
      );
    expect(nativeImporters.map(({ path }) => path)).toEqual([]);
  });

  test('import each other in no circle, tests and benchmarks and type imports included', () => {
    expect(allSources.length).toBeGreaterThan(parsedSources.length);
    expect(findImportCycles(allSources)).toEqual([]);
  });

  test('import each other in no circle of rooms', () => {
    expect(findImportCycles(parsedSources, roomOf)).toEqual([]);
  });

  test('import each other in no circle of folders, each without its subfolders', () => {
    expect(findImportCycles(parsedSources, folderOf)).toEqual([]);
    for (const file of filesAboveFolders) {
      const nodeOf = (path: string): string => (path === file ? dirname(path) : folderOf(path));
      expect(findImportCycles(parsedSources, nodeOf).flat()).toContain(dirname(file));
    }
  });

  test('export no name that no other file imports, but for those in architecture/exceptions.ts', () => {
    const unimportedNames = unusedExports(parsedSources, allSources);
    expect(unimportedNames.filter(({ path }) => !(path in unimportedExports))).toEqual([]);
    const paths = unimportedNames.map(({ path }) => path);
    expect(Object.keys(unimportedExports).filter((path) => !paths.includes(path))).toEqual([]);
  });

  test('export no name for tests alone, but for those in architecture/exceptions.ts', () => {
    const namesForTests = exportsForTestsAlone(parsedSources);
    expect(namesForTests.filter(({ path }) => !(path in testedExports))).toEqual([]);
    const paths = namesForTests.map(({ path }) => path);
    expect(Object.keys(testedExports).filter((path) => !paths.includes(path))).toEqual([]);
  });

  test('give each name of a type to one type', () => {
    const declaredTypes = new Map<string, string[]>();
    for (const { path, text } of sourceTexts)
      for (const [, name] of text.matchAll(
        /^(?:export )?(?:abstract )?(?:interface|type|class|(?:const )?enum) (\w+)/gm,
      ))
        declaredTypes.set(name!, [...(declaredTypes.get(name!) ?? []), path]);
    expect(declaredTypes.size).toBeGreaterThan(500);
    expect([...declaredTypes].filter(([, paths]) => paths.length > 1)).toEqual([]);
  });

  test('have no file name twice, but for those in architecture/exceptions.ts', () => {
    const names = sourceTexts.map(({ path }) => path.split('/').at(-1)!.replace(/\.ts$/, ''));
    const repeated = new Set(names.filter((name, i) => names.indexOf(name) < i));
    expect([...repeated].toSorted()).toEqual([...sharedFileNames].toSorted());
  });

  test('are no small parts of a single other file: join such a file to it, or name the reason in architecture/exceptions.ts', () => {
    const smallFiles = findSmallFilesWithOneImporter(
      sourceTexts,
      parsedSources,
      smallFileLineLimit,
    );
    const isException = ({ path, importer }: ImportedFile): boolean =>
      registries.includes(importer) || path in allowedSmallFiles;
    expect(smallFiles.filter((one) => !isException(one))).toEqual([]);
    const smallPaths = smallFiles.map(({ path }) => path);
    expect(Object.keys(allowedSmallFiles).filter((path) => !smallPaths.includes(path))).toEqual([]);
  });

  test('name no export format outside `writers`', () => {
    const namingPaths = sourceTexts
      .filter(({ path }) => !path.startsWith('writers/'))
      .filter(({ path, text }) => namesFormat(path, text))
      .map(({ path }) => path);
    const exceptions = formatNameFiles.map(({ path }) => path);
    expect(namingPaths.filter((path) => !exceptions.some((one) => one.test(path)))).toEqual([]);
    expect(exceptions.filter((one) => !namingPaths.some((path) => one.test(path)))).toEqual([]);
  });

  test('name no kind of job in the queue and the worker', () => {
    const kinds = new Set<string>(jobs.map(({ kind }) => kind));
    const genericSources = parsedSources.filter(({ path }) =>
      /^scheduler\/(queue|worker)\//.test(path),
    );
    expect(genericSources.length).toBeGreaterThan(10);
    const namedKinds = genericSources.flatMap(({ path, strings }) =>
      strings.filter((one) => kinds.has(one)).map((kind) => `${path}: ${kind}`),
    );
    expect(namedKinds).toEqual([]);
  });

  test('lie in rooms that a README describes', () => {
    const isInRoom = (path: string): boolean =>
      rooms.some((room) => path === room || path.startsWith(`${room}/`));
    expect(
      parsedSources.map(({ path }) => dirname(path)).filter((path) => !isInRoom(path)),
    ).toEqual([]);
    const folders = Map.groupBy(parsedSources, ({ path }) => dirname(path));
    const largeFolders = [...folders].filter(([, files]) => files.length >= minFilesForReadme);
    const describedFolders = new Set([...rooms, ...largeFolders.map(([folder]) => folder)]);
    expect([...describedFolders].filter((folder) => !existsSync(`${folder}/README.md`))).toEqual(
      [],
    );
  });

  test('are described by short READMEs', () => {
    const pages = Object.keys(allowedFolderImports)
      .flatMap((folder) =>
        readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
          (name) => `${folder}/${name}`,
        ),
      )
      .filter((path) => path.endsWith('/README.md'));
    expect(pages.length).toBeGreaterThanOrEqual(rooms.length);
    const isShort = (path: string): boolean => {
      const text = readFileSync(path, 'utf8').trim();
      return text.split('\n').length <= maxReadmeLines && wordsOf(text) <= maxReadmeWords;
    };
    expect(pages.filter((path) => !isShort(path))).toEqual([]);
  });

  test('docs/layout.md holds the same table of imports', () => {
    const page = readFileSync('docs/layout.md', 'utf8').replaceAll(/ +/g, ' ');
    for (const [folder, others] of Object.entries(allowedFolderImports)) {
      const otherFolders = others.filter((name) => name !== folder).map((name) => `\`${name}\``);
      expect(page).toContain(`| \`${folder}\` | ${otherFolders.join(', ') || 'nothing else'} |`);
    }
  });

  test.each([
    ['engine', allowedEngineImports],
    ['engine/query', allowedQueryImports],
    ['scheduler', allowedSchedulerImports],
    ['api', allowedApiImports],
  ])('docs/layout.md holds the same table of the rooms of %s', (folder, allowed) => {
    const page = readFileSync('docs/layout.md', 'utf8').replaceAll(/ +/g, ' ');
    const [, section = ''] = page.split(`## Rooms of \`${folder}\`\n`);
    const [table = ''] = section.split('\n## ');
    for (const [part, others] of Object.entries(allowed)) {
      expect(rooms).toContain(`${folder}/${part}`);
      const cell = others.map((name) => `\`${name}\``).join(', ') || 'nothing';
      expect(table).toMatch(new RegExp(`\\| \`${part}\` \\|[^|]*\\| ${cell} \\|`));
    }
  });
});

describe('the documents', () => {
  test('ARCHITECTURE.md is one page', () => {
    const words = wordsOf(readFileSync('ARCHITECTURE.md', 'utf8'));
    expect(words).toBeLessThanOrEqual(maxArchitectureWords);
  });

  test('the picture has every label of its source', () => {
    const source = readFileSync('docs/architecture.dot', 'utf8');
    const picture = readFileSync('docs/architecture.svg', 'utf8');
    const labels = [...source.matchAll(/label="([^"]+)"/g)].flatMap(([, text]) =>
      text!.split('\\n'),
    );
    expect(labels.length).toBeGreaterThan(20);
    const drawnLabels = [...picture.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(
      ([, text]) => text,
    );
    expect(drawnLabels.toSorted()).toEqual(labels.toSorted());
  });
});

/**
 * Returns whether a string of a source is the name of an export format; in the API and the command, whose texts users read, also whether a
 * string contains such a name, or "excel", as a word.
 * `json` counts only as the value of something named format, because it also names a type of fields.
 */
function namesFormat(path: string, text: string): boolean {
  const names = writers.map(({ format }) => format).filter((format) => format !== 'json');
  const pattern = /^(?:api|cli)\//.test(path)
    ? new RegExp(`(?<![/\\w-])(?:${names.join('|')}|excel)\\b`, 'i')
    : new RegExp(`^(?:${names.join('|')})$`);
  const { strings, templates } = readSource(path, text);
  const texts = [...strings, ...templates.map((template) => template.text)];
  return texts.some((one) => pattern.test(one)) || /format\w*\W{1,40}?['"`]json['"`]/i.test(text);
}

test.each([
  ['engine/a.ts', `const format = 'csv-gz';`, true],
  ['engine/a.ts', `create({ format: 'json' })`, true],
  ['engine/a.ts', `if (row.format === 'json') stop();`, true],
  ['engine/a.ts', `const type = 'json';`, false],
  ['engine/a.ts', `const text = 'csv, tsv';`, false],
  ['api/a.ts', `const text = 'CSV and TSV: cells';`, true],
  ['cli/a.ts', 'const path = `${home}/genes.csv`;', true],
  ['api/a.ts', `const key = 'csv_safe';`, false],
  ['api/a.ts', `import { Data } from 'apache-arrow';`, false],
])('%s: %s: names an export format: %j', (path, text, expected) => {
  expect(namesFormat(path, text)).toBe(expected);
});

describe('the import graph', () => {
  test('finds circles through types and across files, and none where all imports go one way', () => {
    const graph = [
      readSource('engine/a.ts', `import { b } from './b.js';`),
      readSource('engine/b.ts', `import type { C } from './c.js'; import { d } from './d.js';`),
      readSource('engine/c.ts', `export * from './a.js';`),
      readSource('engine/d.ts', `import { x } from 'node:path';`),
      readSource('engine/e.ts', `import { b } from './b.js';`),
    ];
    expect(findImportCycles(graph)).toEqual([['engine/a.ts', 'engine/b.ts', 'engine/c.ts']]);
    expect(findImportCycles(graph.filter(({ path }) => path !== 'engine/c.ts'))).toEqual([]);
  });

  test('finds files that are small and have one importer', () => {
    const texts = [
      { path: 'engine/a.ts', text: `import { b } from './b.js';\nimport { c } from './c.js';\n` },
      { path: 'engine/b.ts', text: `import { c } from './c.js';\nexport const b = c;\n` },
      { path: 'engine/c.ts', text: 'export const c = 1;\n' },
    ];
    const graph = texts.map(({ path, text }) => readSource(path, text));
    const expectedFiles = [{ path: 'engine/b.ts', importer: 'engine/a.ts' }];
    expect(findSmallFilesWithOneImporter(texts, graph, 40)).toEqual(expectedFiles);
    expect(findSmallFilesWithOneImporter(texts, graph, 2)).toEqual([]);
  });

  test('finds circles of rooms whose files import each other in none', () => {
    const graph = [
      readSource('cli/a.ts', `import { b } from '../readers/b.js';`),
      readSource('readers/b.ts', ''),
      readSource('readers/c.ts', `import type { D } from '../cli/d.js';`),
      readSource('cli/d.ts', ''),
    ];
    expect(findImportCycles(graph)).toEqual([]);
    expect(findImportCycles(graph, roomOf)).toEqual([['cli', 'readers']]);
  });

  test('finds circles of a folder and its subfolder, but none through a file above its folder', () => {
    const graph = [
      readSource('readers/index.ts', `import { c } from './bed/c.js';`),
      readSource('readers/b.ts', ''),
      readSource('readers/bed/c.ts', `import { b } from '../b.js';`),
    ];
    expect(findImportCycles(graph, folderOf)).toEqual([]);
    const call = readSource('readers/b.ts', `import type { D } from './bed/d.js';`);
    expect(
      findImportCycles([...graph, call, readSource('readers/bed/d.ts', '')], folderOf),
    ).toEqual([['readers', 'readers/bed']]);
  });

  test('finds exports that no other file imports', () => {
    const declaringSource = readSource(
      'engine/a.ts',
      `export const a = 1;\nexport async function* b() { return a; }\nexport interface C {}\nexport type D = C;\nconst e = 2;`,
    );
    const users = [
      readSource('test/b.ts', `import { b as other, type C } from '../engine/a.js';`),
      readSource('test/d.ts', `const x = await import('../engine/a.js'); x.D;`),
    ];
    expect(unusedExports([declaringSource], [declaringSource, ...users])).toEqual([
      { path: 'engine/a.ts', name: 'a' },
    ]);
    expect(
      unusedExports(
        [declaringSource],
        [readSource('test/c.ts', `export * from '../engine/a.js';`)],
      ),
    ).toEqual([]);
  });

  test('finds exports for tests alone, but not those that their own file uses', () => {
    const declaringSource = readSource(
      'engine/a.ts',
      `export const a = 1;\nexport const b = 2;\nexport function c() { return b; }`,
    );
    const user = readSource('engine/b.ts', `import { c } from './a.js';`);
    expect(exportsForTestsAlone([declaringSource, user])).toEqual([
      { path: 'engine/a.ts', name: 'a' },
    ]);
  });
});

describe('the checker', () => {
  test.each([
    [
      'engine/store/log.ts',
      `import { x } from '../../scheduler/task.js';`,
      'engine may not import scheduler',
    ],
    [
      'engine/query/sql.ts',
      `import { x } from '../catalog/catalog.js';`,
      'engine/query may not import engine/catalog',
    ],
    [
      'engine/query/sql.ts',
      `import type { FieldRow } from '../catalog/fields.js';`,
      'engine/query may not import engine/catalog',
    ],
    [
      'engine/core/types.ts',
      `export { x } from '../query/plan/query.js';`,
      'engine/core may not import engine/query',
    ],
    [
      'engine/query/memory/shard.ts',
      `import type { RunSelect } from '../sql/dialect/statement.js';`,
      'engine/query/memory may not import engine/query/sql/dialect',
    ],
    [
      'engine/query/sql/facet-plan.ts',
      `import { rowTest } from '../memory/match/row-test.js';`,
      'engine/query/sql may not import engine/query/memory/match',
    ],
    [
      'engine/query/memory/match/row-test.ts',
      `import { loadColumn } from '../load-column.js';`,
      'engine/query/memory/match may not import engine/query/memory',
    ],
    [
      'engine/query/predicate/predicate.ts',
      `import { kindOf } from './kinds/index.js';`,
      'engine/query/predicate may not import engine/query/predicate/kinds',
    ],
    [
      'engine/query/text/relevance.ts',
      `import { planQuery } from '../plan/plan.js';`,
      'engine/query/text may not import engine/query/plan',
    ],
    [
      'engine/parquet/encoder-values.ts',
      `import { AppError } from '../core/errors.js';`,
      'engine/parquet may not import engine/core',
    ],
    [
      'readers/vcf.ts',
      `import type { X } from '../writers/csv.js';`,
      'readers may not import writers',
    ],
    [
      'api/main.ts',
      `const { x } = await import('../readers/index.js');`,
      'api may not import readers',
    ],
    ['scheduler/a.ts', `import '../api/main.js';`, 'scheduler may not import api'],
    [
      'api/http/body-parsers.ts',
      `import type { Presenter } from '../resources/shared/presenter.js';`,
      'api/http may not import api/resources',
    ],
    [
      'api/resources/downloads/send-file.ts',
      `import { open } from 'node:fs/promises';`,
      'imports node:fs/promises',
    ],
    ['engine/store/log.ts', `import fs from 'fs';`, 'imports fs'],
    ['api/a.ts', `import { request } from 'node:https';`, 'imports node:https'],
    ['api/a.ts', `import {\n  type Agent,\n  request,\n} from 'undici';`, 'imports undici'],
    ['api/a.ts', `import { fork } from 'node:child_process';`, 'imports node:child_process'],
    ['readers/a.ts', `import { DatabaseSync } from 'node:sqlite';`, 'imports node:sqlite'],
    ['engine/a.ts', `import { Module } from '@nestjs/common';`, 'imports @nestjs/common'],
    ['engine/a.ts', `import vm from 'node:vm';`, 'imports node:vm'],
    ['scheduler/a.ts', 'const answer = await fetch(url);', 'uses fetch'],
    ['scheduler/a.ts', 'const get = globalThis.fetch;', 'uses fetch'],
    ['engine/a.ts', 'return eval(text);', 'uses eval'],
    ['engine/a.ts', `return new Function('x', text);`, 'uses Function()'],
    ['engine/a.ts', 'return new RegExp(pattern);', 'uses RegExp() of text'],
    ['engine/a.ts', `const fs = process.getBuiltinModule('fs');`, 'uses require'],
    ['engine/a.ts', 'const load = () => import(name);', 'uses import() of what is not a literal'],
    ['engine/a.ts', 'await import(name);', 'uses import() of what is not a literal'],
    ['engine/catalog/a.ts', 'db.exec(`PRAGMA x = ${y}`);', 'passes put-together text to exec()'],
    [
      'engine/catalog/a.ts',
      `db.prepare('SELECT ' + name);`,
      'passes put-together text to prepare()',
    ],
    ['engine/catalog/a.ts', 'const text = `SELECT * FROM ${table}`;', 'puts a statement together'],
    ['engine/a.ts', 'const t = `${/`/.test(x) ? `a` : "b"}`; eval(t);', 'uses eval'],
  ])('finds in %s: %s', (path, text, expected) => {
    expect(findViolations([readSource(path, text)]).join('\n')).toContain(expected);
  });

  test.each([
    ['engine/store/log.ts', `import { readFile } from '../core/files.js';`],
    ['engine/parquet/encoder-values.ts', `import { acquire } from '../core/buffers.js';`],
    ['engine/core/files.ts', `import { open } from 'node:fs/promises';`],
    ['engine/query/predicate/kinds/any.ts', `import { x } from '../../memory/match/row-test.js';`],
    ['engine/query/sql/rows.ts', `import { isUnsupported } from '../unsupported.js';`],
    ['api/a.ts', `import type { IncomingMessage } from 'node:http';`],
    ['engine/a.ts', `// fetch(url), eval(x) and import fs from 'node:fs' are words of a comment`],
    ['engine/a.ts', `throw new Error("do not eval(x) or import x from 'node:fs'");`],
    ['engine/a.ts', 'const text = `no eval(x) here: ${value}`;'],
    ['engine/a.ts', `const quote = /['"\`]/; const half = a / b; const rest = "eval(x)" / c;`],
    ['engine/a.ts', 'const found = rows.fetch(1); const options = { fetch: 1 };'],
    ['engine/a.ts', 'const url = import.meta.url; const match = pattern.exec(`${a} FROM`);'],
    ['engine/catalog/a.ts', 'db.get(sql`SELECT * FROM users WHERE id = ${id}`); db.exec("BEGIN");'],
    ['engine/catalog/a.ts', 'throw new Error(`${name}: choose another`);'],
    ['api/a.ts', 'class A { import(id: number) { return this.jobs.import(id); } }'],
  ])('accepts in %s: %s', (path, text) => {
    expect(findViolations([readSource(path, text)])).toEqual([]);
  });

  test('follows what a file loads, and not its types', () => {
    const graph = [
      readSource('scheduler/thread.ts', `import { run } from './chunk.js';`),
      readSource(
        'scheduler/chunk.ts',
        `import type { Row } from './row.js'; export * from './write.js';`,
      ),
      readSource('scheduler/write.ts', ''),
      readSource('scheduler/row.ts', ''),
    ];
    expect([...filesLoadedBy('scheduler/thread.ts', graph).keys()]).toEqual([
      'scheduler/thread.ts',
      'scheduler/chunk.ts',
      'scheduler/write.ts',
    ]);
  });
});

/** Returns the number of words of a text; marks of Markdown are none. */
function wordsOf(text: string): number {
  return text.match(/\S*\w\S*/g)?.length ?? 0;
}

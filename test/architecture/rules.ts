import { posix } from 'node:path';
import type { ImportStatement, ParsedSource } from './source.js';

/** Which folder may import which. A change of this table is an architecture decision and must be repeated in docs/layout.md. */
export const allowedFolderImports: Readonly<Record<string, readonly string[]>> = {
  engine: ['engine'],
  readers: ['readers', 'engine'],
  writers: ['writers', 'engine'],
  scheduler: ['scheduler', 'readers', 'writers', 'engine'],
  api: ['api', 'scheduler', 'engine'],
  cli: ['cli', 'scheduler', 'engine'],
};

/** Which part of the engine may import which other part, or which file of it. Type imports count too. */
export const allowedEngineImports: Readonly<Record<string, readonly string[]>> = {
  core: [],
  // The Parquet room could be published separately: from the engine it uses only the buffer pool and the assembler.
  parquet: ['core/buffers.ts', 'core/wasm-assembler.ts'],
  text: ['core'],
  expression: ['core'],
  // The catalogue implements an interface of `search`, by which a search reads the catalogue.
  catalog: ['core', 'search'],
  store: ['core', 'parquet', 'text'],
  ingest: ['core', 'parquet', 'store'],
  query: ['core', 'parquet', 'store', 'text'],
  change: ['core', 'ingest', 'parquet', 'query', 'store'],
  search: ['core', 'query', 'text'],
};

/**
 * Which room of `engine/query` may import which other room; each imports only rooms that precede it in this list. The rooms
 * `memory` and `sql` do not import each other: the parts of them that `predicate/kinds` imports are the rooms `memory/match` and
 * `sql/dialect`.
 */
export const allowedQueryImports: Readonly<Record<string, readonly string[]>> = {
  predicate: [],
  text: ['predicate'],
  request: ['predicate', 'text'],
  results: ['predicate', 'request'],
  'memory/match': ['predicate'],
  'sql/dialect': ['predicate', 'request'],
  'predicate/kinds': ['memory/match', 'predicate', 'sql/dialect'],
  executor: ['predicate', 'request', 'results', 'text'],
  memory: [
    'executor',
    'memory/match',
    'predicate',
    'predicate/kinds',
    'request',
    'results',
    'text',
  ],
  sql: ['executor', 'predicate', 'predicate/kinds', 'request', 'results', 'sql/dialect', 'text'],
  explain: ['executor', 'predicate', 'predicate/kinds', 'request'],
  plan: [
    'executor',
    'explain',
    'memory',
    'predicate',
    'predicate/kinds',
    'request',
    'results',
    'sql',
    'text',
  ],
};

/** Which room of the scheduler may import which other room. Type imports count too. */
export const allowedSchedulerImports: Readonly<Record<string, readonly string[]>> = {
  fetch: [],
  expressions: [],
  jobs: ['expressions', 'fetch'],
  worker: ['expressions', 'fetch', 'jobs'],
  queue: ['expressions', 'fetch', 'jobs', 'worker'],
};

/** Which room of the API may import which other room. Type imports count too. */
export const allowedApiImports: Readonly<Record<string, readonly string[]>> = {
  http: [],
  resources: ['http'],
};

/** The rooms of the product: each is a folder with a README. A folder below a room that is not listed itself belongs to that room. */
export const rooms: readonly string[] = [
  'engine/catalog',
  'engine/change',
  'engine/core',
  'engine/expression',
  'engine/ingest',
  'engine/parquet',
  'engine/query',
  'engine/query/executor',
  'engine/query/explain',
  'engine/query/memory',
  'engine/query/memory/match',
  'engine/query/plan',
  'engine/query/predicate',
  'engine/query/predicate/kinds',
  'engine/query/request',
  'engine/query/results',
  'engine/query/sql',
  'engine/query/sql/dialect',
  'engine/query/text',
  'engine/search',
  'engine/store',
  'engine/text',
  'readers',
  'writers',
  'scheduler/expressions',
  'scheduler/fetch',
  'scheduler/jobs',
  'scheduler/queue',
  'scheduler/worker',
  'api',
  'api/http',
  'api/resources',
  'cli',
];

/** Returns the room of a file of the product; the path itself for a file of another folder. */
export function roomOf(path: string): string {
  const containingRooms = rooms.filter((room) => path.startsWith(`${room}/`));
  return containingRooms.sort((one, other) => other.length - one.length)[0] ?? path;
}

/**
 * Files that count as lying above the folder that contains them, because each imports files of subfolders (to list or to start what is
 * there) that in turn import other files of the folder.
 */
export const filesAboveFolders: readonly string[] = [
  'cli/main.ts',
  'cli/strandlake.ts',
  'readers/index.ts',
  'scheduler/jobs/index.ts',
];

/** Returns the folder of a file without its subfolders; the path itself for a file above its folder. */
export function folderOf(path: string): string {
  return filesAboveFolders.includes(path) ? path : posix.dirname(path);
}

/** Modules that only the files in `through` (or folders, ending in a slash) may load. */
const restrictedModules: readonly {
  readonly modulePattern: RegExp;
  readonly through: readonly string[];
}[] = [
  {
    modulePattern: /^(node:)?fs(\/promises)?$/,
    through: [
      'engine/core/files.ts',
      'engine/core/file-writer.ts',
      'engine/core/files-sync.ts',
      'engine/core/atomic-files.ts',
    ],
  },
  {
    modulePattern:
      /^(node:)?(http|https|http2|net|tls|dgram|dns|dns\/promises)$|^undici$|^nodemailer$/,
    through: ['scheduler/fetch/'],
  },
  {
    modulePattern: /^(node:)?(child_process|cluster)$/,
    through: ['scheduler/worker/'],
  },
  {
    // `threads.ts` starts threads, `serving-thread.ts` and `thread-messages.ts` exchange messages with one, `blocking-calls.ts` lets a thread
    // call its owner, and `memory/shard-entry.ts` reads the data with which its thread was started.
    modulePattern: /^(node:)?worker_threads$|^piscina$/,
    through: [
      'engine/core/threads.ts',
      'engine/core/serving-thread.ts',
      'engine/core/thread-messages.ts',
      'engine/core/blocking-calls.ts',
      'engine/query/memory/shard-entry.ts',
    ],
  },
  {
    modulePattern: /^node:sqlite$/,
    through: ['engine/catalog/database.ts'],
  },
  { modulePattern: /^@duckdb\//, through: ['engine/query/sql/open-duckdb.ts'] },
  { modulePattern: /^@nestjs\/|^fastify$|^@fastify\//, through: ['api/'] },
  { modulePattern: /^(node:)?(vm|module|inspector|repl|wasi)$/, through: [] },
];

/** Expressions by which a module could load code, reach other hosts or make patterns of text, and which need no import. */
const restrictedGlobals: readonly {
  readonly word: RegExp;
  readonly name: string;
  readonly through: readonly string[];
}[] = [
  {
    word: /(?<![\w$.#'])fetch\b(?!\s*[:?])|\bglobalThis\s*\.\s*fetch\b/,
    name: 'fetch',
    through: ['cli/client.ts'],
  },
  { word: /\bnew\s+(WebSocket|EventSource)\b/, name: 'WebSocket', through: [] },
  { word: /(?<![\w$.#])eval\s*\(|\bglobalThis\s*\.\s*eval\b/, name: 'eval', through: [] },
  { word: /(?<![\w$.#])Function\s*\(/, name: 'Function()', through: [] },
  {
    word: /(?<![\w$.#])RegExp\s*\(/,
    name: 'RegExp() of text',
    // The listed files build patterns from their own constants; a text from a user never becomes a pattern.
    through: ['engine/catalog/tokens.ts', 'engine/text/text-tokenizer.ts'],
  },
  {
    word: /(?<![\w$.#])require\s*\(|\bgetBuiltinModule\b|\bprocess\s*\.\s*binding\b/,
    name: 'require',
    through: [],
  },
  {
    // A method may be named `import`, so only an import expression after one of these keywords or punctuators counts.
    word: /(\b(await|return|void|yield)|[=(,?:>[])\s*import\s*\(\s*(?!""\s*\))/,
    name: 'import() of what is not a literal',
    through: [],
  },
];

/** Returns all violations of the rules in some sources, as `path: what`. */
export function findViolations(sources: readonly ParsedSource[]): string[] {
  return sources.flatMap((source) =>
    [
      ...importDirectionViolations(source),
      ...restrictedModuleViolations(source),
      ...restrictedGlobalViolations(source),
      ...sqlViolations(source),
    ].map((text) => `${source.path}: ${text}`),
  );
}

/** Returns all files that loading `entry` loads, without type imports and lazy imports. */
export function filesLoadedBy(
  entry: string,
  sources: readonly ParsedSource[],
): Map<string, ParsedSource> {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const loadedSources = new Map<string, ParsedSource>();
  const pathsToVisit = [entry];
  for (let path = pathsToVisit.pop(); path !== undefined; path = pathsToVisit.pop()) {
    const source = byPath.get(path);
    if (!source || loadedSources.has(path)) continue;
    loadedSources.set(path, source);
    for (const one of source.imports) {
      const target = one.isType || one.isLazy ? undefined : resolveImportTarget(source.path, one);
      if (target !== undefined) pathsToVisit.push(target);
    }
  }
  return loadedSources;
}

/** The tables of allowed imports between rooms, each with the folder whose rooms it concerns. */
const allowedRoomImports: readonly (readonly [parent: string, typeof allowedEngineImports])[] = [
  ['engine', allowedEngineImports],
  ['engine/query', allowedQueryImports],
  ['scheduler', allowedSchedulerImports],
  ['api', allowedApiImports],
];

function* importDirectionViolations(source: ParsedSource): Generator<string> {
  const [folder = ''] = source.path.split('/');
  for (const one of source.imports) {
    const target = resolveImportTarget(source.path, one);
    if (target === undefined) continue;
    const [into = ''] = target.split('/');
    if (!allowedFolderImports[folder]?.includes(into))
      yield `imports ${target}, but ${folder} may not import ${into}`;
    for (const [parent, allowed] of allowedRoomImports) {
      const [from, to] = [source.path, target].map((path) => roomBelow(parent, path, allowed));
      if (from === undefined || to === undefined || from === to) continue;
      const file = target.slice(parent.length + 1);
      const isAllowed = (other: string): boolean =>
        other === to || other === file || (other.endsWith('/') && file.startsWith(other));
      if (!allowed[from]?.some(isAllowed))
        yield `imports ${target}, but ${parent}/${from} may not import ${parent}/${to}`;
    }
  }
}

/**
 * Returns the room below `parent` that contains a file: the deepest folder that `allowed` lists, else the folder directly below `parent`;
 * undefined if the file is elsewhere or in `parent` itself.
 */
function roomBelow(
  parent: string,
  path: string,
  allowed: Readonly<Record<string, unknown>>,
): string | undefined {
  if (!path.startsWith(`${parent}/`)) return undefined;
  const folders = posix.dirname(path.slice(parent.length + 1)).split('/');
  const ancestorFolders = folders.map((_, depth) => folders.slice(0, depth + 1).join('/'));
  const [first] = ancestorFolders;
  return (
    ancestorFolders.findLast((folder) => folder in allowed) ?? (first === '.' ? undefined : first)
  );
}

function* restrictedModuleViolations(source: ParsedSource): Generator<string> {
  for (const one of source.imports) {
    const restriction = one.isType
      ? undefined
      : restrictedModules.find(({ modulePattern }) => modulePattern.test(one.specifier));
    if (restriction && !isAllowedFile(source.path, restriction.through))
      yield `imports ${one.specifier}${allowedFilesText(restriction.through)}`;
  }
}

function* restrictedGlobalViolations(source: ParsedSource): Generator<string> {
  for (const { word, name, through } of restrictedGlobals) {
    if (word.test(source.code) && !isAllowedFile(source.path, through))
      yield `uses ${name}${allowedFilesText(through)}`;
  }
}

/** Finds SQL of the catalogue that is built from strings: values must be bound, and only the template tag `sql` may join parts of SQL. */
function* sqlViolations(source: ParsedSource): Generator<string> {
  if (!source.path.startsWith('engine/catalog/')) return;
  const call = /\.\s*(prepare|exec)\s*\(\s*([^)]*)/g;
  for (const [, name, argument = ''] of source.code.matchAll(call)) {
    if (/`|\+/.test(argument)) yield `passes put-together text to ${name}()`;
  }
  // The statements of `catalog-schema.ts` consist only of constants of the file itself, because the file imports nothing.
  if (source.path === 'engine/catalog/catalog-schema.ts' && source.imports.length === 0) return;
  const statement = /\b(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|WHERE|ORDER BY)\b/;
  for (const { tag, text } of source.templates) {
    if (text.includes('${}') && statement.test(text) && !/(^|\.)sql$/.test(tag)) {
      yield `puts a statement together from text: ${text.trim().slice(0, 60)}`;
    }
  }
}

/** Returns the path of the source file that an import names; undefined for packages and for modules of Node. */
export function resolveImportTarget(
  path: string,
  { specifier }: ImportStatement,
): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
}

function isAllowedFile(path: string, through: readonly string[]): boolean {
  return through.some((door) => (door.endsWith('/') ? path.startsWith(door) : path === door));
}

function allowedFilesText(through: readonly string[]): string {
  return through.length === 0 ? ', which nothing may' : `, which only ${through.join(', ')} may`;
}

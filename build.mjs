// Makes JavaScript of the TypeScript sources, without a check of types. Each entry of a process or a thread becomes a bundle: one file with all
// of its modules, ours and those of packages, because to find, read and link a thousand modules takes most of a start. What several entries
// share is in `chunks/`. For tests and benchmarks, each other module becomes a file of its own. See docs/decisions/0036-bundles.md.
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { TsconfigCache, transform } from 'rolldown/utils';

const root = fileURLToPath(new URL('.', import.meta.url));
const tsconfig = join(root, 'tsconfig.json');

/** The modules that processes and threads start with. No other module imports one: it would get another copy of all that is in it. */
const entries = [
  'api/main',
  'cli/strandlake',
  'engine/query/memory/shard-entry',
  'scheduler/expressions/expression-thread',
  'scheduler/worker/thread-entry',
  'scheduler/worker/worker-process',
];

/** A program that the tests start, and kill, a thousand times: to load its modules one by one takes most of its time. */
const testEntries = ['test/scheduler/processes/server'];

/** Packages that read files beside their own modules: a thread's first module, a native library. */
const unbundled = [/^piscina$/, /^@duckdb\/node-bindings$/];

/** Packages that NestJS and Fastify load only where they are installed. */
const notInstalled = [
  /^@nestjs\/(microservices|platform-express|websockets)(\/|$)/,
  /^@fastify\/(multipart|static|view)$/,
  /^class-(transformer|validator)$/,
];

async function bundle(dist, entries, chunks) {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(root, `${entry}.ts`)])),
    platform: 'node',
    external: [...unbundled, ...notInstalled],
    plugins: [addresses, http, ascii],
    tsconfig,
    resolve: { extensionAlias: { '.js': ['.js', '.ts'] } },
    transform: { target: 'node24', typescript: { optimizeConstEnums: true } },
    onLog: (level, log, report) => (level === 'warn' ? report('error', log) : report(level, log)),
  });
  await build.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: `${chunks}/[name]-[hash].js`,
    comments: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
    banner: ({ fileName }) => {
      const root = join(relative(dirname(fileName), '.'), '/').replaceAll('\\', '/');
      return `const builtFolder = new URL('${root}', import.meta.url).href;`;
    },
  });
  await build.close();
}

/**
 * In a bundle, `import.meta.url` is the address that the module has as a file of its own, so that what is named relative to it is found. That
 * file need not exist.
 */
const addresses = {
  name: 'addresses',
  transform: {
    filter: { id: { exclude: [/[\\/]node_modules[\\/]/, /^\0/] }, code: /import\.meta\./ },
    handler(code, id) {
      const path = relative(root, id).replaceAll('\\', '/').replace(/\.ts$/, '.js');
      if (/import\.meta\.(?!url\b)/.test(code))
        throw new Error(`${path}: a bundle keeps import.meta.url only`);
      return { code: code.replaceAll('import.meta.url', `(builtFolder + '${path}')`), map: null };
    },
  },
};

/** Node's own module "http", in CommonJS: as an ES module it also loads `fetch` and all that belongs to it, a tenth of the start of a process. */
const http = {
  name: 'http',
  resolveId: { filter: { id: /^(node:)?http$/ }, handler: () => '\0http' },
  load: {
    filter: { id: /^\0http$/ },
    handler: () => `module.exports = process.getBuiltinModule('node:http');`,
  },
};

/** Compiles each source file in the folders of `tsconfig.json` that is no entry, with a source map. Types are removed, imports stay as they are. */
async function compileModules(dist) {
  const { include } = JSON.parse(await readFile(tsconfig, 'utf8'));
  const listings = await Promise.all(
    include.map(async (folder) => {
      const names = await readdir(join(root, folder), { recursive: true });
      return names.map((name) => join(folder, name));
    }),
  );
  const bundled = new Set([...entries, ...testEntries].map((entry) => join(`${entry}.ts`)));
  const paths = listings
    .flat()
    .filter((path) => /(?<!\.d)\.ts$/.test(path) && !/\bnode_modules\b/.test(path))
    .filter((path) => !bundled.has(path));
  const folders = new Set(paths.map((path) => dirname(join(dist, path))));
  await Promise.all([...folders].map((folder) => mkdir(folder, { recursive: true })));
  const cache = new TsconfigCache(tsconfig);
  const results = await Promise.all(paths.map((path) => compileModule(dist, path, cache)));
  const errors = results.flat();
  if (errors.length > 0) throw new Error(errors.join('\n'));
}

/** Compiles one source file. Returns a text for each error of its syntax. */
async function compileModule(dist, path, cache) {
  const source = join(root, path);
  const options = { target: 'node24', sourcemap: true, tsconfig };
  const text = await readFile(source, 'utf8');
  const { code, map, errors } = await transform(source, text, options, cache);
  if (errors.length > 0) return errors.map(({ message }) => `${path}: ${message}`);
  const file = join(dist, path.replace(/\.ts$/, '.js'));
  const sources = [relative(dirname(file), source).replaceAll('\\', '/')];
  const savedMap = { ...map, file: basename(file), sources, sourcesContent: undefined };
  await Promise.all([
    writeFile(file, `${code}//# sourceMappingURL=${basename(file)}.map\n`),
    writeFile(`${file}.map`, JSON.stringify(savedMap)),
  ]);
  return [];
}

/**
 * Writes a bundle in ASCII alone: Node keeps the text of any other module in memory with two bytes for each character, in every thread. A
 * column in the source map can be wrong by a few characters in a line that has other characters.
 */
const ascii = {
  name: 'ascii',
  generateBundle(_options, files) {
    const escape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue;
      const unsafe = /\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f`]/.exec(file.code);
      if (unsafe) throw new Error(`${file.fileName}: ${unsafe[0]} cannot be written in ASCII`);
      file.code = file.code.replaceAll(/[^\0-\x7f]/g, escape);
    }
  },
};

// `node build.mjs <folder> [--tests]`; with `--tests`, also all modules by themselves, and the programs that only tests start.
const dist = resolve(process.argv[2]);
const forTests = process.argv[3] === '--tests';
await Promise.all([
  bundle(dist, entries, 'chunks'),
  ...(forTests ? [bundle(dist, testEntries, 'test/chunks'), compileModules(dist)] : []),
]);

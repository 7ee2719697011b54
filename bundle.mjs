// Makes a bundle of each entry of a process or a thread from the TypeScript sources: one file with all of its modules, ours and those of
// packages, because to find, read and link a thousand modules takes most of a start. What several entries share is in `chunks/`. Where tsc has
// compiled as well, the bundles replace its modules of the entries; all others stay, for the tests. See docs/decisions/0036-bundles.md.
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('.', import.meta.url));

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
    plugins: [addresses, http],
    tsconfig: join(root, 'tsconfig.json'),
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
 * In a bundle, `import.meta.url` is the address that tsc gives the module's own file, so that what is named relative to it is found. The file
 * itself need not exist.
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

// `node bundle.mjs <folder> [--tests]`; with `--tests`, also the programs that only tests start.
const dist = resolve(process.argv[2]);
await bundle(dist, entries, 'chunks');
if (process.argv[3] === '--tests') await bundle(dist, testEntries, 'test/chunks');

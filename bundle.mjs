// Replaces each entry of a process or a thread in a folder that tsc has built by one that holds all of its modules, ours and those of
// packages: to find, read and link a thousand modules takes most of a start. What several entries share is in `chunks/`. All other
// modules stay as they are, for the tests. See docs/decisions/0036-bundles.md.
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

/** The modules that processes and threads start with. No other module imports one: it would get another copy of all that is in it. */
const entries = [
  'api/main',
  'cli/strandlake',
  'engine/query/memory/thread',
  'scheduler/expressions/thread',
  'scheduler/worker/thread-entry',
  'scheduler/worker/worker-process',
];

/** Packages that read files beside their own modules: a thread's first module, a native library. */
const unbundled = [/^piscina$/, /^@duckdb\/node-bindings$/];

/** Packages that NestJS and Fastify load only where they are installed. */
const notInstalled = [
  /^@nestjs\/(microservices|platform-express|websockets)(\/|$)/,
  /^@fastify\/(multipart|static|view)$/,
  /^class-(transformer|validator)$/,
];

async function bundle(dist) {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(dist, `${entry}.js`)])),
    platform: 'node',
    external: [...unbundled, ...notInstalled],
    plugins: [ours(dist), http],
    onLog: (level, log, report) => (level === 'warn' ? report('error', log) : report(level, log)),
  });
  await build.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
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
 * Our modules, with the source maps of tsc. In a bundle, `import.meta.url` is still the address of the module's own file, so that what is named
 * relative to it is found.
 */
function ours(dist) {
  return {
    name: 'ours',
    load: {
      filter: { id: { exclude: [/[\\/]node_modules[\\/]/, /^\0/] } },
      // Synchronous: these are many small files.
      handler(id) {
        const path = relative(dist, id).replaceAll('\\', '/');
        const code = readFileSync(id, 'utf8');
        const map = readFileSync(`${id}.map`, 'utf8');
        if (/import\.meta\.(?!url\b)/.test(code))
          throw new Error(`${path}: a bundle keeps import.meta.url only`);
        return { code: code.replaceAll('import.meta.url', `(builtFolder + '${path}')`), map };
      },
    },
  };
}

/** Node's own module "http", in CommonJS: as an ES module it also loads `fetch` and all that belongs to it, a tenth of the start of a process. */
const http = {
  name: 'http',
  resolveId: { filter: { id: /^(node:)?http$/ }, handler: () => '\0http' },
  load: {
    filter: { id: /^\0http$/ },
    handler: () => `module.exports = process.getBuiltinModule('node:http');`,
  },
};

await bundle(resolve(process.argv[2]));

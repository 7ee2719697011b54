import { formats, runFormats } from './formats.js';
import { runImports as runImport } from './import.js';
import { runExports } from './exports.js';
import { runExpressions } from './expressions.js';
import { runLog } from './log.js';
import { runQueries } from './query.js';
import { runVersions } from './versions.js';

const benchmarks: Readonly<Record<string, (flags: ReadonlySet<string>) => Promise<void>>> = {
  import: runImport,
  query: runQueries,
  formats: runFormats('formats'),
  versions: runVersions,
  expressions: runExpressions,
  exports: runExports,
  log: runLog,
  ...Object.fromEntries(formats.map(({ name }) => [name, runFormats(name)])),
};

const [name = '', ...flags] = process.argv.slice(2);
const benchmark = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
if (benchmark) {
  await benchmark(new Set(flags));
} else {
  const names = Object.keys(benchmarks).join(', ');
  process.stderr.write(
    `Usage: npm run bench -- <name> [--quick] [--write] [--profile]\nNames: ${names}\n`,
  );
  process.exitCode = 2;
}

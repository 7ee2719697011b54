import { run as runCsv } from './csv.js';
import { run as runImport } from './import.js';

/** One entry per question. */
const benchmarks: Readonly<Record<string, (flags: ReadonlySet<string>) => Promise<void>>> = {
  import: runImport,
  csv: runCsv,
};

const [name = '', ...flags] = process.argv.slice(2);
const benchmark = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
if (benchmark) {
  await benchmark(new Set(flags));
} else {
  const names = Object.keys(benchmarks).join(', ');
  process.stderr.write(`Usage: npm run bench -- <name> [--quick] [--write]\nThere are: ${names}\n`);
  process.exitCode = 2;
}

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../generate.js';

/** A program with which a user could process a file instead of importing it; the benchmarks compare its time with that of the import. */
export interface Peer {
  readonly name: string;
  /** Returns the version of the program; undefined if it is not installed: then it is skipped, and the table says so. */
  version(): string | undefined;
  /** Runs the program on a file and returns the seconds that it takes; throws unless it writes all `records` records. */
  run(file: string, records: number): Promise<number>;
}

/**
 * Returns a compared program that runs in one process: it is called with `args`, the input file and the output file, and writes the number
 * of records to its standard output.
 */
export function programPeer(
  name: string,
  version: () => string | undefined,
  command: string,
  args: readonly string[],
  output: string,
): Peer {
  return {
    name,
    version,
    run(file, records) {
      const target = join(cacheFolder, output);
      rmSync(target, { force: true });
      const from = performance.now();
      const { stdout, status, error } = spawnSync(command, [...args, file, target], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const seconds = (performance.now() - from) / 1000;
      rmSync(target, { force: true });
      if (error) throw error;
      if (status !== 0 || Number(stdout) !== records)
        throw new Error(`${name} wrote ${stdout.trim()} of ${records} records, status ${status}`);
      return Promise.resolve(seconds);
    },
  };
}

/** Returns a compared program that is a script in this folder and runs in Node. */
export function nodeProgram(name: string, version: string, script: string, output: string): Peer {
  const file = fileURLToPath(new URL(script, import.meta.url));
  return programPeer(name, () => version, process.execPath, [file], output);
}

/** Returns a compared program that is a Python script in this folder. */
export function pythonProgram(name: string, script: string, args: readonly string[] = []): Peer {
  const file = join('benchmarks', 'peers', script);
  return programPeer(name, pythonVersion, 'python3', [file, ...args], 'peer.jsonl');
}

function pythonVersion(): string | undefined {
  const { status, stdout } = spawnSync('python3', ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cache } from '../generate.js';

/** A program that a user could run on the file instead of importing it. */
export interface Peer {
  readonly name: string;
  /** The version of the program; undefined if it is not installed: then it is skipped, and the table says so. */
  version(): string | undefined;
  /** Seconds for the whole file; throws when not all of its records come out. */
  run(file: string, records: number): Promise<number>;
}

/**
 * A peer that is one program: called with the input and the output file behind `args`, it writes the number of records to its
 * standard output.
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
      const target = join(cache, output);
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

/** A program in this folder that Node runs. */
export function nodeProgram(name: string, version: string, script: string, output: string): Peer {
  const file = fileURLToPath(new URL(script, import.meta.url));
  return programPeer(name, () => version, process.execPath, [file], output);
}

/** A Python program in this folder. */
export function pythonProgram(name: string, script: string, args: readonly string[] = []): Peer {
  const file = join('benchmarks', 'peers', script);
  return programPeer(name, pythonVersion, 'python3', [file, ...args], 'peer.jsonl');
}

function pythonVersion(): string | undefined {
  const { status, stdout } = spawnSync('python3', ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

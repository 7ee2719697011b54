import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

/** ClickHouse (chdb), which reads datasets as Delta tables, in a separate process. */
export interface ChdbDeltaReader {
  /** Returns the rows of a version as `[_id, n, word]`, in the order of `_id`. */
  rows(folder: string, version: number): Promise<readonly unknown[]>;
  close(): void;
}

/** Returns whether `npm run test:interop` has installed chdb. */
export function isDeltaReaderInstalled(): boolean {
  return existsSync('test/interop/node_modules/chdb');
}

/** Starts the Delta reader; returns undefined if it is not installed. */
export async function openDeltaReader(): Promise<ChdbDeltaReader | undefined> {
  if (!isDeltaReaderInstalled()) return undefined;
  const child = spawn(process.execPath, [resolve('test/interop/read-delta.mjs')], {
    cwd: await realpath(tmpdir()), // ClickHouse only opens files below its working folder
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  return {
    async rows(folder, version) {
      const line = once(lines, 'line');
      child.stdin.write(`${JSON.stringify([await realpath(folder), version])}\n`);
      const [answer] = (await line) as [string];
      const rows = JSON.parse(answer) as readonly unknown[] | string;
      if (typeof rows === 'string') throw new Error(rows);
      return rows;
    },
    close: () => void child.stdin.end(), // the process then ends by itself and removes its temporary files
  };
}

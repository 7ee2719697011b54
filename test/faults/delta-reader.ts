import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * A row of a dataset of a random history, as ClickHouse shows it. It has the columns, and the members of objects, that the version has.
 * ClickHouse shows a missing list as an empty one, and a missing object as one without values. The object is a JSON text if the first
 * records of the dataset had no member of it.
 */
export interface DeltaRow {
  readonly _id: string;
  readonly _commit: string;
  readonly n: number;
  readonly word: string;
  readonly info?: DeltaObject | string | null;
}

export interface DeltaObject {
  readonly a?: number | null;
  readonly b?: readonly string[];
}

/** ClickHouse (chdb), which reads datasets as Delta tables, in a separate process. */
export interface ChdbDeltaReader {
  /** Returns the rows of a version, in the order of `_id`. */
  rows(folder: string, version: number): Promise<readonly DeltaRow[]>;
  close(): void;
}

/** Returns whether `npm run test:interop` has installed chdb. */
export function isDeltaReaderInstalled(): boolean {
  return existsSync('test/interop/node_modules/chdb');
}

/** Whether it was said that the reader is not installed. */
let hasSaidMissing = false;

/** Starts the Delta reader. If it is not installed, returns undefined, and the first call in a test file says so. */
export async function openDeltaReader(): Promise<ChdbDeltaReader | undefined> {
  if (!isDeltaReaderInstalled()) {
    if (!hasSaidMissing)
      console.log('chdb is not installed (npm run test:interop): the comparison with ClickHouse was left out'); // prettier-ignore
    hasSaidMissing = true;
    return undefined;
  }
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
      const rows = JSON.parse(answer) as readonly DeltaRow[] | string;
      if (typeof rows === 'string') throw new Error(rows);
      return rows;
    },
    close: () => void child.stdin.end(), // the process then ends by itself and removes its temporary files
  };
}

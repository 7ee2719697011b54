import { expect } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withDataFolder } from '../../cli/data.js';
import { main } from '../../cli/main.js';
import { createUser } from '../../engine/catalog/create-user.js';
import { parseConfig } from '../../engine/core/config.js';
import { clientFor, type Client } from '../api/server.js';
import { collectingTerminal } from '../cli/collect.js';

/** An API process with its worker, on its own data folder. Tests kill it, from within or from outside, and start it again. */
export class KillableApiProcess {
  readonly #root: string;
  readonly #clientOf: (url: string) => Client;
  #process: ChildProcess | undefined;

  private constructor(root: string, clientOf: (url: string) => Client) {
    this.#root = root;
    this.#clientOf = clientOf;
  }

  /** Creates the data folder with a user. */
  static async createWithUser(): Promise<KillableApiProcess> {
    const root = await mkdtemp(join(tmpdir(), 'strandlake-killed-'));
    const token = { name: 'test' };
    const createdUser = await withDataFolder(join(root, 'data'), ({ catalog, key }) =>
      catalog.transaction((tx) =>
        createUser(tx, { email: 'a@acme.org', domain: 'acme', token }, key),
      ),
    );
    const { user, token: createdToken } = createdUser;
    return new KillableApiProcess(root, (url) => clientFor(url, user, createdToken?.secret ?? ''));
  }

  get dataFolderPath(): string {
    return join(this.#root, 'data');
  }

  /** Starts an API process; resolves with a client when it listens. At a crash point, if one is given, it or its worker kills itself. */
  async start(crashPoint?: string, settings?: readonly string[]): Promise<Client> {
    const startedProcess = this.forkProcess(crashPoint, settings);
    const [message] = (await once(startedProcess, 'message')) as [{ port: number }];
    return this.#clientOf(`http://127.0.0.1:${message.port}`);
  }

  /** Starts an API process with some settings, and does not wait until it listens. */
  forkProcess(crashPoint?: string, settings: readonly string[] = []): ChildProcess {
    const flags = [
      '--data',
      this.dataFolderPath,
      '--threads',
      '1',
      '--port',
      '0',
      '--multipart-mb',
      '1',
    ];
    const env = { ...process.env, ...(crashPoint && { STRANDLAKE_CRASH_POINT: crashPoint }) };
    this.#process = fork(
      'dist/api/main.js',
      [JSON.stringify(parseConfig([...flags, ...settings], {}))],
      {
        env,
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      },
    );
    return this.#process;
  }

  /** Resolves with the exit code and the signal when the process has ended. */
  waitForExit(): Promise<unknown> {
    const endingProcess = this.#process!;
    if (endingProcess.exitCode !== null || endingProcess.signalCode !== null)
      return Promise.resolve([endingProcess.exitCode, endingProcess.signalCode]);
    return once(endingProcess, 'exit');
  }

  /** Sends a signal to the process, if it is running, and waits until it has ended. */
  async signalAndWait(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#process === undefined) return;
    this.#process.kill(signal);
    await this.waitForExit();
  }

  /** Stops the process, and expects that the data folder is consistent and contains no files of tasks. */
  async expectIntactData(): Promise<void> {
    await this.signalAndWait('SIGTERM');
    const terminal = collectingTerminal();
    expect([await main(['verify', this.dataFolderPath], {}, terminal), terminal.outs]).toEqual([
      0,
      [],
    ]);
    const scratch = await readdir(join(this.dataFolderPath, 'scratch'));
    expect(scratch.filter((name) => !name.startsWith('spill-'))).toEqual([]);
  }

  /** Kills the process and removes the data folder. */
  async removeRootFolder(): Promise<void> {
    await this.signalAndWait('SIGKILL');
    await rm(this.#root, { recursive: true, force: true });
  }
}

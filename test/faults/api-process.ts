import { expect } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withData } from '../../cli/data.js';
import { main } from '../../cli/main.js';
import { createUser } from '../../engine/catalog/create-user.js';
import { parseConfig } from '../../engine/core/config.js';
import { clientFor, type Client } from '../api/server.js';
import { collect } from '../cli/collect.js';

/** An API process with its worker on a data folder of its own. It is killed, from within or from outside, and started again. */
export class ApiProcess {
  readonly #root: string;
  readonly #clientOf: (url: string) => Client;
  #process: ChildProcess | undefined;

  private constructor(root: string, clientOf: (url: string) => Client) {
    this.#root = root;
    this.#clientOf = clientOf;
  }

  /** Makes the data folder, with a user. */
  static async make(): Promise<ApiProcess> {
    const root = await mkdtemp(join(tmpdir(), 'strandlake-killed-'));
    const token = { name: 'test' };
    const createdUser = await withData(join(root, 'data'), ({ catalog, key }) =>
      catalog.transaction((tx) =>
        createUser(tx, { email: 'a@acme.org', domain: 'acme', token }, key),
      ),
    );
    const { user, token: createdToken } = createdUser;
    return new ApiProcess(root, (url) => clientFor(url, user, createdToken?.secret ?? ''));
  }

  /** The data folder. */
  get data(): string {
    return join(this.#root, 'data');
  }

  /** Starts a process; resolves with a client when it listens. The process kills itself at the crash point. */
  async start(crashPoint?: string): Promise<Client> {
    const started = this.fork(crashPoint);
    const [message] = (await once(started, 'message')) as [{ port: number }];
    return this.#clientOf(`http://127.0.0.1:${message.port}`);
  }

  /** Starts a process with some settings, and does not wait for it. */
  fork(crashPoint?: string, settings: readonly string[] = []): ChildProcess {
    const flags = ['--data', this.data, '--threads', '1', '--port', '0', '--multipart-mb', '1'];
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
  exit(): Promise<unknown> {
    const ending = this.#process!;
    if (ending.exitCode !== null || ending.signalCode !== null)
      return Promise.resolve([ending.exitCode, ending.signalCode]);
    return once(ending, 'exit');
  }

  /** Sends a signal to the process, if there is one, and waits for its end. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#process === undefined) return;
    this.#process.kill(signal);
    await this.exit();
  }

  /** Stops the process, and checks that the data folder is whole and holds no files of tasks. */
  async expectWhole(): Promise<void> {
    await this.end('SIGTERM');
    const terminal = collect();
    expect([await main(['verify', this.data], {}, terminal), terminal.outs]).toEqual([0, []]);
    const scratch = await readdir(join(this.data, 'scratch'));
    expect(scratch.filter((name) => !name.startsWith('spill-'))).toEqual([]);
  }

  /** Kills the process and removes the data folder. */
  async remove(): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.#root, { recursive: true, force: true });
  }
}

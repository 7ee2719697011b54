import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const serverScript = fileURLToPath(new URL('./server.js', import.meta.url));

/** A server process for tests that is killed at a crash point or from outside. Only one process may open a data folder at a time. */
export class KillableServer {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #out = '';
  #told: (() => void) | undefined;

  constructor(root: string, crashPoint?: string, target: 'server' | 'worker' = 'server') {
    const env = { ...process.env, ...(crashPoint && { STRANDLAKE_CRASH_POINT: crashPoint }) };
    this.#child = spawn(process.execPath, [serverScript, root, target], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child.stdout?.on('data', (bytes: Buffer) => {
      this.#out += bytes.toString();
      this.#told?.();
    });
    this.#exit = once(this.#child, 'close');
  }

  get isIdle(): boolean {
    return this.#out.includes('idle');
  }

  /** Resolves with the process id of the worker, or with undefined if the server died before it started a worker. */
  async waitUntilReady(): Promise<number | undefined> {
    const whenReady = new Promise<void>((resolve) => {
      this.#told = () => this.#out.includes('ready') && resolve();
      this.#told();
    });
    await Promise.race([whenReady, this.#exit]);
    const pid = /ready (\d+)/.exec(this.#out)?.[1];
    return pid === undefined ? undefined : Number(pid);
  }

  /** Kills the server, and the worker if its process id is given; otherwise the worker may survive for a moment. */
  async killWithWorker(workerPid: number | undefined): Promise<void> {
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    if (workerPid !== undefined) killProcess(workerPid);
    if (this.#child.exitCode === null) await exit;
  }

  async waitForExit(): Promise<void> {
    await this.#exit;
  }
}

/** Starts the server of a data folder up to five times, until it becomes idle and ends by itself. Throws if it never does. */
export async function recoverServer(root: string): Promise<void> {
  for (let start = 0; start < 5; start++) {
    const server = new KillableServer(root);
    await server.waitForExit();
    if (server.isIdle) return;
  }
  throw new Error('the server does not become idle');
}

/**
 * Starts the server of a data folder and kills it with its worker, several times, each time at a random moment within `maxMs` after it is
 * ready.
 */
export async function killServerRepeatedly(
  root: string,
  killCount: number,
  maxMs: number,
  next: () => number,
): Promise<void> {
  for (let i = 0; i < killCount; i++) {
    const server = new KillableServer(root);
    const pid = await server.waitUntilReady();
    await new Promise((resolve) => setTimeout(resolve, maxMs * next()));
    await server.killWithWorker(pid);
    if (pid !== undefined) killProcess(pid);
  }
}

/** Whether a process with this id exists. */
export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Kills a process that may have ended already. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

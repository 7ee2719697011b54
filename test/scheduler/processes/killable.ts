import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./server.js', import.meta.url));

/** A server on a data folder that only one process may open, to be killed from within (a crash point) or from outside. */
export class KillableServer {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #out = '';
  #told: (() => void) | undefined;

  constructor(root: string, crashPoint?: string, place: 'server' | 'worker' = 'server') {
    const env = { ...process.env, ...(crashPoint && { STRANDLAKE_CRASH_POINT: crashPoint }) };
    this.#child = spawn(process.execPath, [script, root, place], {
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

  /** Resolves with the worker's pid, or undefined when the server died before it had one. */
  async ready(): Promise<number | undefined> {
    const ready = new Promise<void>((resolve) => {
      this.#told = () => this.#out.includes('ready') && resolve();
      this.#told();
    });
    await Promise.race([ready, this.#exit]);
    const pid = /ready (\d+)/.exec(this.#out)?.[1];
    return pid === undefined ? undefined : Number(pid);
  }

  /** Server and worker at once, or the server alone: then its worker may outlive it by a moment. */
  async kill(workerPid: number | undefined): Promise<void> {
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    if (workerPid !== undefined) killed(workerPid);
    if (this.#child.exitCode === null) await exit;
  }

  async exit(): Promise<void> {
    await this.#exit;
  }
}

/** Kills a process that may have ended already. */
export function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

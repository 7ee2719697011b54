import { fork } from 'node:child_process';
import { eachLine, type LogFile } from './log-file.js';

/** Exit code of a process that must not be started again: its configuration or its data folder is wrong. */
export const exitRefused = 78;

export interface SupervisorOptions {
  readonly say: (text: string) => void;
  /** Takes the standard error of the child process; SIGHUP reopens the file. Without it, the child shares the standard error of this process. */
  readonly log: Pick<LogFile, 'write' | 'reopen'> | null;
  /** Called with each message of the child process. */
  readonly message: (message: unknown) => void;
  /** A process that ran for this long did not fail at start-up. */
  readonly healthyMs: number;
  /** Number of consecutive start-up failures after which the supervisor gives up. */
  readonly maxFailures: number;
  readonly pauseMs: number;
  /** Timeout between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}
const defaults: SupervisorOptions = {
  say: (text) => process.stderr.write(`${text}\n`),
  log: null,
  message: () => undefined,
  healthyMs: 5_000,
  maxFailures: 5,
  pauseMs: 250,
  graceMs: 8_000, // all processes end within ten seconds
};

/**
 * Flags for a process whose threads hold much memory in buffers. A thread's first collection is due at 64 MB of heap and buffers, and others as
 * both grow: by default, V8 collects the heap, in which there is no garbage, once for every 13 to 25 MB of buffers. An export spent a quarter of
 * its time on that, and loading columns a sixth.
 */
export const bufferFlags = ['--external-memory-accounted-in-global-limit', '--initial-heap-size=64'] as const; // prettier-ignore

/** Flags of the process that `supervise` starts, whose cache is in buffers: a collection is due when the buffers have grown by a tenth. */
const cacheFlags = [...bufferFlags, '--external-memory-max-growing-factor=1.1'];

/**
 * Runs `entry` as a child process until it ends by itself, and starts it again whenever it dies. Resolves to the exit
 * code for this process. SIGINT, SIGTERM and, without a log file, SIGHUP are passed on as SIGTERM; a child that does not end in time is killed.
 */
export function superviseProcess(
  entry: string,
  args: readonly string[],
  options: Partial<SupervisorOptions> = {},
): Promise<number> {
  const { say, log, message, healthyMs, maxFailures, pauseMs, graceMs } = { ...defaults, ...options }; // prettier-ignore
  return new Promise((resolve) => {
    let failures = 0;
    let isStopping = false;
    let stoppedAt = 0;
    // A running SQL statement occupies a thread of libuv's pool, which file access shares: four, the default, are too few.
    const env = { UV_THREADPOOL_SIZE: '16', ...process.env };
    const streams = new Set<Promise<void>>();
    let child = start();
    let restart: NodeJS.Timeout | undefined;
    let force: NodeJS.Timeout | undefined;
    const signals = ['SIGINT', 'SIGTERM', ...(log ? [] : (['SIGHUP'] as const))] as const;
    for (const signal of signals) process.on(signal, stop);
    const reopen = (): void => log?.reopen();
    if (log) process.on('SIGHUP', reopen);

    function start(): ReturnType<typeof fork> {
      const startedAt = performance.now();
      // The child has its own channel, so that it also notices when this process is killed.
      const errors = log ? 'pipe' : 'inherit';
      const execArgv = [...process.execArgv, ...cacheFlags];
      const startedChild = fork(entry, args, { stdio: ['inherit', 'inherit', errors, 'ipc'], env, execArgv }); // prettier-ignore
      const read = eachLine(startedChild.stderr, (line) => log?.write(line));
      streams.add(read);
      void read.then(() => streams.delete(read));
      startedChild.on('error', (error) => say(`strandlake: ${error.message}`));
      startedChild.on('message', message);
      startedChild.once('exit', (code, signal) =>
        onEnd(code, signal, performance.now() - startedAt >= healthyMs),
      );
      return startedChild;
    }

    function onEnd(code: number | null, signal: NodeJS.Signals | null, wasHealthy: boolean): void {
      if (isStopping || code === 0 || code === exitRefused) return finish(code ?? 0);
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
      failures = wasHealthy ? 1 : failures + 1;
      if (failures >= maxFailures) {
        say(
          `strandlake: the server ended ${failures} times in a row right after its start (last: ${how}); giving up. ` +
            'The lines above say why; correct that and start again.',
        );
        return finish(code === null || code === 0 ? 1 : code);
      }
      const waitMs = pauseMs * 2 ** (failures - 1);
      say(`strandlake: the server ended (${how}); starting it again`);
      restart = setTimeout(() => (child = start()), Math.min(waitMs, 4_000));
    }

    function stop(): void {
      if (isStopping) {
        // Asked twice: the person at the terminal means it. (Ctrl-C below npm arrives twice at once by itself.)
        if (performance.now() - stoppedAt > 1_000) child.kill('SIGKILL');
        return;
      }
      isStopping = true;
      stoppedAt = performance.now();
      clearTimeout(restart);
      if (child.exitCode !== null || child.signalCode !== null) return finish(0);
      child.kill('SIGTERM');
      force = setTimeout(() => child.kill('SIGKILL'), graceMs);
    }

    function finish(code: number): void {
      clearTimeout(force);
      for (const signal of signals) process.off(signal, stop);
      process.off('SIGHUP', reopen);
      // The last lines may still be in the pipe when the process has ended.
      void Promise.all(streams).then(() => resolve(code));
    }
  });
}

import { fork } from 'node:child_process';
import { forEachLine, type LogFile } from './log-file.js';

/** Exit code of a process whose restart cannot help: its configuration is wrong, or its data folder or its address cannot be used. */
export const refusedExitCode = 78;

interface SupervisorOptions {
  readonly say: (text: string) => void;
  /**
   * Receives the standard error of the child process; SIGHUP reopens the file. If null, the child shares the standard error of this
   * process.
   */
  readonly log: Pick<LogFile, 'write' | 'reopen'> | null;
  /** Called with each message of the child process. */
  readonly message: (message: unknown) => void;
  /** Time in milliseconds after which a process counts as started successfully. */
  readonly healthyMs: number;
  /** Number of processes in a row that end before they count as started successfully, after which the supervisor gives up. */
  readonly maxFailures: number;
  readonly pauseMs: number;
  /** Time in milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}
const defaultSupervisorOptions: SupervisorOptions = {
  say: (text) => process.stderr.write(`${text}\n`),
  log: null,
  message: () => undefined,
  healthyMs: 5_000,
  maxFailures: 5,
  pauseMs: 250,
  graceMs: 8_000, // so that all processes end within ten seconds
};

/**
 * V8 flags for a process whose threads hold much memory in buffers. The first garbage collection of a thread is due at 64 MB of heap and
 * buffers, later ones as both grow. By default, V8 collects the heap, which has no garbage then, once for every 13 to 25 MB of buffers: an
 * export spent a quarter of its time on that, and loading columns a sixth.
 */
export const bufferHeavyNodeFlags = ['--external-memory-accounted-in-global-limit', '--initial-heap-size=64'] as const; // prettier-ignore

/**
 * V8 flags of the process that `superviseProcess` starts, whose cache is in buffers: a garbage collection is due when the buffers have
 * grown by a tenth.
 */
const cacheProcessNodeFlags = [...bufferHeavyNodeFlags, '--external-memory-max-growing-factor=1.1'];

/**
 * Runs `entry` as a child process. If it ends in another way than by a signal to this process or with the exit code 0 or `refusedExitCode`,
 * it is started again, until it has ended right after its start `maxFailures` times in a row. Resolves with the exit code for this process.
 * SIGINT, SIGTERM and, without a log file, SIGHUP are passed on as SIGTERM; a child that does not end in time is killed.
 */
export function superviseProcess(
  entry: string,
  args: readonly string[],
  options: Partial<SupervisorOptions> = {},
): Promise<number> {
  const { say, log, message, healthyMs, maxFailures, pauseMs, graceMs } = { ...defaultSupervisorOptions, ...options }; // prettier-ignore
  return new Promise((resolve) => {
    let failures = 0;
    let isStopping = false;
    let stoppedAt = 0;
    // A running SQL statement occupies a thread of libuv's pool, which file access also uses; the default of four threads is too few.
    const env = { UV_THREADPOOL_SIZE: '16', ...process.env };
    const streams = new Set<Promise<void>>();
    let child = start();
    let restart: NodeJS.Timeout | undefined;
    let killTimer: NodeJS.Timeout | undefined;
    const signals = ['SIGINT', 'SIGTERM', ...(log ? [] : (['SIGHUP'] as const))] as const;
    for (const signal of signals) process.on(signal, stop);
    const reopen = (): void => log?.reopen();
    if (log) process.on('SIGHUP', reopen);

    function start(): ReturnType<typeof fork> {
      const startedAt = performance.now();
      // The child has an IPC channel, by which it also notices when this process is killed.
      const errors = log ? 'pipe' : 'inherit';
      const execArgv = [...process.execArgv, ...cacheProcessNodeFlags];
      const startedChild = fork(entry, args, { stdio: ['inherit', 'inherit', errors, 'ipc'], env, execArgv }); // prettier-ignore
      const read = forEachLine(startedChild.stderr, (line) => log?.write(line));
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
      if (isStopping || code === 0 || code === refusedExitCode) return finish(code ?? 0);
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
      failures = wasHealthy ? 0 : failures + 1;
      if (failures >= maxFailures) {
        say(
          `strandlake: the server ended ${failures} times in a row right after its start (last: ${how}); giving up. ` +
            'The lines above say why; correct that and start again.',
        );
        return finish(code === null || code === 0 ? 1 : code);
      }
      const waitMs = pauseMs * 2 ** Math.max(0, failures - 1);
      say(`strandlake: the server ended (${how}); starting it again`);
      restart = setTimeout(() => (child = start()), Math.min(waitMs, 4_000));
    }

    function stop(): void {
      if (isStopping) {
        // A second signal kills the child, because the user insists. (With npm, Ctrl-C sends two signals at once.)
        if (performance.now() - stoppedAt > 1_000) child.kill('SIGKILL');
        return;
      }
      isStopping = true;
      stoppedAt = performance.now();
      clearTimeout(restart);
      if (child.exitCode !== null || child.signalCode !== null) return finish(0);
      child.kill('SIGTERM');
      killTimer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    }

    function finish(code: number): void {
      clearTimeout(killTimer);
      for (const signal of signals) process.off(signal, stop);
      process.off('SIGHUP', reopen);
      // The last lines of the process may still be in the pipe when it has ended.
      void Promise.all(streams).then(() => resolve(code));
    }
  });
}

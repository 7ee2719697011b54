import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { forEachLine } from './log-file.js';
import type { MessageFromWorker, MessageToWorker, WorkerConfig } from './messages.js';
import { isWorkerStuck, readThreadState, type ThreadState } from './liveness.js';
import { bufferHeavyNodeFlags } from './supervisor.js';

const workerModulePath = fileURLToPath(new URL('./worker-process.js', import.meta.url));

/** A worker that ran for at least this time, in milliseconds, did not fail at start-up, so it is restarted without a delay. */
const minHealthyMs = 1_000;
const maxRestartDelayMs = 5_000;
/** Timeout of the first heartbeat in milliseconds: loading the code takes half a second, and many times that under load. */
const startTimeoutMs = 60_000;

/**
 * A setting of glibc's allocator for the worker process; other C libraries ignore it, and the environment of the server overrides it. Two
 * arenas serve all threads. By default each thread keeps its freed blocks in an arena of its own: after five imports of a CSV of 200 MB the
 * process used 0.83 instead of 0.6 GB. (Thresholds above which blocks are returned to the system at once save more memory, but an upsert of
 * one field takes a quarter longer.)
 */
const allocatorEnvironment = { MALLOC_ARENA_MAX: '2' };

/** Events of the worker process. */
export interface WorkerEvents {
  message(message: MessageFromWorker): void;
  /**
   * Called when the worker process, and with it each of its tasks, has ended in any way except by `close`, or could not be started; a new
   * process is being started.
   */
  lost(reason: string, pid: number | undefined): void;
}

/** Controls the worker process from the API process. */
export interface WorkerSupervisor {
  readonly pid: number | null;
  send(message: MessageToWorker): void;
  /** Kills the worker process; `lost` is called and a new process starts. Returns false if none is running. */
  kill(): boolean;
  close(): Promise<void>;
}

/**
 * Starts the worker process, and restarts it when it dies or is stuck. Whether it is stuck is checked after `heartbeatTimeoutMs` without a
 * heartbeat. A stuck process is killed before the next one starts, so that two processes never write the files of the same task.
 */
export function startWorker(
  config: WorkerConfig,
  heartbeatTimeoutMs: number,
  events: WorkerEvents,
): WorkerSupervisor {
  let child: ChildProcess | null = null;
  let isClosing = false;
  let startedAt = 0;
  let heartbeatAt = 0;
  let isStarting = true;
  let failures = 0;
  let restart: NodeJS.Timeout | undefined;
  let deathReason: string | null = null;
  let whenGone: (() => void) | null = null;
  const waitingMessages: MessageToWorker[] = [];

  function start(): void {
    restart = undefined;
    startedAt = heartbeatAt = performance.now();
    isStarting = true;
    deathReason = null;
    const startedChild = fork(workerModulePath, [JSON.stringify(config)], {
      serialization: 'advanced',
      execArgv: workerNodeFlags(config),
      env: { ...allocatorEnvironment, ...process.env },
      // The worker's standard error passes through this process, which writes it line by line: if two processes wrote to one pipe, their
      // lines could be mixed.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    forEachLine(startedChild.stderr, (line) => process.stderr.write(`${line}\n`));
    child = startedChild;
    let isOver = false;
    const onOver = (reason: string): void => {
      if (isOver) return;
      isOver = true;
      onGone(deathReason ?? reason, startedChild.pid);
    };
    startedChild.on('message', (message) => {
      heartbeatAt = performance.now();
      isStarting = false;
      if (!isOver) events.message(message as MessageFromWorker);
    });
    startedChild.on('error', (error) => {
      // After a failed fork there is no exit event; a failed send is followed by one.
      if (startedChild.pid === undefined) onOver(`it cannot be started: ${error.message}`);
    });
    startedChild.on('exit', (code, signal) => {
      const reason = signal === null ? `exit code ${code}` : `signal ${signal}`;
      // Messages sent just before the death are still in the channel and are received before `disconnect`.
      if (startedChild.connected) startedChild.once('disconnect', () => onOver(reason));
      else onOver(reason);
    });
    for (const message of waitingMessages.splice(0)) startedChild.send(message, ignoreSendError);
  }

  function onGone(reason: string, pid: number | undefined): void {
    child = null;
    if (isClosing) {
      whenGone?.();
      return;
    }
    const lifeMs = performance.now() - startedAt;
    failures = lifeMs >= minHealthyMs ? 0 : failures + 1;
    const pauseMs = failures <= 1 ? 0 : Math.min(maxRestartDelayMs, 50 * 2 ** failures);
    restart = setTimeout(start, pauseMs);
    events.lost(reason, pid);
  }

  let wasStuck = false;
  /** The state of the worker's main thread at about its last heartbeat. */
  let lastState: ThreadState | undefined;
  async function checkLiveness(): Promise<void> {
    const watchedChild = child;
    if (watchedChild?.pid === undefined) return;
    const sinceHeartbeatMs = performance.now() - heartbeatAt;
    if (sinceHeartbeatMs <= heartbeatTimeoutMs / 4 && !isStarting)
      lastState = await readThreadState(watchedChild.pid);
    const now =
      sinceHeartbeatMs > heartbeatTimeoutMs ? await readThreadState(watchedChild.pid) : undefined;
    const before = isStarting ? undefined : lastState;
    const isUnchanged = performance.now() - heartbeatAt >= sinceHeartbeatMs; // no heartbeat during the check
    const stuck =
      isUnchanged &&
      isWorkerStuck(sinceHeartbeatMs, isStarting, before, now, {
        heartbeatTimeoutMs,
        startTimeoutMs,
      });
    // The worker is killed only if it is found stuck twice in a row: after a pause of this process, its timers fire before pending messages
    // are delivered.
    if (stuck && wasStuck && watchedChild === child) {
      deathReason = `no heartbeat for ${Math.round(sinceHeartbeatMs / 1000)} s`;
      watchedChild.kill('SIGKILL');
    }
    wasStuck = stuck;
  }
  const watch = setInterval(() => void checkLiveness(), Math.max(10, heartbeatTimeoutMs / 4));
  watch.unref();

  start();
  return {
    get pid() {
      return child?.pid ?? null;
    },
    send(message) {
      if (child === null) waitingMessages.push(message);
      else child.send(message, ignoreSendError);
    },
    kill() {
      return child?.kill('SIGKILL') ?? false;
    },
    async close() {
      isClosing = true;
      clearInterval(watch);
      clearTimeout(restart);
      const closing = child;
      if (closing === null) return;
      await new Promise<void>((resolve) => {
        whenGone = resolve;
        // The worker exits when its channel to this process closes.
        if (closing.connected) closing.disconnect();
        setTimeout(() => closing.kill('SIGKILL'), 1_000).unref();
      });
    },
  };
}

/** Ignores the error of a send: a send fails only if the worker is dying, and then `lost` is called. */
function ignoreSendError(): void {}

/**
 * Returns the flags of Node for the worker. Half of its memory is for the JavaScript heap of its main thread; buffers, WebAssembly and
 * DuckDB allocate outside it.
 */
function workerNodeFlags(config: WorkerConfig): string[] {
  return [
    `--max-old-space-size=${Math.max(128, Math.floor(config.memoryMb / 2))}`,
    ...bufferHeavyNodeFlags,
  ];
}

import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eachLine } from './log-file.js';
import type { FromWorker, ToWorker, WorkerConfig } from './messages.js';
import { isStuck, threadStateOf, type ThreadState } from './liveness.js';
import { bufferFlags } from './supervisor.js';

const entry = fileURLToPath(new URL('./worker-process.js', import.meta.url));

/** A worker that ran for at least this long did not fail at start-up, so it is restarted without a delay. */
const healthyMs = 1_000;
const maxRestartDelayMs = 5_000;
/** Timeout of the first heartbeat: loading the code takes half a second, and many times that under load. */
const startTimeoutMs = 60_000;

/**
 * A setting of the allocator of glibc for the worker process; other C libraries ignore it, and the environment of the server overrides it. Two arenas
 * serve all threads. By default each thread keeps the freed blocks of its chunks in an arena of its own: after five imports of a CSV of
 * 200 MB the process had 0.83 instead of 0.6 GB. (Thresholds from which blocks return to the system at once save more memory, but an upsert of one field
 * takes a quarter longer.)
 */
const allocator = { MALLOC_ARENA_MAX: '2' };

/** Events of the worker process. */
export interface HostEvents {
  message(message: FromWorker): void;
  /** Called when the worker process has died or was killed as stuck, with all its tasks; a new one is being started. */
  lost(reason: string, pid: number | undefined): void;
}

/** Controls the worker process from the API process. */
export interface Host {
  readonly pid: number | null;
  send(message: ToWorker): void;
  /** Kills the worker process; `lost` is called and a new one starts. False if none is running. */
  kill(): boolean;
  close(): Promise<void>;
}

/**
 * Starts the worker process and restarts it when it dies or is stuck, which is examined after `heartbeatTimeoutMs` without
 * a heartbeat. A stuck process is killed before the next one starts, so that two never write the files of the same task.
 */
export function startHost(
  config: WorkerConfig,
  heartbeatTimeoutMs: number,
  events: HostEvents,
): Host {
  let child: ChildProcess | null = null;
  let isClosing = false;
  let startedAt = 0;
  let heartbeatAt = 0;
  let isStarting = true;
  let failures = 0;
  let restart: NodeJS.Timeout | undefined;
  let deathReason: string | null = null;
  let whenGone: (() => void) | null = null;
  const waitingMessages: ToWorker[] = [];

  function start(): void {
    restart = undefined;
    startedAt = heartbeatAt = performance.now();
    isStarting = true;
    deathReason = null;
    const startedChild = fork(entry, [JSON.stringify(config)], {
      serialization: 'advanced',
      execArgv: workerFlags(config),
      env: { ...allocator, ...process.env },
      // The output passes through this process, which writes line by line: two processes that write to one pipe would tear each other's lines.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    eachLine(startedChild.stderr, (line) => process.stderr.write(`${line}\n`));
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
      if (!isOver) events.message(message as FromWorker);
    });
    startedChild.on('error', (error) => {
      // A failed fork has no exit event; a failed send is followed by one.
      if (startedChild.pid === undefined) onOver(`it cannot be started: ${error.message}`);
    });
    startedChild.on('exit', (code, signal) => {
      const reason = signal === null ? `exit code ${code}` : `signal ${signal}`;
      // Messages sent just before the death are still in the channel: they come before `disconnect`.
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
    failures = lifeMs >= healthyMs ? 0 : failures + 1;
    const pauseMs = failures <= 1 ? 0 : Math.min(maxRestartDelayMs, 50 * 2 ** failures);
    restart = setTimeout(start, pauseMs);
    events.lost(reason, pid);
  }

  let wasStuck = false;
  /** State at about the last heartbeat. */
  let lastState: ThreadState | undefined;
  async function checkLiveness(): Promise<void> {
    const watchedChild = child;
    if (watchedChild?.pid === undefined) return;
    const sinceHeartbeatMs = performance.now() - heartbeatAt;
    if (sinceHeartbeatMs <= heartbeatTimeoutMs / 4 && !isStarting)
      lastState = await threadStateOf(watchedChild.pid);
    const now =
      sinceHeartbeatMs > heartbeatTimeoutMs ? await threadStateOf(watchedChild.pid) : undefined;
    const before = isStarting ? undefined : lastState;
    const isUnchanged = performance.now() - heartbeatAt >= sinceHeartbeatMs; // no heartbeat meanwhile
    const stuck =
      isUnchanged &&
      isStuck(sinceHeartbeatMs, isStarting, before, now, { heartbeatTimeoutMs, startTimeoutMs });
    // Twice in a row: after a pause of this process its timers fire before pending messages are delivered.
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
        // The worker exits when its channel closes.
        if (closing.connected) closing.disconnect();
        setTimeout(() => closing.kill('SIGKILL'), 1_000).unref();
      });
    },
  };
}

/** A send fails only if the worker is dying; `lost` is called then. */
function ignoreSendError(): void {}

/** Half of the memory is for the heap; buffers, WebAssembly and DuckDB allocate outside it. */
function workerFlags(config: WorkerConfig): string[] {
  return [`--max-old-space-size=${Math.max(128, Math.floor(config.memoryMb / 2))}`, ...bufferFlags];
}

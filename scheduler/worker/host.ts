import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromWorker, ToWorker, WorkerConfig } from './messages.js';
import { isStuck, pulseOf, type Pulse } from './liveness.js';

const entry = fileURLToPath(new URL('./worker-process.js', import.meta.url));

/** A worker that lived at least this long was no start-up failure, so its successor starts at once. */
const healthyMs = 1_000;
const longestPauseMs = 5_000;
/** Until its first word a worker loads its code; under load that takes many times the usual half second. */
const startMs = 60_000;

/** What the host tells its owner. */
export interface HostEvents {
  message(message: FromWorker): void;
  /** The worker process died or hung with everything that it ran; the next one is on its way. */
  lost(reason: string, pid: number | undefined): void;
}

/** The API process's end of the worker process. */
export interface Host {
  readonly pid: number | null;
  send(message: ToWorker): void;
  /** Ends the worker process at once; `lost` follows and a new one starts. False if there is none at the moment. */
  kill(): boolean;
  close(): Promise<void>;
}

/**
 * Starts the worker process and keeps one running: when it dies, or says nothing for `silenceMs` and no busy machine
 * explains it, it is replaced.
 * A process that is alive but stuck (stopped, swapping) is killed first, so that two never run the same task's files.
 */
export function startHost(config: WorkerConfig, silenceMs: number, events: HostEvents): Host {
  let child: ChildProcess | null = null;
  let isClosing = false;
  let startedAt = 0;
  let heardAt = 0;
  let isStarting = true;
  let failures = 0;
  let restart: NodeJS.Timeout | undefined;
  let deathReason: string | null = null;
  let whenGone: (() => void) | null = null;
  const waiting: ToWorker[] = [];

  function start(): void {
    restart = undefined;
    startedAt = heardAt = performance.now();
    isStarting = true;
    deathReason = null;
    const started = fork(entry, [JSON.stringify(config)], {
      serialization: 'advanced',
      execArgv: workerFlags(config),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child = started;
    let isOver = false;
    const over = (reason: string): void => {
      if (isOver) return;
      isOver = true;
      gone(deathReason ?? reason, started.pid);
    };
    started.on('message', (message) => {
      heardAt = performance.now();
      isStarting = false;
      if (!isOver) events.message(message as FromWorker);
    });
    started.on('error', (error) => {
      // A failed fork has no exit event; a failed send is followed by one.
      if (started.pid === undefined) over(`it cannot be started: ${error.message}`);
    });
    started.on('exit', (code, signal) => {
      const reason = signal === null ? `exit code ${code}` : `signal ${signal}`;
      // Messages sent just before the death are still in the channel: they come before `disconnect`.
      if (started.connected) started.once('disconnect', () => over(reason));
      else over(reason);
    });
    for (const message of waiting.splice(0)) started.send(message, ignoreSendError);
  }

  function gone(reason: string, pid: number | undefined): void {
    child = null;
    if (isClosing) {
      whenGone?.();
      return;
    }
    const lifeMs = performance.now() - startedAt;
    failures = lifeMs >= healthyMs ? 0 : failures + 1;
    const pauseMs = failures <= 1 ? 0 : Math.min(longestPauseMs, 50 * 2 ** failures);
    restart = setTimeout(start, pauseMs);
    events.lost(reason, pid);
  }

  let wasStuck = false;
  /** What the worker had used about when it was last heard. */
  let pulse: Pulse | undefined;
  async function look(): Promise<void> {
    const watched = child;
    if (watched?.pid === undefined) return;
    const silentMs = performance.now() - heardAt;
    if (silentMs <= silenceMs / 4 && !isStarting) pulse = await pulseOf(watched.pid);
    const now = silentMs > silenceMs ? await pulseOf(watched.pid) : undefined;
    const before = isStarting ? undefined : pulse;
    const isSilent = performance.now() - heardAt >= silentMs; // nothing came meanwhile
    const stuck = isSilent && isStuck(silentMs, isStarting, before, now, { silenceMs, startMs });
    // Twice in a row: after a pause of this very process its timers fire before the messages that waited.
    if (stuck && wasStuck && watched === child) {
      deathReason = `no sign of life for ${Math.round(silentMs / 1000)} s`;
      watched.kill('SIGKILL');
    }
    wasStuck = stuck;
  }
  const watch = setInterval(() => void look(), Math.max(10, silenceMs / 4));
  watch.unref();

  start();
  return {
    get pid() {
      return child?.pid ?? null;
    },
    send(message) {
      if (child === null) waiting.push(message);
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

/** A send fails only when the worker is dying; `lost` then tells what becomes of its tasks. */
function ignoreSendError(): void {}

/** The heap gets half: buffers, WebAssembly and DuckDB's memory live outside it. */
function workerFlags(config: WorkerConfig): string[] {
  return [`--max-old-space-size=${Math.max(128, Math.floor(config.memoryMb / 2))}`];
}

import { readSystemFile } from '../../engine/core/files.js';

/** State of the main thread of a process. */
export interface ThreadState {
  /** State letter of `/proc/<pid>/stat`, such as R: runs or waits for a processor, S: sleeps, D: waits for a disk, T or t: is stopped. */
  readonly state: string;
  /** Processor time used so far, in milliseconds. */
  readonly cpuMs: number;
}

/** Timeouts of the liveness check. */
interface LivenessTimeouts {
  /** Heartbeat timeout in milliseconds: a worker without a heartbeat for longer is checked. */
  readonly heartbeatTimeoutMs: number;
  /** Timeout of the first heartbeat in milliseconds, before which a worker loads its code. */
  readonly startTimeoutMs: number;
}

/** A worker without a heartbeat for this many timeouts is stuck, however busy the machine is. */
const maxTimeoutsWithoutHeartbeat = 12;
/** Linux counts processor time in hundredths of a second. */
const clockTickMs = 10;

/**
 * Whether a worker without a recent heartbeat is stuck, rather than delayed by a busy machine. It is stuck after `heartbeatTimeoutMs` if
 * its main thread is stopped. It is stuck after the timeout, which is at least `startTimeoutMs` while the worker starts, if the thread
 * sleeps or has used enough processor time to send a heartbeat; otherwise, because the thread waits for a processor or a disk, only after
 * `maxTimeoutsWithoutHeartbeat` timeouts. `before` is the state of the thread at about the last heartbeat. If the system
 * does not tell the current state (`now` is undefined), the timeout is four times as long.
 */
export function isWorkerStuck(
  sinceHeartbeatMs: number,
  isStarting: boolean,
  before: ThreadState | undefined,
  now: ThreadState | undefined,
  { heartbeatTimeoutMs, startTimeoutMs }: LivenessTimeouts,
): boolean {
  if (sinceHeartbeatMs <= heartbeatTimeoutMs) return false;
  if (now !== undefined && 'Tt'.includes(now.state)) return true;
  const limitMs = isStarting ? Math.max(startTimeoutMs, heartbeatTimeoutMs) : heartbeatTimeoutMs;
  if (sinceHeartbeatMs > limitMs * maxTimeoutsWithoutHeartbeat) return true;
  if (sinceHeartbeatMs <= limitMs) return false;
  if (now === undefined) return sinceHeartbeatMs > limitMs * 4;
  if (now.cpuMs - (before?.cpuMs ?? 0) >= limitMs / 2) return true;
  return now.state === 'S';
}

/** Returns the state of a process's main thread; undefined if there is no such process, and on systems other than Linux. */
export async function readThreadState(pid: number): Promise<ThreadState | undefined> {
  const text = await readSystemFile(`/proc/${pid}/task/${pid}/stat`).catch(() => undefined);
  // The file has the form `pid (name) state ppid …`. The name may contain any character, so the fields are counted from the last `)`.
  const statFields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = statFields ?? [];
  if (statFields === undefined || state === undefined || statFields.length < 13) return undefined;
  return { state, cpuMs: (Number(statFields[11]) + Number(statFields[12])) * clockTickMs };
}

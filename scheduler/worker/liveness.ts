import { readSystemFile } from '../../engine/core/files.js';

/** State of the main thread of a process. */
export interface ThreadState {
  /** State letter of `/proc/<pid>/stat`: R runs or waits for a processor, S sleeps, D waits for a disk, T is stopped. */
  readonly state: string;
  /** Processor time used so far. */
  readonly cpuMs: number;
}

/** Timeouts of the liveness check. */
export interface LivenessTimeouts {
  /** Heartbeat timeout: a worker without a heartbeat for longer is examined. */
  readonly heartbeatTimeoutMs: number;
  /** Timeout of the first heartbeat, before which a worker loads its code. */
  readonly startTimeoutMs: number;
}

/** A worker without a heartbeat for this many timeouts is stuck, however busy the machine is. */
const maxTimeouts = 12;
/** Linux counts processor time in hundredths of a second. */
const tickMs = 10;

/**
 * Whether a worker without a recent heartbeat is stuck, rather than delayed by a busy machine. It is stuck if its main thread
 * is stopped, sleeps, or has used enough processor time to send a heartbeat; it is not while it waits for a processor or a
 * disk. `before` is the state at about the last heartbeat. If the system does not tell the state (`now` is undefined), the
 * timeout is four times as long.
 */
export function isStuck(
  sinceHeartbeatMs: number,
  isStarting: boolean,
  before: ThreadState | undefined,
  now: ThreadState | undefined,
  { heartbeatTimeoutMs, startTimeoutMs }: LivenessTimeouts,
): boolean {
  if (sinceHeartbeatMs <= heartbeatTimeoutMs) return false;
  if (now !== undefined && 'Tt'.includes(now.state)) return true;
  const limitMs = isStarting ? Math.max(startTimeoutMs, heartbeatTimeoutMs) : heartbeatTimeoutMs;
  if (sinceHeartbeatMs > limitMs * maxTimeouts) return true;
  if (sinceHeartbeatMs <= limitMs) return false;
  if (now === undefined) return sinceHeartbeatMs > limitMs * 4;
  if (now.cpuMs - (before?.cpuMs ?? 0) >= limitMs / 2) return true;
  return now.state === 'S';
}

/** State of a process's main thread; undefined without such a process, and on systems other than Linux. */
export async function threadStateOf(pid: number): Promise<ThreadState | undefined> {
  const text = await readSystemFile(`/proc/${pid}/task/${pid}/stat`).catch(() => undefined);
  // pid (name) state ppid …; the name may contain any character, so the fields are counted from the last bracket.
  const statFields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = statFields ?? [];
  if (statFields === undefined || state === undefined || statFields.length < 13) return undefined;
  return { state, cpuMs: (Number(statFields[11]) + Number(statFields[12])) * tickMs };
}

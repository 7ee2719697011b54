import { readSystemFile } from '../../engine/core/files.js';

/** What a process's main thread is about. */
export interface Pulse {
  /** Its letter in `/proc/<pid>/stat`: R runs or waits for a processor, S waits, D waits for a disk, T is stopped. */
  readonly state: string;
  /** Processor time that its main thread has used so far. */
  readonly cpuMs: number;
}

/** How long a silent worker is given, and what it may use meanwhile. */
export interface Patience {
  /** Silent for so long, it has to explain itself. */
  readonly silenceMs: number;
  /** A worker that has not said anything yet is loading its code, which takes what a busy machine lets it. */
  readonly startMs: number;
}

/** However busy the machine: a worker that was silent for so many times `silenceMs` does nobody any good. */
const hopeless = 12;
/** Linux counts processor time in hundredths of a second. */
const tickMs = 10;

/**
 * Is a silent worker stuck, or does a busy machine keep it waiting? Time alone cannot tell. It is stuck when it is stopped or
 * sleeps where it should send, or has had time enough on a processor to send; it is not while it waits for a processor
 * or a disk. Where the system does not tell (`now` is undefined), it gets four times as long.
 */
export function isStuck(
  silentMs: number,
  isStarting: boolean,
  before: Pulse | undefined,
  now: Pulse | undefined,
  { silenceMs, startMs }: Patience,
): boolean {
  if (silentMs <= silenceMs) return false;
  if (now !== undefined && 'Tt'.includes(now.state)) return true;
  const limitMs = isStarting ? Math.max(startMs, silenceMs) : silenceMs;
  if (silentMs > limitMs * hopeless) return true;
  if (silentMs <= limitMs) return false;
  if (now === undefined) return silentMs > limitMs * 4;
  if (now.cpuMs - (before?.cpuMs ?? 0) >= limitMs / 2) return true;
  return now.state === 'S';
}

/** A process's pulse, where the system tells it (Linux). */
export async function pulseOf(pid: number): Promise<Pulse | undefined> {
  const text = await readSystemFile(`/proc/${pid}/task/${pid}/stat`).catch(() => undefined);
  // pid (name) state ppid …; the name may hold anything, so count from its last bracket.
  const rest = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = rest ?? [];
  if (rest === undefined || state === undefined || rest.length < 13) return undefined;
  return { state, cpuMs: (Number(rest[11]) + Number(rest[12])) * tickMs };
}

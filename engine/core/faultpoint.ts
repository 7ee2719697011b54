/** What is done to the file system, as faults name it; `commit` is the end of a transaction of the catalogue. */
export type FileOperation =
  | 'mkdir'
  | 'open'
  | 'stat'
  | 'list'
  | 'read'
  | 'write'
  | 'flush'
  | 'close'
  | 'rename'
  | 'link'
  | 'remove'
  | 'commit';

/** A disk that fails. */
export interface Fault {
  /** What the operating system says; `SHORT` writes a part and says so, which is no error; `LOW` has hardly any space left. */
  readonly code: 'ENOSPC' | 'EIO' | 'EMFILE' | 'SHORT' | 'LOW';
  /** Fails at the n-th operation that can end so, counted from arming. */
  readonly nth: number;
  /** And at every one after it, as a full disk does until somebody makes room. */
  readonly isLasting?: boolean;
  /** Only these operations count and fail; all that can end so unless given. */
  readonly operations?: readonly FileOperation[];
}

/** Which operations end so in the real world. */
const possible: Readonly<Record<Fault['code'], readonly FileOperation[]>> = {
  ENOSPC: ['mkdir', 'open', 'write', 'flush', 'rename', 'link', 'commit'],
  EIO: [
    'mkdir',
    'open',
    'stat',
    'list',
    'read',
    'write',
    'flush',
    'close',
    'rename',
    'link',
    'remove',
    'commit',
  ],
  EMFILE: ['open', 'list'],
  SHORT: ['write'],
  LOW: [],
};

let armed: Fault | undefined = fromEnvironment(process.env['STRANDLAKE_FAULT']);
let passings = 0;
let hits: FileOperation[] = [];

/** For tests: from now on the disk fails so; `undefined` mends it. */
export function armFault(fault: Fault | undefined): void {
  armed = fault;
  if (fault === undefined) return;
  passings = 0;
  hits = [];
}

/** Where the fault that was armed last has struck. */
export function faultHits(): readonly FileOperation[] {
  return hits;
}

/** The same failures as SQLite numbers them. */
const sqliteCodes: Readonly<Record<string, number>> = { ENOSPC: 13, EIO: 10 };

/**
 * Every step of `files.ts` passes here first. It does nothing, except when a test has armed a fault: then the n-th step
 * fails as the operating system would have it fail, before anything has been done.
 */
export function faultpoint(operation: FileOperation): void {
  if (armed === undefined || armed.code === 'SHORT' || !strikes(armed, operation)) return;
  const { code } = armed;
  throw Object.assign(new Error(`${code}: injected, ${operation}`), {
    code,
    errcode: sqliteCodes[code],
  });
}

/** How many of so many bytes are written at once: all of them, unless a test has armed a short write. */
export function writableBytes(bytes: number): number {
  if (armed?.code !== 'SHORT' || bytes < 2 || !strikes(armed, 'write')) return bytes;
  return bytes >> 1;
}

/** How many of so many free bytes there are: all of them, unless a test has armed a disk that is almost full. */
export function spareBytes(bytes: number): number {
  return armed?.code === 'LOW' ? 0 : bytes;
}

function strikes(fault: Fault, operation: FileOperation): boolean {
  const operations = fault.operations ?? possible[fault.code];
  if (!operations.includes(operation)) return false;
  passings += 1;
  const isHit = fault.isLasting === true ? passings >= fault.nth : passings === fault.nth;
  if (isHit) hits.push(operation);
  return isHit;
}

/** `<code>:<n>` or, lasting, `<code>:<n>+`: for processes that a test starts. */
function fromEnvironment(text: string | undefined): Fault | undefined {
  const match = /^(ENOSPC|EIO|EMFILE|SHORT):(\d+)(\+?)$/.exec(text ?? '');
  if (match === null) return undefined;
  const code = match[1] as Fault['code'];
  return { code, nth: Number(match[2]), isLasting: match[3] === '+' };
}

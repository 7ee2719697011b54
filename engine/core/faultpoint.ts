/** Operations on the file system that a test can make fail; `commit` ends a transaction of the catalogue. */
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

/** A disk failure to simulate. */
export interface FileFault {
  /** The error of the operating system; `SHORT` is a write that writes only a part, `LOW` a disk without free space. */
  readonly code: 'ENOSPC' | 'EIO' | 'EMFILE' | 'SHORT' | 'LOW';
  /** The fault strikes the n-th of `operations`, counted from the time when it is armed; `LOW` holds all the time. */
  readonly nth: number;
  /** Whether the fault also strikes every later operation, as a full disk does. */
  readonly isLasting?: boolean;
  /** The operations to count and strike; by default those of `operationsByCode`. */
  readonly operations?: readonly FileOperation[];
}

/** The operations that each fault strikes by default; `LOW` strikes none, but changes the number of free bytes. */
const operationsByCode: Readonly<Record<FileFault['code'], readonly FileOperation[]>> = {
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

let armedFault: FileFault | undefined = parseFault(process.env['STRANDLAKE_FAULT']);
let operationsSeen = 0;
let hitOperations: FileOperation[] = [];

/** Simulates a fault from now on; `undefined` ends it. For tests. */
export function armFault(fault: FileFault | undefined): void {
  armedFault = fault;
  if (fault === undefined) return;
  operationsSeen = 0;
  hitOperations = [];
}

/** The operations that the last fault has struck. For tests. */
export function faultHits(): readonly FileOperation[] {
  return hitOperations;
}

/** The result codes of SQLite that correspond to errors of the operating system. */
const sqliteCodes: Readonly<Record<string, number>> = { ENOSPC: 13, EIO: 10 };

/**
 * Called before the steps on the file system that a test can make fail. Does nothing unless a test has armed a fault other than `SHORT` and
 * `LOW`: then it throws the error of the operating system at each step that the fault strikes, before the step has any effect.
 */
export function faultpoint(operation: FileOperation): void {
  if (
    armedFault === undefined ||
    armedFault.code === 'SHORT' ||
    !countAndTestFault(armedFault, operation)
  )
    return;
  const { code } = armedFault;
  throw Object.assign(new Error(`${code}: injected, ${operation}`), {
    code,
    errcode: sqliteCodes[code],
  });
}

/** Number of bytes that a single write takes: `bytes`, or half of them if a test simulates a short write. */
export function writableBytes(bytes: number): number {
  if (armedFault?.code !== 'SHORT' || bytes < 2 || !countAndTestFault(armedFault, 'write'))
    return bytes;
  return bytes >> 1;
}

/** Number of free bytes on the disk: `bytes`, or 0 if a test simulates a full disk. */
export function freeBytesOrFault(bytes: number): number {
  return armedFault?.code === 'LOW' ? 0 : bytes;
}

function countAndTestFault(fault: FileFault, operation: FileOperation): boolean {
  const operations = fault.operations ?? operationsByCode[fault.code];
  if (!operations.includes(operation)) return false;
  operationsSeen += 1;
  const isHit =
    fault.isLasting === true ? operationsSeen >= fault.nth : operationsSeen === fault.nth;
  if (isHit) hitOperations.push(operation);
  return isHit;
}

/** Parses `<code>:<n>` or, for a lasting fault, `<code>:<n>+`: how tests arm faults in processes that they start. */
function parseFault(text: string | undefined): FileFault | undefined {
  const match = /^(ENOSPC|EIO|EMFILE|SHORT):(\d+)(\+?)$/.exec(text ?? '');
  if (match === null) return undefined;
  const code = match[1] as FileFault['code'];
  return { code, nth: Number(match[2]), isLasting: match[3] === '+' };
}

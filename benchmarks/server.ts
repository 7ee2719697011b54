import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createReadStream,
  mkdtempSync,
  openAsBlob,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const benchToken = 'b'.repeat(30);

/** Members of the interface's answers that the benchmarks read. */
export interface ServerAnswer {
  readonly id: number;
  readonly upload_url: string;
  readonly status: string;
  readonly error_message: string | null;
  readonly total: number;
  readonly data: readonly {
    readonly id: number;
    readonly metadata: Readonly<Record<string, unknown>>;
  }[];
  readonly results: readonly Readonly<Record<string, unknown>>[];
}

/** Settings of the started server. */
interface StartOptions {
  /** A data folder, which remains when the server ends; without it, the server gets a temporary folder. */
  readonly data?: string;
  /** Whether the first start imports the bundled example. */
  readonly examples?: boolean;
}

/** A server as `npm start` runs it, but without a rate limit. */
export interface BenchServer {
  readonly data: string;
  /** Origin of the server, such as `http://127.0.0.1:3000`. */
  readonly origin: string;
  /** Token of the first user. */
  readonly token: string;
  apiPid(): number;
  /** Returns the process id of the worker process, a child of the API process; 0 before it has started. */
  workerPid(): number;
  call(method: string, path: string, body?: object): Promise<ServerAnswer>;
  /** Uploads a file to the first user's vault; returns the object's id. */
  upload(file: string): Promise<number>;
  createDataset(name: string): Promise<number>;
  /** Imports an uploaded file; returns the seconds from the request until a query counts `records`. */
  import(
    datasetId: number,
    objectId: number,
    records: number,
    readerParams?: Readonly<Record<string, unknown>>,
    importParams?: Readonly<Record<string, unknown>>,
  ): Promise<number>;
  /** Resolves when no task has waited or run for two seconds, that is, when background work has ended. */
  waitUntilIdle(): Promise<void>;
  /**
   * Returns the peak of the summed memory of API and worker process since the previous call, in MB. Sampling begins with the first call.
   */
  takePeakMb(): number;
  /** Returns the processor time of the API and worker process since their start, in seconds. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** Starts a server and waits until it answers. */
export async function startServer(options: StartOptions = {}): Promise<BenchServer> {
  const data = options.data ?? mkdtempSync(join(tmpdir(), 'strandlake-bench-'));
  const discardData = (): void => {
    if (options.data === undefined) rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  };
  const port = await findFreePort();
  const child = spawn(
    process.execPath,
    ['dist/cli/strandlake.js', 'serve', '--log', 'error', '--rate-limit', '0'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        STRANDLAKE_DATA: data,
        STRANDLAKE_PORT: String(port),
        STRANDLAKE_TOKEN: benchToken,
        STRANDLAKE_EXAMPLES: options.examples === true ? 'on' : 'off',
      },
    },
  );
  const end = (): void => {
    child.kill('SIGTERM');
    discardData();
  };
  const endBySignal = (): never => process.exit(130);
  // The handler ensures that an interrupted benchmark leaves neither a server nor its data behind.
  process.once('exit', end);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, endBySignal);
  const origin = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${benchToken}`, 'content-type': 'application/json' };
  await waitForServer(origin, headers, child).catch((error: unknown) => {
    child.kill('SIGKILL');
    discardData();
    throw error;
  });
  const apiPid = (): number => childrenOf(child.pid ?? 0)[0] ?? 0;
  let memoryWatch: ReturnType<typeof watchMemory> | undefined;

  async function call(method: string, path: string, body?: object): Promise<ServerAnswer> {
    const response = await fetch(origin + path, {
      method,
      // With this preference, a request for a job waits for the end of the job.
      headers: { ...headers, prefer: 'wait=50' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as ServerAnswer;
  }

  async function fetchPersonalVaultId(): Promise<number | undefined> {
    return (await call('GET', '/v2/vaults?vault_type=user')).data[0]?.id;
  }

  return {
    data,
    origin,
    token: benchToken,
    apiPid,
    workerPid: () => childrenOf(apiPid())[0] ?? 0,
    call,
    async upload(file) {
      const bytes = await openAsBlob(file); // a Blob, because a file may be larger than a Buffer can be
      const md5 = createHash('md5');
      for await (const piece of createReadStream(file)) md5.update(piece as Buffer);
      const object = await call('POST', '/v2/objects', {
        vault_id: await fetchPersonalVaultId(),
        object_type: 'file',
        filename: basename(file),
        size: bytes.size,
        md5: md5.copy().digest('hex'),
      });
      const uploadAnswer = await fetch(object.upload_url, {
        method: 'PUT',
        body: bytes,
        headers: { 'content-md5': md5.digest('base64') },
      });
      if (!uploadAnswer.ok)
        throw new Error(`upload: ${uploadAnswer.status} ${await uploadAnswer.text()}`);
      return object.id;
    },
    async createDataset(name) {
      const body = {
        vault_id: await fetchPersonalVaultId(),
        object_type: 'dataset',
        filename: name,
      };
      return (await call('POST', '/v2/objects', body)).id;
    },
    async import(datasetId, objectId, records, readerParams, importParams) {
      const from = performance.now();
      const { id } = await call('POST', '/v2/dataset_imports', {
        dataset_id: datasetId,
        object_id: objectId,
        ...(readerParams && { reader_params: readerParams }),
        ...importParams,
      });
      for (;;) {
        const { status, error_message } = await call('GET', `/v2/dataset_imports/${id}`);
        if (status === 'completed') break;
        if (status === 'failed' || status === 'canceled') {
          throw new Error(error_message ?? status);
        }
      }
      const { total } = await call('POST', `/v2/datasets/${datasetId}/data`, { limit: 0 });
      const seconds = (performance.now() - from) / 1000;
      if (total !== records) throw new Error(`${total} of ${records} records are there`);
      return seconds;
    },
    async waitUntilIdle() {
      const classes = 'class=interactive,standard,background'; // compactions are background tasks
      for (let quietPolls = 0; quietPolls < 3;) {
        let busyTaskCount = 0;
        for (const status of ['pending', 'queued', 'running'])
          busyTaskCount += (await call('GET', `/v2/tasks?status=${status}&${classes}&limit=1`))
            .total;
        quietPolls = busyTaskCount === 0 ? quietPolls + 1 : 0;
        if (quietPolls < 3) await pause(1000);
      }
    },
    takePeakMb: () => (memoryWatch ??= watchMemory(child.pid ?? 0)).takePeakMb(),
    cpuSeconds: () => sumOf(descendantPids(child.pid ?? 0).map(cpuSecondsOf)),
    async stop() {
      memoryWatch?.stop();
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
      process.removeListener('exit', end);
      for (const signal of ['SIGINT', 'SIGTERM'] as const)
        process.removeListener(signal, endBySignal);
      discardData();
    },
  };
}

async function waitForServer(
  origin: string,
  headers: Readonly<Record<string, string>>,
  child: ChildProcess,
): Promise<void> {
  for (const from = performance.now(); performance.now() - from < 60_000; await pause(10)) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const response = await fetch(`${origin}/v1/user`, { headers }).catch(() => undefined);
    if (response?.ok) return;
  }
  throw new Error('the server does not answer');
}

/** Samples the resident memory of all descendants of the supervisor (Linux): of the API process and of the worker process, its child. */
function watchMemory(supervisor: number): { takePeakMb(): number; stop(): void } {
  let peakKb = 0;
  let processes: readonly number[] = [];
  let sampleCount = 0;
  const timer = setInterval(() => {
    // Searching for descendants takes milliseconds of the measured processors, so it is done rarely.
    if (sampleCount++ % 40 === 0) processes = descendantPids(supervisor);
    peakKb = Math.max(peakKb, sumOf(processes.map(residentKb)));
  }, 25);
  return {
    takePeakMb() {
      const mb = peakKb / 1024;
      peakKb = 0;
      return mb;
    },
    stop: () => clearInterval(timer),
  };
}

function descendantPids(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantPids(child)]);
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(Number(name)) === pid)
    .map(Number);
}

function parentOf(pid: number): number {
  // In `/proc/<pid>/stat`, the name of the program is in brackets and may contain any character.
  return Number(procField(pid, 'stat').split(') ').at(-1)?.split(' ')[1] ?? 0);
}

function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(procField(pid, 'status'))?.[1] ?? 0);
}

/** Returns the resident memory of a process, in MB. */
export function residentMb(pid: number): number {
  return residentKb(pid) / 1024;
}

/** Returns the peak resident memory of a process since its start, in MB. */
export function peakResidentMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(procField(pid, 'status'))?.[1] ?? 0) / 1024;
}

/** Returns the processor time of a process and of the children that it has waited for, in seconds. Linux counts 100 ticks a second. */
function cpuSecondsOf(pid: number): number {
  const fields = procField(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  return sumOf(fields.slice(11, 15).map(Number)) / 100;
}

/** Returns the processor time of the child processes that this process has waited for, in seconds. */
export function childCpuSeconds(): number {
  const fields = procField(process.pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  return sumOf(fields.slice(13, 15).map(Number)) / 100;
}

function procField(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // the process has just ended
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

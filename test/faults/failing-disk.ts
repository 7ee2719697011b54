import { afterEach, beforeEach, expect } from '@jest/globals';
import { armFault, faultHits, type FileFault } from '../../engine/core/faultpoint.js';
import { sweepAll, sweepDatasets, sweepExpired } from '../../scheduler/queue/sweep.js';
import { idOf, startServer, type Answer, type Client, type TestServer } from '../api/server.js';
import { pollUntil } from '../until.js';
import { findFolderInconsistencies } from './differences.js';
import { startWorkerInProcess } from './in-process.js';

/** A fault without the step at which it strikes. */
export type DiskFault = Omit<FileFault, 'nth'>;

/** A server on a disk that a test makes fail, with a user and a vault of the user. */
export interface FailingDisk {
  readonly server: TestServer;
  readonly ann: Client;
  readonly vaultId: number;
  /** The messages that the server has reported to its operator. */
  readonly reportedMessages: string[];
  /**
   * Repeats an operation with an injected fault, at a later step each time, until the operation has fewer steps. Expects that the files are
   * consistent after each repetition. `prepare` runs before each repetition, on a disk that does not fail. Returns how often the operation
   * was done and how often it failed.
   */
  failAtEveryStep(
    fault: DiskFault,
    operation: (where: string) => Promise<'done' | 'failed'>,
    prepare?: () => Promise<void>,
  ): Promise<{ readonly done: number; readonly failed: number }>;
  /** Removes what a start of the server removes. */
  sweepAsAtStart(): Promise<void>;
  /** Returns the number of records of a dataset, or the answer of the server if the dataset cannot be queried. */
  recordCountOf(datasetId: number): Promise<unknown>;
}

/** Number of steps between two points at which the disk fails; 1 tests every step. */
export const stepsBetweenFaults = 1;

/** The ways in which the disk fails. */
export const diskFaults: readonly DiskFault[] = [
  { code: 'ENOSPC' },
  { code: 'EIO' },
  { code: 'EMFILE' },
  { code: 'SHORT' },
  { code: 'EIO', operations: ['flush'] }, // a failing flush (threat R6)
];
/** Returns a name of a fault, for the titles of tests. */
export function faultName({ code, operations }: DiskFault): string {
  return operations === undefined ? code : `${code} at ${operations.join()}`;
}

/** Matches the allowed error messages of a failed task, which name the cause. */
export const faultMessagePattern =
  /no space left on the disk|cannot \w+ .*: (EIO|EMFILE)|the disk failed to/;

/**
 * Starts a server for each test of a file, which must call this function at its top level. Each test has its own server, because every
 * check reads all files of the server, and a shared server would accumulate the files of earlier tests.
 */
export function useFailingDisk(): FailingDisk {
  let server: TestServer;
  let ann: Client;
  let vaultId: number;
  const reportedMessages: string[] = [];
  beforeEach(async () => {
    server = await startServer({
      expectsErrors: true,
      scheduler: {
        startWorker: startWorkerInProcess,
        retryMs: 5,
        report: (message) => reportedMessages.push(message),
      },
    });
    ann = await server.user('ann');
    vaultId = idOf(await ann.post('/v2/vaults', { name: 'Disk' }));
  });
  afterEach(async () => {
    armFault(undefined);
    await server.close();
  });

  async function failAtEveryStep(
    fault: DiskFault,
    operation: (where: string) => Promise<'done' | 'failed'>,
    prepare?: () => Promise<void>,
  ): ReturnType<FailingDisk['failAtEveryStep']> {
    const ends = { done: 0, failed: 0 };
    for (let nth = 1; ; nth += stepsBetweenFaults) {
      await prepare?.();
      armFault({ ...fault, nth });
      const caseText = `${faultName(fault)}, step ${nth}`;
      const end = await operation(caseText);
      const hitOperations = faultHits();
      armFault(undefined);
      ends[end] += 1;
      // A task ends shortly before its scratch folder is removed.
      await pollUntil(() => server.scheduler.status().running.length === 0);
      // Files that could not be listed or removed are removed by the next start.
      if (hitOperations.includes('remove') || hitOperations.includes('list'))
        await sweepAsAtStart();
      expect([caseText, hitOperations, await findFolderInconsistencies(server)]).toEqual([
        caseText,
        hitOperations,
        [],
      ]);
      if (hitOperations.length === 0) {
        expect([caseText, end]).toEqual([caseText, 'done']);
        return ends;
      }
    }
  }

  async function sweepAsAtStart(): Promise<void> {
    const { catalog, data, store } = server;
    const options = {
      now: Date.now(),
      report: (message: string) => void reportedMessages.push(message),
    };
    await sweepDatasets(catalog, store, options.report);
    await sweepAll(catalog, data, options);
    await sweepExpired(catalog, data, options);
  }

  async function recordCountOf(datasetId: number): Promise<unknown> {
    const answer = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 });
    return answer.json['total'] ?? answer.text;
  }

  return {
    get server() {
      return server;
    },
    get ann() {
      return ann;
    },
    get vaultId() {
      return vaultId;
    },
    reportedMessages,
    failAtEveryStep,
    sweepAsAtStart,
    recordCountOf,
  };
}

/** Expects that a request was refused, or failed, because of a fault of the disk. */
export function expectRefusedOrFailed(where: string, answer: Answer, fault: DiskFault): 'failed' {
  if (fault.code === 'ENOSPC') {
    expect([where, answer.status, answer.text]).toEqual([
      where,
      507,
      expect.stringContaining('No space left'),
    ]);
  } else expect([where, answer.status]).toEqual([where, 500]);
  return 'failed';
}

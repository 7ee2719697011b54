import { createHash } from 'node:crypto';
import type { DataFolder } from '../../core/data-folder.js';
import { AppError } from '../../core/errors.js';
import { openSlotFile, replaceFile, type SlotFile } from '../../core/atomic-files.js';
import { readFileStats, readFile } from '../../core/files.js';
import type { Param } from './dialect/params.js';

const hashDigits = 32;
const quarantineMs = 3_600_000;
const crashesToQuarantine = 2;

/** For the hash of each query, the times of the crashes while it was running, in milliseconds since 1970. */
type CrashTimesByQuery = Map<string, readonly number[]>;

/**
 * Refuses a query that was running at two crashes of the process within an hour, for the rest of that hour (docs/threats.md, R2b). The
 * hashes of running queries are stored in a file of fixed slots, which the next process reads.
 */
export class QueryQuarantine {
  /** Number of slots: the maximum number of running queries that are recorded. */
  readonly slotCount: number;
  readonly #crashes: CrashTimesByQuery;
  readonly #slots: SlotFile;
  readonly #free: number[];
  readonly #now: () => number;

  private constructor(
    crashes: CrashTimesByQuery,
    slots: SlotFile,
    count: number,
    now: () => number,
  ) {
    this.slotCount = count;
    this.#crashes = crashes;
    this.#slots = slots;
    this.#free = Array.from({ length: count }, (_, i) => i);
    this.#now = now;
  }

  /** Reads the record of the previous process and starts a new one with `count` slots. `now` returns milliseconds since 1970. */
  static async open(
    data: DataFolder,
    count: number,
    now: () => number = Date.now,
  ): Promise<QueryQuarantine> {
    const file = data.path('queries.json');
    const runningFile = data.path('queries.running');
    const crashes = await readCrashes(file);
    const runningText = await readTextIfExists(runningFile);
    for (const hash of new Set(runningText.match(/[0-9a-f]{32}/g) ?? [])) {
      crashes.set(hash, [...(crashes.get(hash) ?? []), now()]);
    }
    for (const [hash, times] of crashes) {
      const recentTimes = times.filter((time) => time > now() - quarantineMs);
      if (recentTimes.length === 0) crashes.delete(hash);
      else crashes.set(hash, recentTimes);
    }
    await replaceFile(file, Buffer.from(JSON.stringify([...crashes])));
    // The file of slots is opened after the crashes of the previous process have been stored, because a crash between the two must not lose
    // them.
    return new QueryQuarantine(
      crashes,
      await openSlotFile(runningFile, count, hashDigits),
      count,
      now,
    );
  }

  /** Records a running query, and returns a function to call when it ends. Throws `budget` if the query is quarantined. */
  recordRunningQuery(sql: string, params: readonly Param[]): () => void {
    const hash = queryHash(sql, params);
    const recentCrashes = (this.#crashes.get(hash) ?? []).filter(
      (time) => time > this.#now() - quarantineMs,
    );
    if (recentCrashes.length >= crashesToQuarantine) {
      const minutes = Math.ceil((recentCrashes[0]! + quarantineMs - this.#now()) / 60_000);
      throw new AppError(
        'budget',
        `This query (${hash}) ended the server ${recentCrashes.length} times within an hour; it is refused for ${minutes} more minutes`,
      );
    }
    const slot = this.#free.pop();
    if (slot === undefined) return () => undefined;
    this.#slots.write(slot, hash);
    return () => {
      this.#slots.write(slot, '');
      this.#free.push(slot);
    };
  }

  close(): void {
    this.#slots.close();
  }
}

async function readCrashes(file: string): Promise<CrashTimesByQuery> {
  try {
    return new Map(
      JSON.parse((await readTextIfExists(file)) || '[]') as [string, readonly number[]][],
    );
  } catch {
    return new Map(); // the earlier crashes are forgotten, so a query may crash the process again
  }
}

async function readTextIfExists(file: string): Promise<string> {
  const stats = await readFileStats(file);
  return stats === undefined ? '' : Buffer.from(await readFile(file)).toString('latin1');
}

function queryHash(sql: string, params: readonly Param[]): string {
  const digest = createHash('sha256').update(sql);
  for (const { type, value } of params) {
    if (type === 'bits') for (const bits of value as readonly Uint8Array[]) digest.update(bits);
    else
      digest.update(
        `\0${Array.isArray(value) ? JSON.stringify(value.map(String)) : String(value)}`,
      );
  }
  return digest.digest('hex').slice(0, hashDigits);
}

import { createHash } from 'node:crypto';
import type { DataFolder } from '../../core/data-folder.js';
import { AppError } from '../../core/errors.js';
import { openSlots, replaceFile, type Slots } from '../../core/atomic-files.js';
import { fileStats, readFile } from '../../core/files.js';
import type { Param } from './params.js';

const hashLength = 32;
const refusedMs = 3_600_000;
const deathsToRefuse = 2;

/** When this process died under a query, by the query's hash; milliseconds since 1970. */
type Deaths = Map<string, readonly number[]>;

/**
 * Knows which queries were running when this process died. What runs stands in a small file that outlives the process; the
 * next one reads it. A query that was there twice within an hour is refused for the rest of it (threats R2b).
 */
export class QueryQuarantine {
  /** How many running queries it can hold. */
  readonly count: number;
  readonly #deaths: Deaths;
  readonly #slots: Slots;
  readonly #free: number[];
  readonly #now: () => number;

  private constructor(deaths: Deaths, slots: Slots, count: number, now: () => number) {
    this.count = count;
    this.#deaths = deaths;
    this.#slots = slots;
    this.#free = Array.from({ length: count }, (_, i) => i);
    this.#now = now;
  }

  /** Takes in what the process before was doing when it ended; `count` queries may run at once. */
  static async open(
    data: DataFolder,
    count: number,
    now: () => number = Date.now,
  ): Promise<QueryQuarantine> {
    const file = data.path('queries.json');
    const running = data.path('queries.running');
    const deaths = await readDeaths(file);
    const found = await textOf(running);
    for (const hash of new Set(found.match(/[0-9a-f]{32}/g) ?? [])) {
      deaths.set(hash, [...(deaths.get(hash) ?? []), now()]);
    }
    for (const [hash, times] of deaths) {
      const recent = times.filter((time) => time > now() - refusedMs);
      if (recent.length === 0) deaths.delete(hash);
      else deaths.set(hash, recent);
    }
    await replaceFile(file, Buffer.from(JSON.stringify([...deaths])));
    // Only now, so that a death right here does not lose them.
    return new QueryQuarantine(deaths, await openSlots(running, count, hashLength), count, now);
  }

  /** A query begins; returns what to call at its end. Throws `budget` for one that ended the server before. */
  begin(sql: string, params: readonly Param[]): () => void {
    const hash = hashOf(sql, params);
    const times = (this.#deaths.get(hash) ?? []).filter((time) => time > this.#now() - refusedMs);
    if (times.length >= deathsToRefuse) {
      const minutes = Math.ceil((times[0]! + refusedMs - this.#now()) / 60_000);
      throw new AppError(
        'budget',
        `This query (${hash}) ended the server ${times.length} times within an hour; it is refused for ${minutes} more minutes`,
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

async function readDeaths(file: string): Promise<Deaths> {
  try {
    return new Map(JSON.parse((await textOf(file)) || '[]') as [string, readonly number[]][]);
  } catch {
    return new Map(); // a hint that is lost costs one more death at most
  }
}

async function textOf(file: string): Promise<string> {
  const stats = await fileStats(file);
  return stats === undefined ? '' : Buffer.from(await readFile(file)).toString('latin1');
}

function hashOf(sql: string, params: readonly Param[]): string {
  const digest = createHash('sha256').update(sql);
  for (const { value } of params) digest.update(`\0${String(value)}`);
  return digest.digest('hex').slice(0, hashLength);
}

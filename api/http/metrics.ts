import type { FastifyReply, FastifyRequest } from 'fastify';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { readFreeBytes, readSystemFile } from '../../engine/core/files.js';
import type { QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Scheduler } from '../../scheduler/queue/scheduler.js';

/** The parts of the server whose state the metrics show. */
interface MetricSources {
  readonly catalog: Catalog;
  readonly scheduler: Scheduler;
  readonly queryEngine: QueryEngine;
  readonly data: DataFolder;
}

/** The upper bounds of the latency buckets, in seconds: from a lookup to an export that a request waits for. */
const latencyBucketsSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/**
 * The metrics of a server, in the text format of OpenMetrics. Latencies are recorded as requests end; the state of the catalogue, the disk,
 * the cache and the worker process is read when the metrics are requested.
 */
export class Metrics {
  readonly #registry = new Registry<typeof Registry.OPENMETRICS_CONTENT_TYPE>();
  readonly #requestDurations: Histogram;

  constructor({ catalog, scheduler, queryEngine, data }: MetricSources) {
    const registers = [this.#registry];
    this.#registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    collectDefaultMetrics({ register: this.#registry });
    this.#requestDurations = new Histogram({
      name: 'strandlake_http_request_duration_seconds',
      help: 'Time from the first byte of a request to the last byte of its answer, by route.',
      labelNames: ['method', 'route', 'status'],
      buckets: latencyBucketsSeconds,
      registers,
    });
    const addGauge = (
      name: string,
      help: string,
      labels: readonly string[],
      read: (gauge: Gauge) => Promise<void> | void,
    ): Gauge =>
      new Gauge({
        name: `strandlake_${name}`,
        help,
        labelNames: [...labels],
        registers,
        collect() {
          return read(this);
        },
      });
    addGauge(
      'tasks',
      'Tasks by kind, class and status.',
      ['kind', 'class', 'status'],
      async (gauge) => {
        gauge.reset();
        for (const { count, ...labels } of await catalog.tasks.counts()) gauge.set(labels, count);
      },
    );
    addGauge('records', 'Records of all datasets.', [], async (gauge) => {
      gauge.set((await catalog.datasets.totals()).records);
    });
    addGauge('dataset_bytes', 'Bytes of the segments of all datasets.', [], async (gauge) => {
      gauge.set((await catalog.datasets.totals()).bytes);
    });
    addGauge('datasets', 'Number of datasets.', [], async (gauge) => {
      gauge.set((await catalog.datasets.totals()).datasets);
    });
    addGauge(
      'free_disk_bytes',
      'Free bytes of the file system of the data folder.',
      [],
      async (gauge) => {
        gauge.set(await readFreeBytes(data.root));
      },
    );
    const { memory } = queryEngine;
    if (memory !== undefined) {
      addGauge('query_cache_bytes', 'Bytes of the columns that queries keep.', [], (gauge) => {
        gauge.set(memory.cacheUsage().bytes);
      });
      addGauge('query_cache_limit_bytes', 'Most bytes that they may have.', [], (gauge) => {
        gauge.set(memory.cacheUsage().limit);
      });
      const lookups = new Counter({
        name: 'strandlake_query_cache_lookups',
        help: 'What queries looked up in the cache of columns, and whether it was there.',
        labelNames: ['result'],
        registers: [],
        collect() {
          const { hits, misses } = memory.cacheUsage();
          this.reset();
          this.inc({ result: 'hit' }, hits);
          this.inc({ result: 'miss' }, misses);
        },
      });
      this.#registry.registerMetric(lookups);
    }
    addGauge('worker_up', 'Whether the worker process runs.', [], (gauge) => {
      gauge.set(scheduler.status().workerPid === null ? 0 : 1);
    });
    addGauge(
      'worker_resident_memory_bytes',
      'Resident memory of the worker process, on Linux.',
      [],
      async (gauge) => {
        const { workerPid } = scheduler.status();
        gauge.set(workerPid === null ? 0 : await readResidentBytes(workerPid));
      },
    );
  }

  /** The media type of the metrics. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  renderOpenMetrics(): Promise<string> {
    return this.#registry.metrics();
  }

  /**
   * Counts a request that has been answered. A route is recorded with the names of its parameters instead of their values, so that the
   * number of routes is limited.
   */
  recordLatency(request: FastifyRequest, reply: FastifyReply): void {
    const route = request.routeOptions.url ?? 'none';
    const labels = { method: request.method, route, status: String(reply.statusCode) };
    this.#requestDurations.observe(labels, reply.elapsedTime / 1000);
  }
}

/** Returns the resident memory of a process in bytes; 0 if the system does not tell. */
async function readResidentBytes(pid: number): Promise<number> {
  const text = await readSystemFile(`/proc/${pid}/status`).catch(() => '');
  return 1024 * Number(/^VmRSS:\s*(\d+) kB$/m.exec(text)?.[1] ?? 0);
}

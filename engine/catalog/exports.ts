import type { JsonObject } from '../core/types.js';
import type { AsOf } from './commits.js';
import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextLargeId } from './ids.js';
import { jobColumns, listJobs, newJob, type JobFilter, type JobRow } from './jobs.js';
import type { ListedRows, Page } from './list-page.js';
import { isOneOf, sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';
import { activeStatuses, type TaskRow } from './task-row.js';
import { insertTask } from './task-status.js';

export interface ExportRow extends JobRow {
  readonly format: string;
  readonly params: JsonObject;
  readonly targetFields: readonly JsonObject[] | null;
  readonly annotatorParams: JsonObject | null;
  readonly targetFullPath: string | null;
  readonly targetObjectId: number | null;
  readonly sendEmailOnCompletion: boolean;
  readonly priority: number;
  readonly documentsCount: number | null;
  /**
   * The name under which clients download the file (`variants-4812.json.gz`); null until it is written, and once the expired file is
   * deleted.
   */
  readonly filename: string | null;
  readonly bytes: number | null;
  /** The log version that was exported; null until the file is written. */
  readonly logVersion: number | null;
  /** The version that the request names; null for the version that is newest when the export runs. */
  readonly asOf: AsOf | null;
  readonly expiresAt: Millis | null;
  /**
   * The provenance of the records and the identification of the file; null until the file is written, and for exports made by earlier
   * releases.
   */
  readonly provenance: JsonObject | null;
}

/** The statements that add the column `provenance` to the table of exports. */
export const exportProvenanceSchema: readonly string[] = [
  `ALTER TABLE exports ADD COLUMN provenance TEXT`,
];

const exports = tableCodec<ExportRow>(
  'exports',
  {
    ...jobColumns,
    format: 'plain',
    params: 'json',
    targetFields: 'json',
    annotatorParams: 'json',
    targetFullPath: 'plain',
    targetObjectId: 'plain',
    sendEmailOnCompletion: 'flag',
    priority: 'plain',
    documentsCount: 'plain',
    filename: 'plain',
    bytes: 'plain',
    logVersion: 'plain',
    asOf: 'json',
    expiresAt: 'plain',
    provenance: 'json',
  },
  {},
);

export interface NewExport {
  readonly id?: number;
  readonly datasetId: number;
  readonly userId: number;
  readonly accountId: number;
  readonly format: string;
  readonly params?: JsonObject;
  readonly targetFields?: readonly JsonObject[] | null;
  readonly annotatorParams?: JsonObject | null;
  readonly targetFullPath?: string | null;
  readonly sendEmailOnCompletion?: boolean;
  readonly priority?: number;
  readonly documentsCount?: number | null;
  readonly asOf?: AsOf | null;
  readonly metadata?: JsonObject;
  readonly taskDescription?: string;
}

/** The properties that may change: the metadata, and those that are known once the file is written. */
type ExportPatch = Partial<
  Pick<
    ExportRow,
    | 'metadata'
    | 'targetObjectId'
    | 'documentsCount'
    | 'filename'
    | 'bytes'
    | 'logVersion'
    | 'expiresAt'
    | 'provenance'
  >
>;

const defaultPriority = 20; // between the priorities of imports (10) and commits (30)

/** Exports. The status of an export follows that of its task. */
interface ExportTable {
  get(id: number): Promise<ExportRow | undefined>;
  /** Lists the exports, newest first. */
  list(filter: JobFilter, page: Page): Promise<ListedRows<ExportRow>>;
  /** Creates the export and queues its task. */
  create(job: NewExport): Promise<{ readonly row: ExportRow; readonly task: TaskRow }>;
  update(id: number, patch: ExportPatch): Promise<ExportRow | undefined>;
  delete(id: number): Promise<void>;
  /** Expired exports whose file has not been deleted yet; the caller deletes it and sets `filename` to null. */
  expired(now: number): Promise<readonly ExportRow[]>;
  /** Completed exports whose e-mail is due, oldest first. */
  unmailed(): Promise<readonly ExportRow[]>;
  /**
   * Returns the newest export of the records of a commit. Considers only exports that are unfinished, or completed with a file that expires
   * after `until`.
   */
  ofCommit(datasetId: number, commitId: number, until: Millis): Promise<ExportRow | undefined>;
  /** The versions of a dataset that unfinished exports with a fixed version read. */
  openVersions(datasetId: number): Promise<readonly number[]>;
}

/** Returns access to the table of exports. */
export function exportTable(db: Database): ExportTable {
  const get = async (id: number): Promise<ExportRow | undefined> => {
    const row = await db.get(sql`SELECT ${exports.columns} FROM exports WHERE id = ${id}`);
    return row && exports.parse(row);
  };
  return {
    get,
    list: (filter, page) => listJobs(db, exports, filter, page),
    create: (job) =>
      db.atomic(async (tx) => {
        const id = job.id ?? (await nextLargeId(tx));
        const priority = job.priority ?? defaultPriority;
        const task = await insertTask(tx, {
          kind: 'export',
          resourceId: id,
          description: job.taskDescription ?? 'Export records',
          priority,
          userId: job.userId,
          accountId: job.accountId,
          targetObjectId: null,
          sourceObjectId: job.datasetId,
        });
        const row: ExportRow = {
          ...newJob(id, task, job.datasetId),
          metadata: job.metadata ?? {},
          format: job.format,
          params: job.params ?? {},
          targetFields: job.targetFields ?? null,
          annotatorParams: job.annotatorParams ?? null,
          targetFullPath: job.targetFullPath ?? null,
          targetObjectId: null,
          sendEmailOnCompletion: job.sendEmailOnCompletion ?? false,
          priority,
          documentsCount: job.documentsCount ?? null,
          filename: null,
          bytes: null,
          logVersion: null,
          asOf: job.asOf ?? null,
          expiresAt: null,
          provenance: null,
        };
        await tx.run(exports.insert(row));
        await recordCreatedId(tx, id);
        return { row, task };
      }),
    update: async (id, patch) => {
      const change = exports.update(id, { ...patch, updatedAt: Date.now() });
      if (change !== undefined) await db.run(change);
      return get(id);
    },
    delete: async (id) => {
      await db.atomic(async (tx) => {
        await tx.run(sql`DELETE FROM exports WHERE id = ${id}`);
        await tx.run(sql`DELETE FROM tasks WHERE kind = 'export' AND resource_id = ${id}`);
      });
    },
    unmailed: async () => {
      const rows = await db.all(sql`SELECT ${exports.columns} FROM exports
        WHERE status = 'completed' AND filename IS NOT NULL AND send_email_on_completion = 1 ORDER BY id`);
      return rows
        .map((row) => exports.parse(row))
        .filter(({ metadata }) => (metadata['email'] as { status?: unknown } | undefined)?.status === 'pending'); // prettier-ignore
    },
    ofCommit: async (datasetId, commitId, until) => {
      const row = await db.get(sql`SELECT ${exports.columns} FROM exports
        WHERE dataset_id = ${datasetId} AND params = ${JSON.stringify({ commit_id: commitId })}
          AND (${isOneOf(sql`status`, activeStatuses)}
            OR (status = 'completed' AND filename IS NOT NULL AND expires_at > ${until}))
        ORDER BY id DESC LIMIT 1`);
      return row && exports.parse(row);
    },
    openVersions: async (datasetId) => {
      const rows = await db.all(sql`SELECT ${exports.columns} FROM exports
        WHERE dataset_id = ${datasetId} AND as_of IS NOT NULL AND ${isOneOf(sql`status`, activeStatuses)}`);
      return rows.flatMap((row) => {
        const { asOf, params } = exports.parse(row);
        // The records of a commit are the difference from the preceding version, so that version is read as well.
        const isOfCommit = params['commit_id'] !== undefined;
        return asOf === null ? [] : isOfCommit ? [asOf.version - 1, asOf.version] : [asOf.version];
      });
    },
    expired: async (now) => {
      const rows = await db.all(sql`SELECT ${exports.columns} FROM exports
        WHERE filename IS NOT NULL AND expires_at <= ${now} ORDER BY id`);
      return rows.map((row) => exports.parse(row));
    },
  };
}

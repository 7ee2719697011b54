import { DuckDBInstance } from '@duckdb/node-api';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCatalog, type Catalog } from '../../engine/catalog/catalog.js';
import { createUser } from '../../engine/catalog/create-user.js';
import { SqliteDatabase } from '../../engine/catalog/database.js';
import type { NewDatasetMigration } from '../../engine/catalog/dataset-migrations.js';
import type { NewExport } from '../../engine/catalog/exports.js';
import type { NewImport } from '../../engine/catalog/imports.js';
import { sql } from '../../engine/catalog/sql.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { UserRow } from '../../engine/catalog/users.js';
import type { VaultRow } from '../../engine/catalog/vaults.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { openDataFolder } from '../../engine/core/files.js';
import { openStore, type StoreOptions } from '../../engine/store/open-store.js';
import type { Store } from '../../engine/store/store.js';
import {
  createScheduler,
  type Scheduler,
  type SchedulerOptions,
} from '../../scheduler/queue/scheduler.js';
import { startTestWorker } from '../start-test-worker.js';

/** A data folder with a user, below the system's temporary folder. */
export class Lake {
  readonly #parts: { data: DataFolder; catalog: Catalog; store: Store };
  user!: UserRow;
  vault!: VaultRow;

  private constructor(parts: { data: DataFolder; catalog: Catalog; store: Store }) {
    this.#parts = parts;
  }

  static async make(): Promise<Lake> {
    const lake = await Lake.open(await mkdtemp(join(tmpdir(), 'strandlake-')));
    const createdUser = await lake.catalog.transaction((tx) =>
      createUser(tx, { email: 'ann@example.org', domain: 'acme' }, randomBytes(32)),
    );
    lake.user = createdUser.user;
    lake.vault = createdUser.vault;
    return lake;
  }

  static async open(root: string, options: StoreOptions = {}): Promise<Lake> {
    const data = await openDataFolder(root);
    const catalog = await openCatalog(data.catalog);
    const lake = new Lake({
      data,
      catalog,
      store: openStore(data, { checkEveryMs: 0, ...options }),
    });
    const user = await catalog.users.byEmail('ann@example.org');
    if (user !== undefined) {
      lake.user = user;
      lake.vault = (await catalog.vaults.personal(user.id)) as VaultRow;
    }
    return lake;
  }

  get data(): DataFolder {
    return this.#parts.data;
  }
  get catalog(): Catalog {
    return this.#parts.catalog;
  }
  get store(): Store {
    return this.#parts.store;
  }

  /** Starts a scheduler on this folder. A quiet dataset does not cause a merge, because tests count segments. */
  async startScheduler(options: Partial<SchedulerOptions> = {}): Promise<Scheduler> {
    const config = { threads: 2, workerMemoryMb: 1024 };
    const scheduler = createScheduler({
      ...this.#parts,
      config,
      quietMs: Infinity,
      closeMs: 300,
      startWorker: startTestWorker,
      ...options,
    });
    await scheduler.start();
    return scheduler;
  }

  close(): Promise<void> {
    return this.catalog.close();
  }

  async remove(): Promise<void> {
    await this.close();
    await rm(this.data.root, { recursive: true });
  }

  async createDataset(filename = 'variants', storageClass = 'Standard'): Promise<number> {
    const { dataset } = await this.catalog.datasets.create({
      ...this.objectLocation(),
      filename,
      storageClass,
    });
    return dataset.id;
  }

  /** Creates a file object with the given bytes; returns its id. */
  async createFile(
    filename: string,
    bytes: string | Uint8Array,
    properties: { readonly size?: number; readonly md5?: string } = {},
  ): Promise<number> {
    const object = await this.catalog.objects.create({
      ...this.objectLocation(),
      objectType: 'file',
      filename,
    });
    await writeFile(this.data.object(object.id, 1), bytes);
    const content = { userId: this.ownerIds().userId, size: null, md5: null, ...properties };
    await this.catalog.fileVersions.publish(object, { revision: 1, ...content });
    return object.id;
  }

  async queueFileImport(
    datasetId: number,
    objectId: number,
    more: Partial<NewImport> = {},
  ): Promise<TaskRow> {
    const { task } = await this.catalog.imports.create({
      ...this.ownerIds(),
      datasetId,
      objectId,
      source: 'object',
      ...more,
    });
    return task;
  }

  async queueInlineImport(
    datasetId: number,
    records: string,
    more: Partial<NewImport> = {},
  ): Promise<TaskRow> {
    const id = await this.catalog.nextId();
    await writeFile(this.data.inlineRecords(id), records);
    const { task } = await this.catalog.imports.create({
      ...this.ownerIds(),
      id,
      datasetId,
      source: 'data_records',
      ...more,
    });
    return task;
  }

  async queueExport(
    datasetId: number,
    format: string,
    more: Partial<NewExport> = {},
  ): Promise<TaskRow> {
    const { task } = await this.catalog.exports.create({
      ...this.ownerIds(),
      datasetId,
      format,
      ...more,
    });
    return task;
  }

  async queueMigration(
    sourceId: number,
    targetId: number,
    more: Partial<NewDatasetMigration> = {},
  ): Promise<TaskRow> {
    const job = { ...this.ownerIds(), sourceId, targetId, ...more };
    return (await this.catalog.datasetMigrations.create(job)).task;
  }

  readTaskRow(id: number): Promise<TaskRow | undefined> {
    return this.catalog.tasks.get(id);
  }

  /** Counts the records of the current version and their different `_id`s, and lists their commits, by a separate DuckDB. */
  async countRecordsByDuckdb(
    datasetId: number,
  ): Promise<{ rows: number; ids: number; commits: readonly string[] }> {
    const { files, rows } = await this.store.snapshot(datasetId);
    if (rows === 0) return { rows, ids: 0, commits: [] };
    const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
    try {
      const list = files.map((file) => `'${file}'`).join(', ');
      const result = await duckdb.runAndReadAll(
        `SELECT count(*)::INTEGER, count(DISTINCT _id)::INTEGER,
                array_to_string(list_sort(list(DISTINCT _commit)), ',')
         FROM read_parquet([${list}], union_by_name = true)`,
      );
      const [countedRows, ids, commits] = result.getRows()[0] as [number, number, string];
      if (countedRows !== rows)
        throw new Error(`${countedRows} records are there, the log says ${rows}`);
      return { rows, ids, commits: commits.split(',') };
    } finally {
      duckdb.closeSync();
    }
  }

  /** Returns the inconsistencies of the data folder after all tasks have ended; there must be none. Sweeps unreferenced files. */
  async findFolderDamage(): Promise<readonly string[]> {
    const damages: string[] = [];
    const tasks = await this.catalog.tasks.list({ viewer: null }, { limit: 1_000, offset: 0 });
    for (const { id, status } of tasks.rows) {
      if (!['completed', 'failed', 'canceled'].includes(status))
        damages.push(`task ${id} is ${status}`);
    }
    for (const name of await readdir(this.data.scratch)) {
      if (!name.startsWith('spill-')) damages.push(`scratch/${name} has stayed`);
    }
    damages.push(...(await this.findRejectedFileDamage()));
    const sweepResult = await this.store.sweep(
      async (id) => (await this.catalog.datasets.get(id))?.logVersion,
    );
    for (const name of [...sweepResult.removed, ...sweepResult.quarantined])
      damages.push(`datasets/${name} has stayed`);
    for (const { id, logVersion } of await this.catalog.datasets.logVersions()) {
      damages.push(
        ...(await this.store.verify(id)).map(({ path, problem }) => `${path}: ${problem}`),
      );
      const { rows, ids, commits } = await this.countRecordsByDuckdb(id);
      const dataset = await this.catalog.datasets.get(id);
      if (ids !== rows) damages.push(`${rows} records have ${ids} different _ids`);
      if (dataset?.documentsCount !== rows)
        damages.push(`${rows} records, the catalogue says ${dataset?.documentsCount}`);
      if ((await this.store.version(id)) !== logVersion)
        damages.push(`the catalogue is at ${logVersion}`);
      const page = { limit: 1_000, offset: 0 };
      const listedCommits = await this.catalog.commits.list(
        { viewer: null, datasetIds: [id] },
        page,
      );
      const commitsWithRows = listedCommits.rows.filter(
        ({ recordsModified }) => recordsModified > 0,
      );
      const knownCommits = commitsWithRows.map((commit) => String(commit.id)).sort();
      if (String(knownCommits) !== String(commits))
        damages.push(`commits ${commits}, the catalogue has ${knownCommits}`);
      const sum = commitsWithRows.reduce(
        (total, { recordsModified }) => total + recordsModified,
        0,
      );
      if (sum !== rows) damages.push(`${rows} records, the commits have ${sum}`);
      const imports = await this.catalog.imports.list({ viewer: null, datasetIds: [id] }, page);
      const completedImports = imports.rows.filter(
        ({ status, isDryRun }) => status === 'completed' && !isDryRun,
      );
      const committedJobs = new Set(listedCommits.rows.map(({ parentJobId }) => parentJobId));
      if (
        completedImports.length !== committedJobs.size ||
        completedImports.some((row) => !committedJobs.has(row.id))
      ) {
        damages.push(
          `${completedImports.length} imports are completed, ${committedJobs.size} have a commit`,
        );
      }
    }
    return damages;
  }

  /**
   * Returns one problem if the files of rejected records are not exactly those that the reports of ended imports and migrations name.
   */
  private async findRejectedFileDamage(): Promise<readonly string[]> {
    const page = { limit: 1_000, offset: 0 };
    const imports = await this.catalog.imports.list({ viewer: null }, page);
    const migrations = await this.catalog.datasetMigrations.list({ viewer: null }, page);
    const expectedRejections = [...imports.rows, ...migrations.rows].flatMap(
      ({ id, status, metadata }) => {
        const receipt = metadata['receipt'] as { rejected_file: unknown } | undefined;
        return ['failed', 'completed'].includes(status) && receipt?.rejected_file
          ? [`${id}.jsonl.gz`]
          : [];
      },
    );
    const rejectedFileNames = await readdir(this.data.rejected);
    if (String(rejectedFileNames.sort()) === String(expectedRejections.sort())) return [];
    return [`rejected/ holds ${rejectedFileNames}, the import reports name ${expectedRejections}`];
  }

  private objectLocation(): { vaultId: number; parentId: null; userId: number } {
    return { vaultId: this.vault.id, parentId: null, userId: this.user.id };
  }

  private ownerIds(): { userId: number; accountId: number } {
    return { userId: this.user.id, accountId: this.user.accountId };
  }
}

/** Removes the versions of deleted commits, which earlier releases did not keep; returns the same folder, opened again. */
export async function forgetDeletedVersions(lake: Lake): Promise<Lake> {
  const { root, catalog } = lake.data;
  await lake.close();
  const db = new SqliteDatabase(catalog);
  await db.run(sql`UPDATE deleted_commits SET parent_job_model = NULL, mode = NULL, records_total = NULL,
    records_added = NULL, log_version = NULL, completed_at = NULL`);
  await db.close();
  return Lake.open(root);
}

/** Returns a VCF of `rows` single-nucleotide variants, about 60 bytes each, with the `extra` lines in the middle. */
export function vcfTextOf(rows: number, extra = ''): string {
  const lines = [
    '##fileformat=VCFv4.2',
    '##reference=GRCh38',
    '##contig=<ID=chr1,length=248956422,assembly=GRCh38>',
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Allele frequency">',
    '##INFO=<ID=GENE,Number=1,Type=String,Description="Gene">',
    '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO',
  ];
  for (let i = 0; i < rows; i++) {
    if (i === rows >> 1 && extra !== '') lines.push(extra);
    lines.push(
      `chr1\t${i + 1}\trs${i}\tA\tG\t${i % 99}\tPASS\tDP=${i % 250};AF=${(i % 100) / 100};GENE=G${i % 37}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

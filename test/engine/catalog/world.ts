import { principalOf, viewerOf, type Principal } from '../../../engine/catalog/access.js';
import { openCatalog, type Catalog, type Tables } from '../../../engine/catalog/catalog.js';
import { createUser, type CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Viewer, Role } from '../../../engine/catalog/permission.js';
import type { Publication } from '../../../engine/catalog/publish.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { random } from '../../random.js';

/** The key that tokens are hashed with in these tests. */
export const key = new TextEncoder().encode('a key for tests only');

/** A page with everything on it. */
export const everyRow = { limit: 10_000, offset: 0 };

/** A catalogue in memory, with people in it. */
export class CatalogWorld {
  readonly catalog: Catalog;
  constructor(catalog: Catalog) {
    this.catalog = catalog;
  }

  static async make(): Promise<CatalogWorld> {
    return new CatalogWorld(await openCatalog(':memory:'));
  }

  async user(email: string, domain = 'acme', role: Role = 'member'): Promise<CreatedUser> {
    return this.catalog.transaction((tx) => createUser(tx, { email, domain, role }, key));
  }

  async principal(userId: number, scope: Principal['scope'] = 'read write'): Promise<Principal> {
    const principal = await principalOf(this.catalog, userId, scope);
    if (principal === undefined) throw new Error(`no active user ${userId}`);
    return principal;
  }

  async viewer(userId: number): Promise<Viewer> {
    return viewerOf(await this.principal(userId));
  }

  /** A dataset with this name at the root of the user's personal vault. */
  async dataset(owner: CreatedUser, filename = 'variants'): Promise<number> {
    const createdDataset = await this.catalog.datasets.create({
      vaultId: owner.vault.id,
      parentId: null,
      filename,
      userId: owner.user.id,
      storageClass: 'Standard',
    });
    return createdDataset.dataset.id;
  }

  /** A queued import into a dataset. */
  async import(owner: CreatedUser, datasetId: number, priority?: number): Promise<TaskRow> {
    const { user } = owner;
    const { task } = await this.catalog.imports.create({
      datasetId,
      userId: user.id,
      accountId: user.accountId,
      source: 'object',
      ...(priority !== undefined && { priority }),
    });
    return task;
  }
}

/** The publication of an import's result, with one column of one record. */
export async function publicationOf(
  tables: Tables,
  task: TaskRow,
  change: Partial<Publication> = {},
): Promise<Publication> {
  const job = await tables.imports.get(task.resourceId);
  if (job === undefined) throw new Error(`no import ${task.resourceId}`);
  return {
    datasetId: job.datasetId,
    importId: job.id,
    taskId: task.id,
    commitId: job.commitId,
    logVersion: 0,
    mode: 'append',
    title: 'Records Import',
    recordsModified: 1,
    recordsTotal: 1,
    bytesTotal: 100,
    size: 100,
    genomeBuild: null,
    columns: [{ name: 'gene', physical: 'gene', type: 'string', isList: false }],
    newFields: [],
    metadata: { progress: { processed_records: 1 } },
    time: 1_700_000_000_000,
    ...change,
  };
}

/** Whole numbers below a bound, the same for the same seed. */
export function seeded(seed: number): (below: number) => number {
  const next = random(seed);
  return (below) => Math.floor(next() * below);
}

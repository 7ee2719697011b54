import { loadPrincipal, viewerOf, type Principal } from '../../../engine/catalog/access.js';
import { openCatalog, type Catalog } from '../../../engine/catalog/catalog.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import { createUser, type CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Viewer, Role } from '../../../engine/catalog/permission.js';
import type { Publication } from '../../../engine/catalog/publish.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import type { Column } from '../../../engine/core/types.js';
import { seededRandom } from '../../random.js';

/** The key that tokens are hashed with in these tests. */
export const tokenHashKey = new TextEncoder().encode('a key for tests only');

/** A page large enough for all rows. */
export const allRowsPage = { limit: 10_000, offset: 0 };

/** A catalogue, with methods that create users, datasets and imports in it, and read principals and viewers. */
export class CatalogFixture {
  readonly catalog: Catalog;
  constructor(catalog: Catalog) {
    this.catalog = catalog;
  }

  static async openInMemory(): Promise<CatalogFixture> {
    return new CatalogFixture(await openCatalog(':memory:'));
  }

  async createUserOf(email: string, domain = 'acme', role: Role = 'member'): Promise<CreatedUser> {
    return this.catalog.transaction((tx) => createUser(tx, { email, domain, role }, tokenHashKey));
  }

  async readPrincipal(
    userId: number,
    scope: Principal['scope'] = 'read write',
  ): Promise<Principal> {
    const principal = await loadPrincipal(this.catalog, userId, scope);
    if (principal === undefined) throw new Error(`no active user ${userId}`);
    return principal;
  }

  async readViewer(userId: number): Promise<Viewer> {
    return viewerOf(await this.readPrincipal(userId));
  }

  /** Creates a dataset with the given name at the root of the user's personal vault; returns its id. */
  async createDataset(owner: CreatedUser, filename = 'variants'): Promise<number> {
    const createdDataset = await this.catalog.datasets.create({
      vaultId: owner.vault.id,
      parentId: null,
      filename,
      userId: owner.user.id,
      storageClass: 'Standard',
    });
    return createdDataset.dataset.id;
  }

  /** Creates a queued import into a dataset; returns its task. */
  async queueImport(owner: CreatedUser, datasetId: number, priority?: number): Promise<TaskRow> {
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

const geneColumn: Column = { name: 'gene', physical: 'gene', type: 'string', isList: false };

/** Returns the publication of an import's result: one record with a value for every column, of which there is one by default. */
export async function publicationOf(
  tables: Tables,
  task: TaskRow,
  change: Partial<Publication> = {},
): Promise<Publication> {
  const job = await tables.imports.get(task.resourceId);
  if (job === undefined) throw new Error(`no import ${task.resourceId}`);
  const { columns = [geneColumn] } = change;
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
    columns,
    segmentColumns: [columns],
    newFields: [],
    metadata: { progress: { processed_records: 1 } },
    time: 1_700_000_000_000,
    ...change,
  };
}

/** Returns a generator of integers below a bound; the same seed gives the same numbers. */
export function seededRandomBelow(seed: number): (below: number) => number {
  const next = seededRandom(seed);
  return (below) => Math.floor(next() * below);
}

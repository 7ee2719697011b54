import { objectCopySchema } from './object-copies.js';
import { AppError } from '../core/errors.js';
import { authenticationSchema } from './authentication-schema.js';
import type { Database, SqliteDatabase } from './database.js';
import { exportProvenanceSchema } from './exports.js';
import { fileVersionSchema } from './file-version-schema.js';
import { globalBeaconSchema, granularitySchema } from './global-beacons.js';
import { idempotencyKeySchema } from './idempotency-keys.js';
import { commitOrderSchema, indexSchema, statusIndexSchema } from './index-schema.js';
import { multipartUploadSchema } from './multipart-uploads.js';
import {
  archiveSchema,
  backgroundTaskSchema,
  commitCountSchema,
  commitVersionSchema,
  declaredFieldSchema,
  deletedCommitSchema,
  datasetMigrationSchema,
  dryRunSchema,
  firstSchema,
  savedResourceSchema,
  taskResultSchema,
  importKeySchema,
} from './catalog-schema.js';
import { sharingSchema } from './sharing-schema.js';
import { constantSql, sql } from './sql.js';
import { templateSchema } from './templates.js';

/** One step of the schema. A step never changes once it has been released. */
interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
  /** Whether the step replaces tables to which other tables refer. */
  readonly replacesTables?: boolean;
}

/** The migrations in order; the schema has version n after the nth. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'first release', statements: firstSchema },
  { version: 2, name: 'dry runs', statements: dryRunSchema },
  { version: 3, name: 'keys of requests', statements: idempotencyKeySchema },
  { version: 4, name: 'saved queries and beacons', statements: savedResourceSchema },
  { version: 5, name: 'global beacons', statements: globalBeaconSchema },
  { version: 6, name: 'background tasks', statements: backgroundTaskSchema },
  { version: 7, name: 'declared fields', statements: declaredFieldSchema },
  { version: 8, name: 'counts of commits, versions of exports', statements: commitCountSchema },
  { version: 9, name: 'deleted commits', statements: deletedCommitSchema },
  { version: 10, name: 'archives of datasets', statements: archiveSchema },
  { version: 11, name: 'keys of imports', statements: importKeySchema },
  { version: 12, name: 'migrations of datasets', statements: datasetMigrationSchema },
  { version: 13, name: 'templates', statements: templateSchema },
  { version: 14, name: 'copies of objects', statements: objectCopySchema },
  { version: 15, name: 'sharing', statements: sharingSchema },
  { version: 16, name: 'passwords and applications', statements: authenticationSchema },
  { version: 17, name: 'provenance of exports', statements: exportProvenanceSchema },
  { version: 18, name: 'uploads in parts', statements: multipartUploadSchema },
  { version: 19, name: 'granularity of beacons', statements: granularitySchema },
  { version: 20, name: 'versions of files, shortcuts', statements: fileVersionSchema, replacesTables: true },
  { version: 21, name: 'results of tasks', statements: taskResultSchema },
  { version: 22, name: 'versions of deleted commits', statements: commitVersionSchema },
  { version: 23, name: 'indexes of tasks and commits', statements: indexSchema },
  { version: 24, name: 'statuses of jobs', statements: statusIndexSchema },
  { version: 25, name: 'order of commits', statements: commitOrderSchema },
]; // prettier-ignore

/**
 * The schema version of a catalogue; 0 if it has no tables yet. Throws if the file is not a catalogue of this or an older
 * release.
 */
export async function readSchemaVersion(db: Database, known = migrations): Promise<number> {
  const tables = await db.all(sql`SELECT name FROM sqlite_master WHERE type = 'table'`);
  if (tables.length === 0) return 0;
  if (!tables.some((table) => table['name'] === 'schema_versions')) {
    throw new AppError('damaged', 'the catalogue file is a database of something else');
  }
  const rows = await db.all(sql`SELECT version FROM schema_versions ORDER BY version`);
  const versions = rows.map((row) => row['version'] as number);
  if (versions.some((version, i) => version !== i + 1) || versions.length === 0) {
    const versionList = versions.join(', ') || 'none';
    throw new AppError(
      'damaged',
      `the catalogue is damaged: its schema versions are ${versionList}`,
    );
  }
  if (versions.length > known.length) {
    throw new AppError(
      'conflict',
      `the catalogue was written by a newer release (schema version ${versions.length}, this release knows ` +
        `${known.length}); run that release or a newer one`,
    );
  }
  return versions.length;
}

/** Migrates the schema to the newest version, each step in its own transaction. */
export async function migrateSchema(db: SqliteDatabase, known = migrations): Promise<void> {
  for (const step of known.slice(await readSchemaVersion(db, known))) {
    const apply = async (tx: Database): Promise<void> => {
      if (step.version === 1) {
        await tx.run(sql`CREATE TABLE schema_versions (
          version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`);
      }
      for (const statement of step.statements) await tx.run(constantSql(statement));
      await tx.run(sql`INSERT INTO schema_versions (version, name, applied_at)
        VALUES (${step.version}, ${step.name}, ${Date.now()})`);
    };
    await (step.replacesTables ? db.replaceTables(apply) : db.atomic(apply));
  }
}

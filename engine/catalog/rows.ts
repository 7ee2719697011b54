import type { DatasetField, NewField } from '../core/dataset-field.js';
import type { Columns, GenomeBuild, JsonObject } from '../core/types.js';

/** Milliseconds since 1970, UTC: how the catalogue keeps every time. */
export type Millis = number;

export type Role = 'member' | 'admin' | 'primary_owner';
export interface AccountRow {
  readonly id: number;
  readonly domain: string;
  readonly name: string;
  readonly createdAt: Millis;
}
export interface UserRow {
  readonly id: number;
  readonly accountId: number;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: Role;
  readonly isActive: boolean;
  readonly createdAt: Millis;
}
/** A personal access token; the secret itself is never stored, only its keyed hash. */
export interface TokenRow {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly prefix: string; // first 4 characters, to recognise it in a list
  readonly scope: 'read' | 'read write';
  readonly createdAt: Millis;
  readonly expiresAt: Millis | null;
  readonly revokedAt: Millis | null;
  readonly lastUsedAt: Millis | null;
}

export type Permission = 'read' | 'write' | 'admin';
export interface VaultRow {
  readonly id: number;
  readonly accountId: number;
  readonly userId: number;
  readonly name: string;
  readonly description: string | null;
  readonly vaultType: 'user' | 'general';
  readonly metadata: JsonObject;
  readonly tags: readonly string[];
  readonly defaultStorageClass: string | null;
  readonly isPublic: boolean;
  readonly versioning: 'disabled' | 'enabled' | 'suspended';
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export type ObjectType = 'file' | 'folder' | 'dataset';
export interface ObjectRow {
  readonly id: number;
  readonly vaultId: number;
  readonly parentId: number | null;
  readonly ancestorIds: readonly number[]; // root first, parent last
  readonly objectType: ObjectType;
  readonly filename: string;
  readonly path: string; // '/a/b/name'
  readonly depth: number;
  readonly description: string | null;
  readonly metadata: JsonObject;
  readonly tags: readonly string[];
  readonly mimetype: string | null;
  readonly size: number | null;
  readonly md5: string | null; // hex
  /** Which upload of the file's bytes counts; 0 until one has arrived. Always 0 for folders and datasets. */
  readonly revision: number;
  readonly availability: string | null;
  readonly documentsCount: number | null;
  readonly userId: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** What a dataset has beyond its object; same id. */
export interface DatasetRow {
  readonly id: number;
  readonly capacity: 'small' | 'medium' | 'large' | 'xlarge';
  readonly storageClass: string;
  readonly availability: 'available' | 'unavailable' | 'restoring' | 'archived';
  readonly documentsCount: number;
  readonly bytes: number;
  readonly genomeBuilds: readonly GenomeBuild[];
  /** The Delta log version that the catalogue has taken in; -1 before the first commit. */
  readonly logVersion: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export interface FieldRow extends DatasetField {
  readonly id: number;
  readonly datasetId: number;
  readonly description: string;
  readonly expression: string | null;
  readonly isHidden: boolean;
  readonly isReadOnly: boolean;
  /** True once data of this field has been stored: its type is then fixed. */
  readonly isValid: boolean;
  readonly dependsOn: readonly string[];
  readonly urlTemplate: string | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export type TaskKind = 'import' | 'export' | 'commit';
export type TaskStatus = 'pending' | 'queued' | 'running' | 'completed' | 'failed' | 'canceled';
export interface TaskRow {
  readonly id: number;
  readonly kind: TaskKind;
  /** The import, export or commit that this task runs. */
  readonly resourceId: number;
  readonly status: TaskStatus;
  readonly description: string;
  readonly priority: number; // lower runs first
  readonly attempts: number;
  readonly parentId: number | null;
  readonly userId: number;
  readonly accountId: number;
  readonly targetObjectId: number | null;
  readonly sourceObjectId: number | null;
  readonly cancelRequested: boolean;
  /** From the moment its result is being made visible: too late to cancel. */
  readonly isPublishing: boolean;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** Says that searches by entity look into a dataset. */
export interface GlobalBeaconRow {
  readonly id: number;
  readonly datasetId: number;
  /** Who enabled it. */
  readonly userId: number;
  readonly createdAt: Millis;
}

/** What imports, exports and commits have in common. */
export interface JobRow {
  readonly id: number;
  readonly taskId: number | null;
  readonly datasetId: number;
  readonly userId: number;
  readonly status: TaskStatus;
  readonly errorMessage: string | null;
  readonly metadata: JsonObject; // progress, validation (contract 10.1)
  /** `[from, to, time]` triples (contract 10.1). */
  readonly timestamps: readonly (readonly [string, string, Millis])[];
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export type CommitMode = 'append' | 'overwrite' | 'upsert' | 'delete';
export interface ImportRow extends JobRow {
  readonly title: string;
  readonly description: string | null;
  readonly source: 'data_records' | 'object' | 'manifest';
  readonly objectId: number | null;
  readonly manifest: JsonObject;
  readonly commitMode: CommitMode;
  readonly targetFields: readonly JsonObject[];
  readonly entityParams: JsonObject | null;
  readonly readerParams: JsonObject | null;
  readonly validationParams: JsonObject | null;
  readonly annotatorParams: JsonObject | null;
  readonly includeErrors: boolean;
  readonly genomeBuild: string | null;
  readonly priority: number;
  /** Chosen when the import is created, so that records can carry it before the commit exists. */
  readonly commitId: number;
  /** It only tells what would come in; the dataset stays as it is. */
  readonly isDryRun: boolean;
  readonly tags: readonly string[];
}

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
  /** The file's name to clients (`variants-4812.json.gz`); null until it is written. */
  readonly filename: string | null;
  readonly bytes: number | null;
  /** The log version that the file shows. */
  readonly logVersion: number | null;
  readonly expiresAt: Millis | null;
}

export interface CommitRow extends JobRow {
  readonly title: string;
  readonly description: string | null;
  readonly mode: CommitMode | 'rollback';
  readonly parentJobModel: string; // 'datasets.DatasetImport'
  readonly parentJobId: number;
  readonly recordsTotal: number; // of the dataset after it
  readonly recordsModified: number;
  readonly fields: readonly { readonly name: string; readonly is_new: boolean }[];
  readonly size: number;
  readonly logVersion: number;
  readonly genomeBuild: string | null;
}

/** Everything that publishing a commit changes in the catalogue; also kept in the log, so that a restart can replay it. */
export interface Publication {
  readonly datasetId: number;
  readonly importId: number;
  readonly taskId: number;
  readonly commitId: number;
  readonly logVersion: number;
  readonly mode: CommitMode;
  readonly title: string;
  readonly recordsModified: number;
  readonly recordsTotal: number;
  readonly bytesTotal: number;
  readonly size: number;
  readonly genomeBuild: GenomeBuild | null;
  /** All columns of the dataset after this commit. */
  readonly columns: Columns;
  /** Order, titles and entity types of fields that this commit brings, by dotted name. */
  readonly newFields: readonly NewField[];
  /** What the request says anew of fields that were there before, by dotted name. */
  readonly edits?: readonly (Partial<NewField> & { readonly name: string })[];
  /** The import's final metadata (progress, validation). */
  readonly metadata: JsonObject;
  readonly time: Millis;
}
/** What belongs to a user and may be shared with the account. */
export interface OwnedRow {
  readonly id: number;
  readonly userId: number;
  readonly accountId: number;
  readonly isShared: boolean;
}

export interface SavedQueryRow extends OwnedRow {
  readonly name: string;
  readonly description: string | null;
  /** As it was sent. */
  readonly params: JsonObject;
  readonly datasetId: number | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

export interface BeaconSetRow extends OwnedRow {
  readonly title: string;
  readonly description: string | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** A dataset that a beacon set asks; it is shared as its set is. */
export interface BeaconRow extends OwnedRow {
  readonly beaconSetId: number;
  readonly title: string;
  readonly description: string | null;
  readonly datasetId: number;
  /** Filters that scope the questions, as they were sent; null for none. */
  readonly params: JsonObject | readonly unknown[] | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

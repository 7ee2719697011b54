import type { JsonObject } from '../../../engine/core/types.js';
import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { JobRow } from '../../../engine/catalog/jobs.js';
import type { TaskKind, TaskRow } from '../../../engine/catalog/task-row.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import { shortUserView, time } from '../views.js';

/** What imports, exports and commits show besides their row. */
export interface JobParts {
  /** The view of the dataset; null once it has been deleted (contract 15.5). */
  readonly dataset: object | null;
  readonly vaultId: number | null;
  readonly user: UserRow | undefined;
}

function jobView(job: JobRow, parts: JobParts): object {
  return {
    id: job.id,
    task_id: job.taskId,
    status: job.status,
    error_message: job.errorMessage,
    dataset: parts.dataset,
    dataset_id: job.datasetId,
    vault_id: parts.vaultId,
    metadata: job.metadata,
    timestamps: job.timestamps.map(([from, to, at]) => [from, to, time(at)]),
    user: parts.user ? shortUserView(parts.user) : null,
    user_id: job.userId,
    created_at: time(job.createdAt),
    updated_at: time(job.updatedAt),
  };
}

/** An import (contract 10.1), with the commits that it has made. */
export function importView(
  row: ImportRow,
  parts: JobParts & { readonly commits: readonly object[]; readonly sourceObject: object | null },
  origin: string,
): object {
  return {
    class_name: 'DatasetImport',
    ...jobView(row, parts),
    url: `${origin}/v2/dataset_imports/${row.id}`,
    title: row.title,
    description: row.description,
    source: row.source,
    object_id: row.objectId,
    logical_object: row.objectId,
    source_object: parts.sourceObject,
    manifest: row.manifest,
    commit_mode: row.commitMode,
    target_fields: row.targetFields.map(targetFieldView),
    entity_params: withDefaults(row.entityParams, entityDefaults),
    reader_params: row.readerParams ?? {},
    validation_params: withDefaults(row.validationParams, validationDefaults),
    annotator_params: withDefaults(row.annotatorParams, annotatorDefaults),
    include_errors: row.includeErrors,
    genome_build: row.genomeBuild,
    priority: row.priority,
    dry_run: row.isDryRun,
    import_messages: {},
    metadata: { ...importMetadata, ...row.metadata },
    tags: row.tags,
    dataset_commits: parts.commits,
  };
}

const importMetadata = {
  progress: {
    processed_records: 0,
    records_per_second: 0,
    errors: { records: 0, fields: 0, examples: [] },
  },
  validation: {
    errors: [],
    warnings: [],
    errors_count: 0,
    warnings_count: 0,
    error_codes: [],
    detections: null,
  },
};
const entityDefaults = {
  disable: null,
  entity_types: null,
  sample_rate: null,
  sample_count: null,
  apply_detection: null,
};
const validationDefaults = {
  disable: null,
  raise_on_errors: null,
  strict_validation: null,
  allow_new_fields: null,
};
const annotatorDefaults = {
  annotator: 'simple',
  block_size: 10,
  chunk_size: 1000,
  data: {},
  debug: false,
  include_errors: true,
  keep_order: true,
  pool_size: 100,
  timeout: 900,
  pre_annotation_expression: '',
  post_annotation_expression: '',
};

function withDefaults(given: JsonObject | null, defaults: JsonObject): JsonObject {
  return { ...defaults, ...given };
}

/** A target field with all its keys (contract 10.1). */
function targetFieldView(given: JsonObject): JsonObject {
  return {
    name: given['name'] ?? null,
    title: given['title'] ?? given['name'] ?? null,
    description: given['description'] ?? '',
    data_type: given['data_type'] ?? 'auto',
    entity_type: given['entity_type'] ?? null,
    expression: given['expression'] ?? null,
    is_hidden: given['is_hidden'] ?? false,
    is_list: given['is_list'] ?? null,
    is_transient: given['is_transient'] ?? false,
    ordering: given['ordering'] ?? null,
    depends_on: given['depends_on'] ?? [],
    url_template: given['url_template'] ?? null,
  };
}

/** An export (contract 11.1); no `filename` key, a client would take it for a local name. */
export function exportView(row: ExportRow, parts: JobParts, origin: string): object {
  return {
    class_name: 'DatasetExport',
    ...jobView(row, parts),
    url: `${origin}/v2/dataset_exports/${row.id}`,
    format: row.format,
    documents_count: row.documentsCount,
    params: row.params,
    target_fields: row.targetFields ?? [],
    annotator_params: row.annotatorParams ?? {},
    target_full_path: row.targetFullPath,
    target_object_id: row.targetObjectId,
    send_email_on_completion: row.sendEmailOnCompletion,
    priority: row.priority,
    metadata: { progress: { processed_records: 0 }, ...row.metadata },
    expires_at: time(row.expiresAt),
    download_url: null,
  };
}

/** A commit (contract 16). */
export function commitView(row: CommitRow, parts: JobParts, origin: string): object {
  return {
    class_name: 'DatasetCommit',
    ...jobView(row, parts),
    url: `${origin}/v2/dataset_commits/${row.id}`,
    title: row.title,
    description: row.description,
    mode: row.mode,
    parent_job_model: row.parentJobModel,
    parent_job_id: row.parentJobId,
    parent_commit_id: null,
    parent_commit_job_id: null,
    rollback_commit_id: null,
    rollback_commit_job_id: null,
    records_total: row.recordsTotal,
    records_modified: row.recordsModified,
    fields: row.fields,
    size: row.size,
    md5: null,
    genome_build: row.genomeBuild,
    tags: [],
  };
}

/** What a task shows of the things it works on; null where they have been deleted. */
export interface TaskParts {
  readonly targetObject: object | null;
  readonly targetVault: object | null;
  readonly sourceObject: object | null;
  readonly sourceVault: object | null;
  readonly user: UserRow | undefined;
}

/** How each kind of task is named to clients: `<anything>.<class name>` (contract 15.1). */
export const taskTypes: Readonly<Record<TaskKind, readonly [type: string, display: string]>> = {
  import: ['datasets.DatasetImport', 'Dataset Import'],
  export: ['datasets.DatasetExport', 'Dataset Export'],
  commit: ['datasets.DatasetCommit', 'Dataset Commit'],
};

/** A task; the full child resource, `task_object`, only on a single GET. */
export function taskView(
  row: TaskRow,
  parts: TaskParts,
  origin: string,
  taskObject?: object | null,
): object {
  const [type, display] = taskTypes[row.kind];
  const isActive = ['pending', 'queued', 'running'].includes(row.status);
  return {
    class_name: 'ECSTask',
    id: row.id,
    url: `${origin}/v2/tasks/${row.id}`,
    task_type: type,
    task_display_name: display,
    task_id: row.resourceId,
    status: row.status,
    description: row.description,
    priority: row.priority,
    parent_id: row.parentId,
    available_actions: isActive ? ['cancel'] : [],
    target_object: parts.targetObject,
    target_vault: parts.targetVault,
    source_object: parts.sourceObject,
    source_vault: parts.sourceVault,
    require_idle_source: false,
    require_idle_target: false,
    schedule_info: null,
    cron_schedule: null,
    user: parts.user ? shortUserView(parts.user) : null,
    user_id: row.userId,
    account_id: row.accountId,
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
    ...(taskObject !== undefined && { task_object: taskObject }),
  };
}

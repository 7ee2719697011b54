/* The keys of resources as the contract lists them, repeated here so that removing a key from a presenter fails a test. */

const sortedWords = (text: string): readonly string[] =>
  text
    .trim()
    .split(/[\s,]+/)
    .toSorted();

/** The keys of a user (contract 4.1). */
export const userKeys =
  sortedWords(`class_name id email username first_name last_name full_name title role is_active is_staff
  is_verified date_joined password_days_remaining url account`);
/** The keys of a user inside another resource (contract 4.1). */
export const shortUserKeys = sortedWords(
  'class_name id email first_name last_name full_name is_active is_staff role title',
);
/** The keys of a vault (contract 5.1). */
export const vaultKeys =
  sortedWords(`class_name id account_id user_id account_domain name full_path description vault_type
  provider permissions metadata tags default_storage_class is_public is_deleted has_children has_folder_children
  require_unique_paths versioning user created_at updated_at last_synced vault_properties url`);
/** The keys of an object (contract 6.1). */
export const objectKeys =
  sortedWords(`class_name id object_type vault_id vault_name parent_object_id ancestor_object_ids filename
  path full_path depth description mimetype size md5 metadata tags storage_class availability documents_count dataset_id
  dataset_documents_count dataset_description dataset_full_name has_children has_folder_children num_children
  num_descendants is_deleted is_transformable upload_url is_multipart upload_id upload_key presigned_urls version_count
  global_beacon target user user_id updated_by account_id created_at updated_at last_accessed last_modified
  inherited_metadata url`);
/** The keys of a dataset (contract 7.1). */
export const datasetKeys =
  sortedWords(`class_name id url name full_path description documents_count vault_id vault_name
  vault_object_id vault_object_filename vault_object_path vault_parent_object_id capacity storage_class availability status
  health replicas entity_types is_genomic genome_builds metadata tags created_at updated_at data_url fields_url commits_url
  imports_url exports_url template_url beacon_url changelog_url account_id user user_id`);
/** All keys of a field (contract 9). */
export const fieldKeys =
  sortedWords(`class_name id dataset_id vault_id name title description data_type entity_type expression
  is_hidden is_list is_read_only is_valid ordering depends_on url_template facets_url url created_at updated_at`);
/** The keys of an import (contract 10.1), and `dry_run`, which Strandlake adds. */
export const importKeys =
  sortedWords(`class_name id task_id url title description status error_message dataset dataset_id vault_id
  source object_id logical_object source_object manifest commit_mode id_fields target_fields entity_params reader_params rejected_url
  validation_params annotator_params include_errors genome_build priority dry_run import_messages metadata tags dataset_commits
  timestamps user user_id created_at updated_at`);
/** The keys of an export (contract 11.1), and `as_of` and `commit_id`, which Strandlake adds. */
export const exportKeys =
  sortedWords(`class_name id task_id url status format dataset dataset_id vault_id documents_count params as_of commit_id
  target_fields annotator_params target_full_path target_object_id send_email_on_completion priority error_message metadata
  timestamps user user_id created_at updated_at expires_at download_url`);
/** The keys of a commit (contract 16), and the numbers of records added, changed and removed, which Strandlake adds. */
export const commitKeys =
  sortedWords(`class_name id task_id url title description status mode dataset dataset_id vault_id
  parent_job_model parent_job_id parent_commit_id parent_commit_job_id rollback_commit_id rollback_commit_job_id
  records_total records_modified records_added records_changed records_removed fields size md5 genome_build error_message metadata tags timestamps user user_id created_at
  updated_at`);
/** The keys of a task (contract 15.1). */
export const taskKeys =
  sortedWords(`class_name id url task_type task_display_name task_id status description priority parent_id
  available_actions target_object target_vault source_object source_vault require_idle_source require_idle_target
  schedule_info cron_schedule user user_id account_id created_at updated_at`);
/** The keys of an object inside a task (contract 15.1). */
export const shortObjectKeys =
  sortedWords(`id object_type filename path full_path vault_id vault_name dataset_id
  dataset_documents_count documents_count dataset_description dataset_full_name parent_object_id is_deleted created_at
  updated_at last_accessed last_modified url class_name`);
/** The keys of a vault inside a task (contract 15.1). */
export const shortVaultKeys =
  sortedWords(`id name full_path provider vault_type permissions is_deleted is_public created_at
  updated_at url class_name`);

/** Returns the keys of a JavaScript object, sorted. */
export function sortedKeysOf(value: unknown): readonly string[] {
  return Object.keys(value as object).toSorted();
}

/** A JSON schema, as far as the description uses it. */
export type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const nullableText: Schema = { type: ['string', 'null'] };
const integer: Schema = { type: 'integer' };
const nullableInteger: Schema = { type: ['integer', 'null'] };
const flag: Schema = { type: 'boolean' };
const object: Schema = { type: 'object' };
const texts: Schema = { type: 'array', items: text };
const objects: Schema = { type: 'array', items: object };
const moment: Schema = { type: 'string', format: 'date-time' };
const id: Schema = { ...integer, description: 'An id; numeric text is accepted too.' };

const words = (...values: readonly (string | null)[]): Schema => ({ enum: values });
const about = (schema: Schema, description: string): Schema => ({ ...schema, description });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const resource = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
});
const body = (properties: Readonly<Record<string, Schema>>, ...required: string[]): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

const status = words('pending', 'queued', 'running', 'completed', 'failed', 'canceled');
const dataType = words(
  'auto', 'boolean', 'date', 'double', 'float', 'integer', 'long', 'object', 'string', 'text', 'blob',
); // prettier-ignore
const entityType = words(
  'dataset', 'gene', 'genomic_region', 'literature', 'sample', 'variant', null,
); // prettier-ignore
const storageClass = about(text, 'Standard, Standard-IA, Essential, Temporary, Performance or Archive.');

const job = {
  id,
  task_id: nullableInteger,
  status,
  error_message: nullableText,
  dataset: ref('Dataset'),
  dataset_id: id,
  vault_id: nullableInteger,
  metadata: about(object, '`progress` and, for imports, `validation`.'),
  timestamps: about({ type: 'array' }, 'Triples: from status, to status, time.'),
  user: ref('User'),
  created_at: moment,
  updated_at: moment,
};
const fieldKeys = {
  name: text,
  title: text,
  description: text,
  data_type: dataType,
  entity_type: entityType,
  expression: nullableText,
  is_hidden: flag,
  is_list: { type: ['boolean', 'null'] },
  ordering: nullableInteger,
  depends_on: texts,
  url_template: about(nullableText, 'A http(s) address with {value} in it.'),
};
const query = {
  filters: about({ type: 'array' }, 'Pairs [field__action, value], or objects with and, or, not.'),
  query: about(text, 'A query string.'),
  fields: about(texts, 'Only these fields.'),
  exclude_fields: texts,
  ordering: about(texts, 'Field names, `-` in front for descending.'),
  entities: about({ type: 'array' }, 'Pairs [entity type, value].'),
  genome_build: words('GRCh37', 'GRCh38'),
};
const vaultKeys = {
  name: about(text, 'Unique in the account; no `/` and no `:`.'),
  description: nullableText,
  metadata: object,
  tags: texts,
  default_storage_class: storageClass,
};
const objectKeys = {
  vault_id: id,
  parent_object_id: about(nullableInteger, 'A folder; null or absent: the root.'),
  object_type: words('file', 'folder', 'dataset'),
  filename: about(text, 'Without a slash; `-1`, `-2` … is appended when taken.'),
  description: nullableText,
  metadata: object,
  tags: texts,
  mimetype: nullableText,
  size: nullableInteger,
  md5: about(nullableText, '32 hex digits.'),
  storage_class: storageClass,
};

/** The named schemas of the description (`#/components/schemas/…`). */
export const schemas = {
  Error: about(
    object,
    'Always an object: `{"detail": "…"}`, or messages by key of the request, or `non_field_errors`.',
  ),
  Detail: resource({ detail: text }),
  Health: resource({ status: words('ok', 'degraded'), detail: text }),
  User: resource({
    class_name: words('User'), id, email: text, username: text, first_name: text, last_name: text,
    full_name: text, title: text, role: words('member', 'admin', 'primary_owner'), is_active: flag,
    is_staff: flag, is_verified: flag, date_joined: moment,
    password_days_remaining: nullableInteger, url: text,
    account: resource({ id, domain: text, name: text }),
  }), // prettier-ignore
  Vault: resource({
    class_name: words('Vault'), id, ...vaultKeys, full_path: text, account_id: id,
    account_domain: text, user_id: id, user: ref('User'), vault_type: words('user', 'general'),
    provider: text, permissions: resource({ read: flag, write: flag, admin: flag }),
    is_public: flag, is_deleted: flag, has_children: flag, has_folder_children: flag,
    require_unique_paths: flag, versioning: words('disabled', 'enabled', 'suspended'),
    last_synced: nullableText, vault_properties: object, created_at: moment, updated_at: moment,
    url: text,
  }), // prettier-ignore
  VaultCreate: body(vaultKeys, 'name'),
  VaultUpdate: body({ ...vaultKeys, versioning: words('disabled', 'enabled', 'suspended') }),
  Object: resource({
    class_name: words('Object'), id, ...objectKeys, path: text,
    full_path: about(text, '`domain:vault:/path`'), depth: integer, vault_name: text,
    ancestor_object_ids: { type: 'array', items: integer }, availability: nullableText,
    documents_count: nullableInteger, dataset_id: nullableInteger,
    dataset_documents_count: nullableInteger, dataset_description: nullableText,
    dataset_full_name: nullableText, has_children: flag, has_folder_children: flag,
    num_children: integer, num_descendants: integer, is_deleted: flag, is_transformable: flag,
    upload_url: about(nullableText, 'Where to PUT the bytes; only in the answer to creating a file.'),
    is_multipart: flag, version_count: integer, user: ref('User'), user_id: id, account_id: id,
    created_at: moment, updated_at: moment, last_accessed: moment, last_modified: moment,
  }), // prettier-ignore
  ObjectCreate: body(
    { ...objectKeys, capacity: text, fields: { type: 'array', items: ref('FieldCreate') } },
    'vault_id', 'object_type', 'filename',
  ), // prettier-ignore
  ObjectUpdate: body(objectKeys),
  Download: resource({ download_url: text, object_id: { type: 'null' } }),
  Dataset: resource({
    class_name: words('Dataset'), id, url: text, name: text, full_path: text, description: text,
    documents_count: integer, account_id: id, vault_id: id, vault_name: text, vault_object_id: id,
    vault_object_filename: text, vault_object_path: text, vault_parent_object_id: nullableInteger,
    capacity: words('small', 'medium', 'large', 'xlarge'), storage_class: storageClass,
    availability: words('available', 'unavailable', 'restoring', 'archived'), status: text,
    health: text, replicas: integer, entity_types: texts, is_genomic: flag, genome_builds: texts,
    metadata: object, tags: texts, user: ref('User'), user_id: id, created_at: moment,
    updated_at: moment, data_url: text, fields_url: text, commits_url: text, imports_url: text,
    exports_url: text, template_url: text, beacon_url: text, changelog_url: text,
  }), // prettier-ignore
  DatasetCreate: body(
    {
      name: text, vault_id: id, vault_parent_object_id: nullableInteger,
      fields: { type: 'array', items: ref('FieldCreate') }, description: nullableText,
      metadata: object, tags: texts, capacity: words('small', 'medium', 'large', 'xlarge'),
      storage_class: storageClass,
    },
    'name', 'vault_id',
  ), // prettier-ignore
  DatasetUpdate: body({ description: nullableText, metadata: object, tags: texts, storage_class: storageClass }),
  Query: body({
    ...query,
    facets: about(object, 'By field: {facet_type, limit, …}; a list of names means defaults.'),
    limit: about(integer, '0 to 10,000; 100 when absent.'),
    offset: integer,
  }),
  QueryAnswer: resource({
    dataset: text,
    dataset_id: id,
    took: about(integer, 'Milliseconds.'),
    total: about(integer, 'All matching records.'),
    offset: about(nullableInteger, 'Of the next page; null when there is none.'),
    results: objects,
    facets: about(object, 'Only if asked for.'),
  }),
  Lookup: resource({ dataset_id: id, took: integer, total: integer, offset: { type: 'null' }, results: objects }),
  DatasetField: resource({
    class_name: words('DatasetField'), id, dataset_id: id, vault_id: id, ...fieldKeys,
    is_read_only: flag, is_valid: flag, facets_url: text, url: text, created_at: moment,
    updated_at: moment,
  }), // prettier-ignore
  FieldCreate: body({ dataset_id: id, ...fieldKeys }, 'name'),
  FieldUpdate: body(fieldKeys),
  FieldFacets: resource({ facets: {}, total: integer, took: integer }),
  DatasetImport: resource({
    class_name: words('DatasetImport'), ...job, url: text, title: text, description: nullableText,
    source: words('data_records', 'object', 'manifest'), object_id: nullableInteger,
    logical_object: nullableInteger, source_object: object, manifest: object,
    commit_mode: words('append', 'overwrite', 'upsert', 'delete'), target_fields: objects,
    entity_params: object, reader_params: object, validation_params: object,
    annotator_params: object, include_errors: flag, genome_build: nullableText, priority: integer,
    import_messages: object, tags: texts,
    dataset_commits: { type: 'array', items: ref('DatasetCommit') },
  }), // prettier-ignore
  ImportCreate: body(
    {
      dataset_id: id,
      object_id: about(nullableInteger, 'A file object.'),
      data_records: about(objects, 'Up to 5,000 records; the answer comes when they are imported.'),
      records: about(objects, 'The same as data_records.'),
      manifest: about(object, 'Files by address; not available yet.'),
      commit_mode: about(text, 'append; other modes are not available yet.'),
      target_fields: objects, description: nullableText, priority: nullableInteger, tags: texts,
      entity_params: object, reader_params: object, validation_params: object,
      annotator_params: object, include_errors: flag,
    },
    'dataset_id',
  ), // prettier-ignore
  DatasetExport: resource({
    class_name: words('DatasetExport'), ...job, url: text, format: text,
    documents_count: nullableInteger, params: object, target_fields: objects,
    annotator_params: object, target_full_path: nullableText, target_object_id: nullableInteger,
    send_email_on_completion: flag, priority: integer, expires_at: nullableText,
    download_url: { type: 'null' },
  }), // prettier-ignore
  ExportCreate: body(
    {
      dataset_id: id,
      format: words('json', 'csv'),
      params: body({ ...query, limit: about(integer, '1 to 1,000,000.') }),
      target_full_path: about(nullableText, 'Also keep the file there: `vault:/folder/name`.'),
      priority: nullableInteger,
      send_email_on_completion: flag,
    },
    'dataset_id', 'format',
  ), // prettier-ignore
  ExportDownload: resource({ url: text, download_url: text }),
  DatasetCommit: resource({
    class_name: words('DatasetCommit'), ...job, url: text, title: text, description: nullableText,
    mode: text, parent_job_model: text, parent_job_id: id, parent_commit_id: nullableInteger,
    rollback_commit_id: nullableInteger, records_total: integer, records_modified: integer,
    fields: objects, size: integer, genome_build: nullableText, tags: texts,
  }), // prettier-ignore
  Task: resource({
    class_name: words('ECSTask'), id, url: text, task_type: text, task_display_name: text,
    task_id: about(id, 'The import, export or commit that the task runs.'), status,
    description: text, priority: integer, parent_id: nullableInteger, available_actions: texts,
    target_object: object, target_vault: object, source_object: object, source_vault: object,
    user: ref('User'), task_object: about(object, 'The full resource; only on a single task.'),
    created_at: moment, updated_at: moment,
  }), // prettier-ignore
  Cancel: body({ status: words('canceled') }, 'status'),
} satisfies Readonly<Record<string, Schema>>;

/** The name of a schema in the table above. */
export type SchemaName = keyof typeof schemas;

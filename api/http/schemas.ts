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
/** The same schema for several keys. */
const each = (schema: Schema, names: string): Readonly<Record<string, Schema>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, schema]));
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
  'auto',
  'boolean',
  'date',
  'double',
  'float',
  'integer',
  'long',
  'object',
  'string',
  'text',
  'blob',
);
const entityType = words(
  'dataset',
  'gene',
  'genomic_region',
  'literature',
  'sample',
  'variant',
  null,
);
const storageClass = about(
  text,
  'Standard, Standard-IA, Essential, Temporary, Performance or Archive.',
);

const savedQuery = {
  name: text,
  description: nullableText,
  params: about(object, 'A query: filters, query, fields, entities, ordering …'),
  is_shared: flag,
  dataset: about(text, 'Id or full path of a dataset to check the parameters with.'),
};
const beaconSet = { title: text, description: nullableText, is_shared: flag };
const beacon = {
  title: text,
  description: nullableText,
  params: about({}, 'Filters that scope the questions: a list, or {filters, query, genome_build}.'),
};

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
const explain = about(
  flag,
  '`true`: the answer tells what each condition leaves, and why it is empty.',
);
const explained = about(ref('Explanation'), 'Only if asked for.');
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
    class_name: words('User'),
    id,
    ...each(text, 'email username first_name last_name full_name title url'),
    ...each(flag, 'is_active is_staff is_verified'),
    date_joined: moment,
    password_days_remaining: nullableInteger,
    role: words('member', 'admin', 'primary_owner'),
    account: resource({ id, domain: text, name: text }),
  }),
  Vault: resource({
    class_name: words('Vault'),
    ...each(id, 'id account_id user_id'),
    ...each(text, 'full_path account_domain provider url'),
    ...each(flag, 'is_public is_deleted has_children has_folder_children require_unique_paths'),
    last_synced: nullableText,
    vault_properties: object,
    ...each(moment, 'created_at updated_at'),
    ...vaultKeys,
    user: ref('User'),
    vault_type: words('user', 'general'),
    permissions: resource({ read: flag, write: flag, admin: flag }),
    versioning: words('disabled', 'enabled', 'suspended'),
  }),
  VaultCreate: body(vaultKeys, 'name'),
  VaultUpdate: body({ ...vaultKeys, versioning: words('disabled', 'enabled', 'suspended') }),
  Object: resource({
    class_name: words('Object'),
    ...each(id, 'id user_id account_id'),
    ...each(text, 'path vault_name'),
    ...each(integer, 'depth num_children num_descendants version_count'),
    ...each(nullableText, 'availability dataset_description dataset_full_name'),
    ...each(nullableInteger, 'documents_count dataset_id dataset_documents_count'),
    ...each(flag, 'has_children has_folder_children is_deleted is_transformable is_multipart'),
    ...each(moment, 'created_at updated_at last_accessed last_modified'),
    ...objectKeys,
    full_path: about(text, '`domain:vault:/path`'),
    ancestor_object_ids: { type: 'array', items: integer },
    upload_url: about(
      nullableText,
      'Where to PUT the bytes; only in the answer to creating a file.',
    ),
    user: ref('User'),
  }),
  ObjectCreate: body(
    { ...objectKeys, capacity: text, fields: { type: 'array', items: ref('FieldCreate') } },
    'vault_id',
    'object_type',
    'filename',
  ),
  ObjectUpdate: body(objectKeys),
  Download: resource({ object_id: { type: 'null' }, download_url: text }),
  Dataset: resource({
    class_name: words('Dataset'),
    ...each(id, 'id account_id vault_id vault_object_id user_id'),
    ...each(
      text,
      'url name full_path description vault_name vault_object_filename vault_object_path status health data_url fields_url commits_url imports_url exports_url template_url beacon_url changelog_url',
    ),
    ...each(integer, 'documents_count replicas'),
    vault_parent_object_id: nullableInteger,
    ...each(texts, 'entity_types genome_builds tags'),
    is_genomic: flag,
    metadata: object,
    ...each(moment, 'created_at updated_at'),
    capacity: words('small', 'medium', 'large', 'xlarge'),
    storage_class: storageClass,
    availability: words('available', 'unavailable', 'restoring', 'archived'),
    user: ref('User'),
  }),
  DatasetCreate: body(
    {
      name: text,
      vault_id: id,
      vault_parent_object_id: nullableInteger,
      fields: { type: 'array', items: ref('FieldCreate') },
      description: nullableText,
      metadata: object,
      tags: texts,
      capacity: words('small', 'medium', 'large', 'xlarge'),
      storage_class: storageClass,
    },
    'name',
    'vault_id',
  ),
  DatasetUpdate: body({
    description: nullableText,
    metadata: object,
    tags: texts,
    storage_class: storageClass,
  }),
  Query: body({
    ...query,
    facets: about(
      object,
      'By field: {facet_type, limit, interval, scale, extended, percents, facets}; a list of names means defaults.',
    ),
    limit: about(integer, '0 to 10,000; 100 when absent.'),
    offset: integer,
    cursor: about({}, '`true` begins a walk over one version; then what the last answer gave.'),
    explain,
  }),
  QueryAnswer: resource({
    cursor: about(nullableText, 'Only in a walk: of the next page; null at the end.'),
    took: about(integer, 'Milliseconds.'),
    dataset: text,
    dataset_id: id,
    results: objects,
    total: about(integer, 'All matching records.'),
    offset: about(nullableInteger, 'Of the next page; null when there is none.'),
    facets: about(object, 'Only if asked for.'),
    explain: explained,
  }),
  FileQuery: body({
    filters: about({}, 'As for a dataset, without `regexp` and `regex`.'),
    ...each(texts, 'fields exclude_fields ordering'),
    limit: about(integer, '0 to 10,000; 100 when absent.'),
    offset: integer,
    output_format: about(words('json', 'csv', 'tsv'), 'csv, tsv: each result is a line of text.'),
    explain,
  }),
  FileAnswer: resource({
    object_id: id,
    took: about(integer, 'Milliseconds.'),
    results: about({ type: 'array' }, 'Objects, or texts with output_format csv or tsv.'),
    total: about(integer, 'All matching records.'),
    offset: about(nullableInteger, 'Of the next page; null when there is none.'),
    explain: explained,
  }),
  Explanation: resource({
    records: about(integer, 'All records that were asked.'),
    nodes: about(
      { type: 'array', items: ref('ExplainedNode') },
      'The conditions of the request, joined by AND in this order.',
    ),
    causes: about(
      { type: 'array', items: ref('ExplainedCause') },
      'Only for an empty answer: why it may be empty, each confirmed by the records.',
    ),
    segments: about(
      resource({
        ...each(integer, 'total touched skipped rows more'),
        paths: texts,
      }),
      'Files whose statistics admit a match, and their records; `more` are not named.',
    ),
    steps: about(object, 'Milliseconds by step; page and facets run at the same time.'),
  }),
  ExplainedCause: resource({
    ...each(text, 'path condition hint'),
    cause: about(text, 'wrong_build, chr_prefix, letter_case, nearest_values …'),
    instead: about(text, 'A condition that finds something.'),
    matches: about(integer, 'Records that satisfy it; absent where it is several conditions.'),
    left: about(integer, 'Records that the request finds with it.'),
    values: about({ type: 'array' }, 'Stored values, or paths of other conditions.'),
  }),
  ExplainedNode: resource({
    path: about(text, 'Where it stands in the request: `filters[0].or[1]`.'),
    condition: about(text, 'As the request has it, or `and`, `or`, `not`.'),
    matches: about(integer, 'Records that satisfy it.'),
    left: about(integer, 'Of these, those that satisfy all that was joined before it by AND.'),
    nodes: about({ type: 'array', items: ref('ExplainedNode') }, 'What is joined.'),
  }),
  FileFields: resource({ fields: texts }),
  BatchQuery: body(
    {
      queries: {
        type: 'array',
        items: {
          allOf: [ref('Query'), body({ dataset: about(text, 'Id or full path.') }, 'dataset')],
        },
      },
    },
    'queries',
  ),
  BatchAnswer: {
    type: 'array',
    items: { ...object, description: 'A QueryAnswer or an error, with `status_code`.' },
  },
  Search: body({
    ...each({}, 'query filters ordering facets fields exclude_fields entities'),
    entities_match: words('any', 'all'),
    vault_scope: about(words('all', 'any', 'access'), 'access leaves out vaults that are only public.'), // prettier-ignore
    limit: about(integer, '0 to 10,000; 100 when absent.'),
    offset: integer,
    ...each(flag, 'include_vaults include_subjects include_all_subjects'),
  }),
  SearchAnswer: resource({
    ...each(integer, 'took total subjects_count'),
    offset: about(nullableInteger, 'Of the next page; null when there is none.'),
    results: objects,
    facets: about(object, 'Only if asked for.'),
    vaults: about(objects, 'Only if asked for: those of all that was found.'),
    subjects: about(objects, 'Only if asked for, with entities.'),
  }),
  GlobalBeacon: resource({
    ...each(id, 'id dataset_id'),
    ...each(integer, 'datastore_id progress_percent'),
    status: words('indexing', 'completed', 'destroying'),
    is_deleted: flag,
  }),
  Lookup: resource({
    offset: { type: 'null' },
    dataset_id: id,
    ...each(integer, 'took total'),
    results: objects,
  }),
  DatasetField: resource({
    class_name: words('DatasetField'),
    ...each(id, 'id dataset_id vault_id'),
    ...each(flag, 'is_read_only is_valid'),
    ...each(text, 'facets_url url'),
    ...each(moment, 'created_at updated_at'),
    ...fieldKeys,
  }),
  SavedQuery: resource({
    class_name: words('SavedQuery'),
    ...each(id, 'id user_id account_id'),
    ...each(text, 'url name'),
    description: nullableText,
    params: about(object, 'As it was sent.'),
    fields: about(texts, 'The fields that it speaks of.'),
    is_shared: flag,
    ...each(nullableInteger, 'dataset dataset_id'),
    user: ref('User'),
    ...each(moment, 'created_at updated_at'),
  }),
  SavedQueryCreate: body(savedQuery, 'name'),
  SavedQueryUpdate: body(savedQuery),
  BeaconSet: resource({
    class_name: words('BeaconSet'),
    ...each(id, 'id user_id account_id'),
    ...each(text, 'url title query_url'),
    description: nullableText,
    ...each(flag, 'is_shared is_public'),
    beacons_count: integer,
    user: ref('User'),
    ...each(moment, 'created_at updated_at'),
  }),
  BeaconSetCreate: body(beaconSet, 'title'),
  BeaconSetUpdate: body(beaconSet),
  Beacon: resource({
    class_name: words('Beacon'),
    ...each(id, 'id beacon_set_id vault_object_id user_id account_id'),
    ...each(text, 'url title query_url'),
    description: nullableText,
    vault_id: nullableInteger,
    params: {},
    ...each(moment, 'created_at updated_at'),
  }),
  BeaconCreate: body(
    { beacon_set_id: id, vault_object_id: about(id, 'The dataset.'), ...beacon },
    'beacon_set_id',
    'vault_object_id',
    'title',
  ),
  BeaconUpdate: body(beacon),
  BeaconQuery: body(
    {
      query: about({}, 'An entity, a list of them, or a query string.'),
      entity_type: {
        ...entityType,
        description: 'Without it, all string and text fields are searched.',
      },
    },
    'query',
  ),
  BeaconAnswer: resource({
    status: words('found', 'not_found', 'failed'),
    ...each(integer, 'total took'),
    error: nullableText,
    query: {},
    entity_type: nullableText,
    results: about(objects, 'The first ten.'),
  }),
  BeaconSetAnswer: resource({
    query: {},
    entity_type: nullableText,
    beacon_set: ref('BeaconSet'),
    beacons: about(objects, 'Each beacon with `status`, `total`, `took` and `error`.'),
    ...each(integer, 'found_count not_found_count failed_count'),
  }),
  FieldCreate: body({ dataset_id: id, ...fieldKeys }, 'name'),
  FieldUpdate: body(fieldKeys),
  FieldFacets: resource({ facets: {}, ...each(integer, 'total took') }),
  DatasetImport: resource({
    class_name: words('DatasetImport'),
    ...each(text, 'url title'),
    ...each(nullableText, 'description genome_build'),
    ...each(nullableInteger, 'object_id logical_object'),
    ...each(
      object,
      'source_object manifest entity_params reader_params validation_params annotator_params import_messages',
    ),
    target_fields: objects,
    include_errors: flag,
    dry_run: flag,
    priority: integer,
    tags: texts,
    ...job,
    source: words('data_records', 'object', 'manifest'),
    commit_mode: words('append', 'overwrite', 'upsert', 'delete'),
    dataset_commits: { type: 'array', items: ref('DatasetCommit') },
  }),
  ImportCreate: body(
    {
      dataset_id: id,
      object_id: about(nullableInteger, 'A file object.'),
      data_records: about(objects, 'Up to 5,000 records; the answer comes when they are imported.'),
      records: about(objects, 'The same as data_records.'),
      manifest: about(
        object,
        'Files to import together: {"files": [{url or object_id, name, format, size, md5, base64_md5, reader_params, entity_params, validation_params}]}.',
      ),
      dry_run: about(flag, 'Only tell, in metadata.dry_run, what would come in.'),
      commit_mode: about(text, 'append; other modes are not available yet.'),
      target_fields: objects,
      description: nullableText,
      priority: nullableInteger,
      tags: texts,
      entity_params: object,
      reader_params: object,
      validation_params: object,
      annotator_params: object,
      include_errors: flag,
    },
    'dataset_id',
  ),
  DatasetExport: resource({
    class_name: words('DatasetExport'),
    ...each(text, 'url format'),
    ...each(nullableInteger, 'documents_count target_object_id'),
    ...each(object, 'params annotator_params'),
    target_fields: objects,
    ...each(nullableText, 'target_full_path expires_at'),
    send_email_on_completion: flag,
    priority: integer,
    ...job,
    download_url: { type: 'null' },
  }),
  ExportCreate: body(
    {
      dataset_id: id,
      format: words('json', 'csv'),
      params: body({ ...query, limit: about(integer, '1 to 1,000,000.') }),
      target_full_path: about(nullableText, 'Also keep the file there: `vault:/folder/name`.'),
      priority: nullableInteger,
      send_email_on_completion: flag,
    },
    'dataset_id',
    'format',
  ),
  ExportDownload: resource({ ...each(text, 'url download_url') }),
  RejectedDownload: resource({ ...each(text, 'url download_url') }),
  DatasetCommit: resource({
    class_name: words('DatasetCommit'),
    ...each(text, 'url title mode parent_job_model'),
    ...each(nullableText, 'description genome_build'),
    parent_job_id: id,
    ...each(nullableInteger, 'parent_commit_id rollback_commit_id'),
    ...each(integer, 'records_total records_modified size'),
    fields: objects,
    tags: texts,
    ...job,
  }),
  Task: resource({
    class_name: words('ECSTask'),
    id,
    ...each(text, 'url task_type task_display_name description'),
    priority: integer,
    parent_id: nullableInteger,
    available_actions: texts,
    ...each(object, 'target_object target_vault source_object source_vault'),
    ...each(moment, 'created_at updated_at'),
    task_id: about(id, 'The import, export or commit that the task runs.'),
    status,
    user: ref('User'),
    task_object: about(object, 'The full resource; only on a single task.'),
  }),
  Cancel: body({ status: words('canceled') }, 'status'),
} satisfies Readonly<Record<string, Schema>>;

/** The name of a schema in the table above. */
export type SchemaName = keyof typeof schemas;

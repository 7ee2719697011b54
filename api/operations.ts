import type { SchemaName } from './schemas.js';

/** One operation of the interface: routing, the description at /openapi.json and docs/coverage.md come from this table. */
export interface OperationRow {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** All spellings; the first is the one to use. */
  readonly paths: readonly [string, ...string[]];
  readonly status: number;
  readonly tag: string;
  readonly summary: string;
  /** Query parameters, name to meaning. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: SchemaName | 'bytes';
  /** What it answers: a schema, a list of them, or something that is not JSON. */
  readonly answer: SchemaName | `list of ${SchemaName}` | 'bytes' | 'page' | 'nothing';
}

const paging = {
  limit: 'Page size, 1 to 10,000.',
  page: 'Page number, from 1.',
  offset: 'First row, from 0; wins over page.',
};
const updating = 'Changes the keys that the body gives; PUT and PATCH do the same.';

/** Every operation that this server serves. */
export const operations = {
  'root.head': row('HEAD', ['/'], 'Service', 'Says that the server is there.', 'nothing'),
  'root.get': row('GET', ['/'], 'Service', 'Confirms the credentials.', 'Detail'),
  health: row('GET', ['/health'], 'Service', 'Says whether the server can work.', 'Health'),
  openapi: row('GET', ['/openapi.json'], 'Service', 'This description.', 'page'),
  docs: row('GET', ['/docs'], 'Service', 'A page to read and try the interface.', 'page'),
  swagger: row('GET', ['/swagger'], 'Service', 'Leads to /docs.', 'nothing', { status: 302 }),

  'user.get': row('GET', ['/v1/user'], 'Users', 'The current user and account.', 'User'),
  'users.get': row('GET', ['/v1/users/:id'], 'Users', 'A user of the same account.', 'User'),

  'vaults.create': row('POST', ['/v2/vaults'], 'Vaults', 'Creates a vault.', 'Vault', {
    body: 'VaultCreate',
    status: 201,
  }),
  'vaults.list': row(
    'GET',
    ['/v2/vaults'],
    'Vaults',
    'The vaults that the user may read.',
    'list of Vault',
    {
      query: {
        id: 'One vault.',
        name: 'Exact, case-insensitive.',
        full_path: '`domain:vault`, or a path in it.',
        account_domain: 'Domain of the account.',
        account_id: 'Account.',
        user_id: 'Creator.',
        vault_type: 'user, personal or general.',
        provider: 'Provider.',
        tags: 'One tag.',
        storage_class: 'Default storage class.',
        query: 'Text in name or description.',
        ...paging,
      },
    },
  ),
  'vaults.get': row('GET', ['/v2/vaults/:id'], 'Vaults', 'A vault.', 'Vault'),
  'vaults.put': row('PUT', ['/v2/vaults/:id'], 'Vaults', updating, 'Vault', {
    body: 'VaultUpdate',
  }),
  'vaults.patch': row('PATCH', ['/v2/vaults/:id'], 'Vaults', updating, 'Vault', {
    body: 'VaultUpdate',
  }),
  'vaults.delete': row(
    'DELETE',
    ['/v2/vaults/:id'],
    'Vaults',
    'Deletes a vault with all in it.',
    'Vault',
  ),

  'objects.create': row(
    'POST',
    ['/v2/objects'],
    'Objects',
    'Creates a file, a folder or a dataset; a file answers an `upload_url`.',
    'Object',
    {
      body: 'ObjectCreate',
      status: 201,
    },
  ),
  'objects.list': row(
    'GET',
    ['/v2/objects'],
    'Objects',
    'Objects in vaults that the user may read.',
    'list of Object',
    {
      query: {
        id: 'One object.',
        full_path: 'Exact full path.',
        vault_id: 'Vault.',
        vault_name: 'Name of the vault.',
        vault_full_path: '`domain:vault`.',
        path: 'Exact path.',
        filename: 'Exact name.',
        object_type: 'file, folder or dataset.',
        parent_object_id: 'Children of this folder; null: of the root.',
        ancestor_id: 'Everything below this folder; null: below the root.',
        min_distance: 'With ancestor_id: at least so many levels below it.',
        depth: 'Level, 0 at the root.',
        query: 'Text in the path.',
        regex: 'Linear-time regular expression, anywhere in the path, case-insensitive.',
        glob: '`*`, `?` and `**` over the full path.',
        tags: 'One tag.',
        storage_class: 'Datasets with this class.',
        permission: 'read, write or admin: what the user has on the vault.',
        ...paging,
      },
    },
  ),
  'objects.get': row('GET', ['/v2/objects/:id'], 'Objects', 'An object.', 'Object'),
  'objects.put': row(
    'PUT',
    ['/v2/objects/:id'],
    'Objects',
    `${updating} \`parent_object_id\` moves, \`filename\` renames.`,
    'Object',
    { body: 'ObjectUpdate' },
  ),
  'objects.patch': row(
    'PATCH',
    ['/v2/objects/:id'],
    'Objects',
    `${updating} \`parent_object_id\` moves, \`filename\` renames.`,
    'Object',
    { body: 'ObjectUpdate' },
  ),
  'objects.delete': row(
    'DELETE',
    ['/v2/objects/:id'],
    'Objects',
    'Deletes an object with all below it.',
    'Object',
  ),
  'objects.download': row(
    'GET',
    ['/v2/objects/:id/download'],
    'Objects',
    'A signed address of a file.',
    'Download',
    {
      query: { redirect: 'true: answer 302 to the address.' },
    },
  ),
  'uploads.put': row(
    'PUT',
    ['/v2/uploads/:id/:revision'],
    'Objects',
    'Takes the bytes of a file at its signed `upload_url`.',
    'nothing',
    { body: 'bytes' },
  ),
  'downloads.object': row(
    'GET',
    ['/v2/downloads/objects/:id/:revision'],
    'Objects',
    'The bytes of a file, at a signed address.',
    'bytes',
  ),
  'downloads.export': row(
    'GET',
    ['/v2/downloads/exports/:id'],
    'Exports',
    'The file of an export, at a signed address.',
    'bytes',
  ),

  'datasets.create': row('POST', ['/v2/datasets'], 'Datasets', 'Creates a dataset.', 'Dataset', {
    body: 'DatasetCreate',
    status: 201,
  }),
  'datasets.list': row(
    'GET',
    ['/v2/datasets'],
    'Datasets',
    'The datasets that the user may read.',
    'list of Dataset',
    {
      query: { vault_id: 'Vault.', name: 'Exact name.', tags: 'One tag.', ...paging },
    },
  ),
  'datasets.get': row('GET', dataset(''), 'Datasets', 'A dataset.', 'Dataset'),
  'datasets.put': row('PUT', dataset(''), 'Datasets', updating, 'Dataset', {
    body: 'DatasetUpdate',
  }),
  'datasets.patch': row('PATCH', dataset(''), 'Datasets', updating, 'Dataset', {
    body: 'DatasetUpdate',
  }),
  'datasets.delete': row('DELETE', dataset(''), 'Datasets', 'Deletes a dataset.', 'Dataset'),
  'datasets.query': row(
    'POST',
    [...dataset('/data'), ...dataset('/query')],
    'Datasets',
    'A page of records, and facets. `Accept: application/vnd.apache.arrow.stream` answers an Arrow stream.',
    'QueryAnswer',
    { body: 'Query' },
  ),
  'datasets.lookup': row(
    'GET',
    dataset('/data/:ids'),
    'Datasets',
    'Records by `_id`, in the order asked; unknown ones are left out.',
    'Lookup',
  ),

  'fields.create': row(
    'POST',
    ['/v2/dataset_fields', '/v1/dataset_fields'],
    'Dataset fields',
    'Adds a field.',
    'DatasetField',
    {
      body: 'FieldCreate',
      status: 201,
    },
  ),
  'fields.list': row(
    'GET',
    dataset('/fields'),
    'Dataset fields',
    'The fields of a dataset.',
    'list of DatasetField',
    {
      query: { name: 'Exact name.', ...paging },
    },
  ),
  'fields.get': row('GET', field(''), 'Dataset fields', 'A field.', 'DatasetField'),
  'fields.put': row('PUT', field(''), 'Dataset fields', updating, 'DatasetField', {
    body: 'FieldUpdate',
  }),
  'fields.patch': row('PATCH', field(''), 'Dataset fields', updating, 'DatasetField', {
    body: 'FieldUpdate',
  }),
  'fields.delete': row(
    'DELETE',
    field(''),
    'Dataset fields',
    'Removes a field of an empty dataset.',
    'DatasetField',
  ),
  'fields.facets': row(
    'GET',
    field('/facets'),
    'Dataset fields',
    'The values of a field.',
    'FieldFacets',
    {
      query: {
        facet_type: 'terms, count, stats, histogram or percentiles.',
        limit: 'Terms at most.',
      },
    },
  ),

  'imports.create': row(
    'POST',
    ['/v2/dataset_imports'],
    'Imports',
    'Imports a file object, or records of the body.',
    'DatasetImport',
    {
      body: 'ImportCreate',
      status: 201,
    },
  ),
  'imports.list': row(
    'GET',
    ['/v2/dataset_imports'],
    'Imports',
    'Imports into datasets that the user may read.',
    'list of DatasetImport',
    { query: { dataset_id: 'Dataset.', status: 'One or several, with commas.', ...paging } },
  ),
  'imports.ofDataset': row(
    'GET',
    dataset('/imports'),
    'Imports',
    'The imports of a dataset.',
    'list of DatasetImport',
    { query: paging },
  ),
  'imports.get': row('GET', ['/v2/dataset_imports/:id'], 'Imports', 'An import.', 'DatasetImport'),
  'imports.put': row(
    'PUT',
    job('imports', true),
    'Imports',
    'Cancels an import.',
    'DatasetImport',
    { body: 'Cancel' },
  ),
  'imports.patch': row(
    'PATCH',
    job('imports', false),
    'Imports',
    'Cancels an import.',
    'DatasetImport',
    { body: 'Cancel' },
  ),
  'imports.delete': row(
    'DELETE',
    job('imports', false),
    'Imports',
    'Forgets an import that has ended; its records stay.',
    'DatasetImport',
  ),

  'exports.create': row(
    'POST',
    ['/v2/dataset_exports'],
    'Exports',
    'Writes what a query finds to a file.',
    'DatasetExport',
    {
      body: 'ExportCreate',
      status: 201,
    },
  ),
  'exports.list': row(
    'GET',
    ['/v2/dataset_exports'],
    'Exports',
    'Exports of datasets that the user may read.',
    'list of DatasetExport',
    { query: { dataset_id: 'Dataset.', status: 'One or several, with commas.', ...paging } },
  ),
  'exports.ofDataset': row(
    'GET',
    dataset('/exports'),
    'Exports',
    'The exports of a dataset.',
    'list of DatasetExport',
    { query: paging },
  ),
  'exports.get': row('GET', ['/v2/dataset_exports/:id'], 'Exports', 'An export.', 'DatasetExport'),
  'exports.put': row(
    'PUT',
    job('exports', true),
    'Exports',
    'Cancels an export.',
    'DatasetExport',
    { body: 'Cancel' },
  ),
  'exports.patch': row(
    'PATCH',
    job('exports', false),
    'Exports',
    'Cancels an export.',
    'DatasetExport',
    { body: 'Cancel' },
  ),
  'exports.delete': row(
    'DELETE',
    job('exports', false),
    'Exports',
    'Deletes an export and its file.',
    'DatasetExport',
  ),
  'exports.download': row(
    'GET',
    ['/v2/dataset_exports/:id/download'],
    'Exports',
    'Leads to the file (302), or answers its address.',
    'ExportDownload',
    {
      query: { redirect: 'false or empty: answer the address as JSON.' },
    },
  ),

  'commits.list': row(
    'GET',
    ['/v2/dataset_commits'],
    'Commits',
    'Commits of datasets that the user may read.',
    'list of DatasetCommit',
    { query: { dataset_id: 'Dataset.', ...paging } },
  ),
  'commits.ofDataset': row(
    'GET',
    dataset('/commits'),
    'Commits',
    'The commits of a dataset.',
    'list of DatasetCommit',
    { query: paging },
  ),
  'commits.get': row('GET', ['/v2/dataset_commits/:id'], 'Commits', 'A commit.', 'DatasetCommit'),
  'commits.put': row(
    'PUT',
    job('commits', true),
    'Commits',
    'Cancels a commit; 400 once it has completed.',
    'DatasetCommit',
    { body: 'Cancel' },
  ),
  'commits.patch': row(
    'PATCH',
    job('commits', false),
    'Commits',
    'Cancels a commit; 400 once it has completed.',
    'DatasetCommit',
    { body: 'Cancel' },
  ),

  'tasks.list': row(
    'GET',
    ['/v2/tasks'],
    'Tasks',
    'The tasks of the account that the user may read, newest first.',
    'list of Task',
    {
      query: {
        status: 'One or several, with commas.',
        task_type: 'For example datasets.DatasetImport.',
        target_object_id: 'Dataset being written.',
        source_object_id: 'Dataset being read.',
        parent_task_id: 'Tasks made by this one.',
        user: 'Who started it.',
        ordering: 'created_at, updated_at, priority or status; `-` in front for descending.',
        ...paging,
      },
    },
  ),
  'tasks.get': row(
    'GET',
    ['/v2/tasks/:id'],
    'Tasks',
    'A task with the resource that it works on.',
    'Task',
  ),
  'tasks.put': row('PUT', ['/v2/tasks/:id'], 'Tasks', 'Cancels a task.', 'Task', {
    body: 'Cancel',
  }),
  'tasks.patch': row('PATCH', ['/v2/tasks/:id'], 'Tasks', 'Cancels a task.', 'Task', {
    body: 'Cancel',
  }),
} satisfies Readonly<Record<string, OperationRow>>;

/** The name of an operation in the table above. */
export type OperationId = keyof typeof operations;

function row(
  method: OperationRow['method'],
  paths: OperationRow['paths'],
  tag: string,
  summary: string,
  answer: OperationRow['answer'],
  more: Partial<OperationRow> = {},
): OperationRow {
  return { method, paths, tag, summary, answer, status: 200, ...more };
}

/** Clients write datasets' paths in three ways (contract 1.1, specification "Versioning"). */
function dataset(rest: string): [string, ...string[]] {
  return [`/v2/datasets/:id${rest}`, `/v2/dataset/:id${rest}`, `/v1/datasets/:id${rest}`];
}

function field(rest: string): [string, ...string[]] {
  return [`/v2/dataset_fields/:id${rest}`, `/v1/dataset_fields/:id${rest}`];
}

/** The specification spells the cancel path with `datasets_`. */
function job(name: string, isCancel: boolean): [string, ...string[]] {
  const path = `/v2/dataset_${name}/:id`;
  return isCancel ? [path, `${path}/cancel`, `/v2/datasets_${name}/:id/cancel`] : [path];
}

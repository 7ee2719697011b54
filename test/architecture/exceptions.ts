/** The files that list other files. A file that is imported by one of them alone may be small. */
export const registries: readonly string[] = [
  'api/resources/index.ts',
  'cli/commands/index.ts',
  'engine/query/predicate/kinds/index.ts',
  'readers/index.ts',
  'scheduler/jobs/index.ts',
  'writers/index.ts',
];

/** Files with fewer than `smallFileLineLimit` lines and a single importer that is no registry, with the reason why they are files. */
export const allowedSmallFiles: Readonly<Record<string, string>> = {
  'api/http/unserved.ts': 'the declaration of the operations that are not served',
};

/** A file with fewer lines and a single importer must be merged into the importer, unless `registries` or `allowedSmallFiles` exempt it. */
export const smallFileLineLimit = 40;

/** Files whose exports need no importer, with the reason. */
export const unimportedExports: Readonly<Record<string, string>> = {
  'engine/query/memory/shard-entry.ts': 'functions that the main thread calls by name',
  'scheduler/expressions/expression-thread.ts': 'functions that the main thread calls by name',
};

/** Files with exports that no source of the product imports and the file itself does not use, with the reason. */
export const testedExports: Readonly<Record<string, string>> = {
  'engine/core/buffers.ts': 'the count of acquired buffers, which tests expect to be zero at rest',
  'engine/core/faultpoint.ts': 'the switches of the fault points',
  'engine/query/memory/shard-entry.ts': 'functions that the main thread calls by name',
  'engine/query/sql/dialect/clickhouse.ts':
    'the second dialect of SQL, which tests run in ClickHouse',
  'scheduler/expressions/expression-thread.ts': 'functions that the main thread calls by name',
};

/** Files outside `writers/` that may contain names of export formats, because there they name something else, with what they name. */
export const formatNameFiles: readonly { readonly path: RegExp; readonly why: string }[] = [
  { path: /^readers\//, why: 'formats of imports' },
  {
    path: /^engine\/query\/(?:request\/query-request|results\/(?:encoded-page|page-format|page-records))\.ts$/,
    why: 'formats of pages, and of the results of queries of files',
  },
  {
    path: /^api\/resources\/(?:queries\/query-records|records\/(?:annotated-query|records\.operations))\.ts$/,
    why: 'formats of pages',
  },
  {
    path: /^api\/resources\/(?:objects\/objects|downloads\/content)\.operations\.ts$/,
    why: 'formats of the results of queries of files, and of an uploaded file',
  },
  {
    path: /^api\/resources\/audit-log\/audit-log\.controller\.ts$/,
    why: 'formats of the exported audit log',
  },
  {
    path: /^api\/resources\/datasets\/verify\.controller\.ts$/,
    why: 'a file of a Delta table',
  },
  {
    path: /^scheduler\/(?:expressions\/host-call-protocol|jobs\/export\/part)\.ts$/,
    why: 'formats of pages',
  },
  {
    path: /^engine\/store\/delta-actions\.ts$/,
    why: 'the format of the files of a Delta table',
  },
];

/** Names that several files have: of a resource, a format or a kind of job, which each room handles in its way, or of an entry point. */
// prettier-ignore
export const sharedFileNames: readonly string[] = [
  'export', 'group', 'import', 'migration', 'objects', 'token', 'user', 'vault',
  'csv', 'json',
  'checkpoint', 'vacuum', 'verify',
  'index', 'main',
];

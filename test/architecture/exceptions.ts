/**
 * Files with fewer than `maxSmallFileLines` lines and a single importer that may remain separate: one entry per path or pattern, with the
 * reason.
 */
export const smallFiles: readonly { readonly path: RegExp; readonly why: string }[] = [
  { path: /\/index\.ts$/, why: 'a registry' },
  { path: /\.controller\.ts$/, why: 'a controller, which a registry lists' },
  { path: /^api\/http\/unserved\.ts$/, why: 'a declaration' },
  { path: /\.operations\.ts$/, why: 'the declaration of operations' },
  { path: /^readers\/[\w-]+\/[\w-]+\.ts$/, why: 'a reader, which a registry lists, or its part' },
  { path: /^writers\//, why: 'a writer, which a registry lists, or its part' },
  {
    path: /^engine\/query\/predicate\/kinds\/[\w-]+\.ts$/,
    why: 'a kind of predicate, which a registry lists',
  },
  {
    path: /^scheduler\/jobs\/([\w-]+)\/\1\.ts$/,
    why: 'the declaration of a kind of job, which a registry lists',
  },
  { path: /^api\/http\/unserved\.ts$/, why: 'the list of operations that are not served' },
  { path: /^cli\/commands\//, why: 'a command, which a registry lists' },
  { path: /\/thread\.ts$/, why: 'the entry of a worker thread' },
];

/** A file with fewer lines must be merged into its only importer. */
export const maxSmallFileLines = 40;

/** Files outside `writers/` that may contain names of export formats, because there they name something else. */
export const formatNameFiles: readonly { readonly path: RegExp; readonly why: string }[] = [
  { path: /^readers\//, why: 'formats of imports' },
  { path: /^engine\/query\//, why: 'formats of pages, and of the results of queries of files' },
  { path: /^api\/resources\/records\//, why: 'formats of pages' },
  {
    path: /^scheduler\/(?:expressions\/protocol|jobs\/export\/part)\.ts$/,
    why: 'formats of pages',
  },
  { path: /^engine\/store\//, why: 'the format of the files of a Delta table' },
  { path: /^cli\/welcome\.ts$/, why: 'an example of a request' },
];

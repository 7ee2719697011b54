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

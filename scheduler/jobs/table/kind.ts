import type { JsonObject } from '../../../engine/core/types.js';
import { AppError } from '../../../engine/core/errors.js';

/** How a file is read as a table. */
export interface TableKind {
  readonly reader: string;
  readonly readerParams: JsonObject;
  /** Its columns are those of the header row, and all their values are texts. */
  readonly isAllText: boolean;
}

/**
 * Choice: the first row of a `.bed` file is its header as of the other kinds (contract 6.7), so BED of tools, which has none,
 * needs one line in front; there it may begin with `#`, which starts a comment in the other kinds.
 */
const kinds: Readonly<Record<string, TableKind>> = {
  txt: { reader: 'tsv', readerParams: {}, isAllText: true },
  csv: { reader: 'csv', readerParams: {}, isAllText: true },
  tsv: { reader: 'tsv', readerParams: {}, isAllText: true },
  bed: { reader: 'tsv', readerParams: { comment: '' }, isAllText: true },
  json: { reader: 'json', readerParams: {}, isAllText: false },
  jsonl: { reader: 'json', readerParams: {}, isAllText: false },
};

/** How a file of that name is read; throws `invalid` for one that cannot be queried. */
export function tableKind(filename: string): TableKind {
  const [, extension = ''] = /\.([^.]*?)(?:\.(?:gz|bgz|bz2))?$/.exec(filename.toLowerCase()) ?? [];
  if (Object.hasOwn(kinds, extension)) return kinds[extension]!;
  const known = Object.keys(kinds).map((one) => `.${one}`);
  throw new AppError(
    'invalid',
    `${filename}: a file of this kind cannot be queried; ${known.join(', ')} can, also with .gz or .bz2`,
  );
}

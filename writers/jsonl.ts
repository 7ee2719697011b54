import { textBlocks } from './blocks.js';
import { gzipMembers } from './gzip-members.js';
import type { Writer } from './writer.js';

/** JSON Lines in gzip: one record per line, as the import reads it (contract, section 11.5). */
export const jsonl: Writer = {
  format: 'json',
  extension: 'json.gz',
  mediaType: 'application/gzip',
  expandsLists: false,
  shape: 'json',
  line: ([record = "'{}'"]) => record,
  write: (records, _columns, { gzip, parallel }) =>
    gzipMembers(textBlocks(records, '\n'), gzip, parallel),
};

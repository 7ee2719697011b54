import { invalid } from '../engine/core/errors.js';
import { csv, tsv } from './csv/csv.js';
import { gff3 } from './gff/gff3.js';
import { gtf } from './gff/gtf.js';
import { jsonl } from './jsonl/jsonl.js';
import { nirvana } from './nirvana/nirvana.js';
import type { Reader } from './reader.js';
import { vcf } from './vcf/vcf.js';
import { xml } from './xml/xml.js';

/** Every format; the first whose extension fits is taken. */
export const readers: readonly Reader[] = [
  opaque(vcf),
  opaque(jsonl),
  opaque(csv),
  opaque(tsv),
  opaque(xml),
  opaque(gtf),
  opaque(gff3),
  opaque(nirvana),
];

/** A reader whose parameters and header nobody but itself looks into. */
function opaque<P, H>(reader: Reader<P, H>): Reader {
  return reader as unknown as Reader;
}

/** The reader of that name, whatever its letter case. */
export function readerNamed(name: string): Reader {
  const found = readers.find((reader) => reader.name === name.toLowerCase());
  if (found === undefined) {
    const known = readers.map((reader) => reader.name).join(', ');
    throw invalid(
      'reader_params',
      `reader: unknown reader "${name.slice(0, 40)}", expected one of ${known}`,
    );
  }
  return found;
}

/** The reader for a file name: its extension before `.gz`, `.bgz` or `.bz2`. */
export function readerForFile(filename: string): Reader {
  const extension = filename
    .toLowerCase()
    .replace(/\.(?:gz|bgz|bgzf|bz2)$/, '')
    .split('.')
    .at(-1);
  const found = readers.find((reader) => reader.extensions.includes(extension ?? ''));
  if (found === undefined) {
    const known = readers.flatMap((reader) => reader.extensions.map((one) => `.${one}`)).join(', ');
    throw invalid(
      'object_id',
      `no reader for the file name "${filename.slice(0, 200)}": expected ${known} (also with .gz or .bz2), or set reader_params.reader`,
    );
  }
  return found;
}

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** The folders of real files, and the pattern of their names, by reader. */
export const folders: Readonly<Record<string, readonly [folder: string, names: RegExp]>> = {
  vcf: ['vcf', /\.vcf(?:\.gz)?$/],
  json: ['jsonl', /\.json(?:\.gz)?$/],
  csv: ['csv', /\.csv$/],
  tsv: ['csv', /\.(?:tsv|maf)(?:\.gz)?$/],
  xml: ['xml', /\.xml(?:\.gz)?$/],
  gtf: ['gtf', /\.gtf(?:\.gz)?$/],
  gff3: ['gff3', /\.gff3?(?:\.gz)?$/],
  bed: ['bed', /\.bed(?:\.gz)?$/],
  nirvana: ['nirvana', /\.json(?:\.gz)?$/],
};

/**
 * Returns the text of real files: of the fixtures, and of the folder `STRANDLAKE_SAMPLES` if it is set. Of each file only the first
 * `maxBytes` bytes are used, because small inputs find more failures per second. A format need not have fixtures: its inputs then
 * come from the grammar alone.
 */
export function corpusOf(reader: string, maxBytes = 4_000): readonly Buffer[] {
  const [folder, names] = folders[reader]!;
  const samples = process.env['STRANDLAKE_SAMPLES'];
  const roots = ['test/fixtures', ...(samples === undefined ? [] : [samples])];
  return [`${folder}`, `${folder}/bad`, 'bad', ...(reader === 'tsv' ? ['tsv', 'maf'] : [])]
    .flatMap((name) => roots.map((root) => `${root}/${name}`))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path).map((name) => `${path}/${name}`))
    .filter((path) => names.test(path) && (!path.includes('/bad/') || path.includes(`/${reader}`)))
    .map((path) => firstLines(textOf(path), maxBytes));
}

function textOf(path: string): Buffer {
  const bytes = readFileSync(path);
  try {
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  } catch {
    return bytes; // a damaged fixture is as good as any other input
  }
}

function firstLines(text: Buffer, maxBytes: number): Buffer {
  if (text.length <= maxBytes) return text;
  const end = text.lastIndexOf(10, maxBytes);
  return text.subarray(0, end <= 0 ? maxBytes : end + 1);
}

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** Where real files of each reader lie. */
const folders: Readonly<Record<string, readonly [folder: string, names: RegExp]>> = {
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
 * The texts of real files to begin with: the fixtures, and those of `STRANDLAKE_SAMPLES` where it names a folder with
 * more of them. Small inputs find more per second, so only the beginning of a large one is kept.
 */
export function corpusOf(reader: string, mostBytes = 4_000): readonly Buffer[] {
  const [folder, names] = folders[reader]!;
  const samples = process.env['STRANDLAKE_SAMPLES'];
  const roots = ['test/fixtures', ...(samples === undefined ? [] : [samples])];
  return [`${folder}`, `${folder}/bad`, 'bad', ...(reader === 'tsv' ? ['tsv', 'maf'] : [])]
    .flatMap((name) => roots.map((root) => `${root}/${name}`))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path).map((name) => `${path}/${name}`))
    .filter((path) => names.test(path) && (!path.includes('/bad/') || path.includes(`/${reader}`)))
    .map((path) => beginning(textOf(path), mostBytes));
}

function textOf(path: string): Buffer {
  const bytes = readFileSync(path);
  try {
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  } catch {
    return bytes; // a damaged fixture is as good a beginning as any
  }
}

function beginning(text: Buffer, mostBytes: number): Buffer {
  if (text.length <= mostBytes) return text;
  const end = text.lastIndexOf(10, mostBytes);
  return text.subarray(0, end <= 0 ? mostBytes : end + 1);
}

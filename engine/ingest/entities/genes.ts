import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { readFile } from '../../core/files.js';

/** The human genes that are known by name. */
export interface Genes {
  /** The approved symbol as it is written; undefined if there is no such gene. */
  symbol(text: string): string | undefined;
  /** The approved symbol for a symbol, previous symbol or alias, whatever its letter case. */
  resolve(text: string): string | undefined;
  /** The previous symbols and aliases of an approved symbol. */
  synonyms(symbol: string): readonly string[];
  readonly count: number;
}

/** The table lies beside its source, three folders above what is built from this. */
const table = fileURLToPath(
  new URL('../../../../engine/ingest/entities/human-genes.tsv.gz', import.meta.url),
);

let genes: Promise<Genes> | undefined;

/** The table of SOURCES.md, read when first asked for: some 30 ms and 10 MB. */
export function humanGenes(): Promise<Genes> {
  genes ??= readFile(table).then((bytes) => parseGenes(gunzipSync(bytes).toString()));
  return genes;
}

/** Reads lines of a symbol and its synonyms, separated by tabs; of two genes with one synonym the first keeps it. */
export function parseGenes(text: string): Genes {
  const rows = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t') as [string, ...string[]]);
  const bySymbol = new Map(rows.map(([symbol, ...synonyms]) => [symbol, synonyms]));
  const byName = new Map<string, string>();
  const add = (name: string, symbol: string): void => {
    const key = name.toUpperCase();
    if (!byName.has(key)) byName.set(key, symbol);
  };
  for (const [symbol] of rows) add(symbol, symbol);
  for (const [symbol, ...synonyms] of rows) for (const name of synonyms) add(name, symbol);
  return {
    symbol: (name) => (bySymbol.has(name) ? name : undefined),
    resolve: (name) => byName.get(name.toUpperCase()),
    synonyms: (symbol) => bySymbol.get(symbol) ?? [],
    count: rows.length,
  };
}

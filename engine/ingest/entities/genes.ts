import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { readFile } from '../../core/files.js';

/** The human genes by their names. */
export interface GeneTable {
  /** Returns the text if it is an approved symbol in its exact spelling; otherwise undefined. */
  symbol(text: string): string | undefined;
  /** Returns the approved symbol for a symbol, previous symbol or alias in any letter case; undefined if there is no such gene. */
  resolve(text: string): string | undefined;
  /** The previous symbols and aliases of an approved symbol. */
  synonyms(symbol: string): readonly string[];
  readonly count: number;
}

/** The gene table is read from the source tree, because the build copies no data files. */
const geneTableFile = fileURLToPath(
  new URL('../../../../engine/ingest/entities/human-genes.tsv.gz', import.meta.url),
);

let loadedGenes: Promise<GeneTable> | undefined;

/** Returns the gene table (see SOURCES.md), which is loaded on first use in about 30 ms and takes about 10 MB of memory. */
export function loadHumanGenes(): Promise<GeneTable> {
  loadedGenes ??= readFile(geneTableFile).then((bytes) => parseGenes(gunzipSync(bytes).toString()));
  return loadedGenes;
}

/**
 * Returns the gene table for a query that names entities or asks for an explanation; undefined for any other query, which does not need it.
 */
export async function loadGenesForQuery(query: unknown): Promise<GeneTable | undefined> {
  const { entities, explain } = (query ?? {}) as { readonly entities?: unknown; readonly explain?: unknown }; // prettier-ignore
  const isAsked = [entities, explain].some((each) => each !== undefined && each !== null && each !== ''); // prettier-ignore
  return isAsked ? loadHumanGenes() : undefined;
}

/** Parses lines of a symbol and its synonyms, separated by tabs; a synonym of several genes resolves to the first of them. */
export function parseGenes(text: string): GeneTable {
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

import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { dataViewOf } from '../../core/buffers.js';
import { readFile } from '../../core/files.js';
import { hashBytes } from '../../parquet/hash.js';

/** The human genes by their names. */
export interface GeneTable {
  /** Returns the text if it is an approved symbol in its exact spelling; otherwise undefined. */
  symbol(text: string): string | undefined;
  /** Returns the approved symbol for a symbol, previous symbol or alias in any letter case; undefined if there is no such gene. */
  resolve(text: string): string | undefined;
  /** Returns the previous symbols and aliases of an approved symbol; none for any other text. */
  synonyms(symbol: string): readonly string[];
  readonly count: number;
}

/** The gene table is read from the source tree, because the build copies no data files. */
const geneTableFile = fileURLToPath(
  new URL('../../../../engine/ingest/entities/human-genes.tsv.gz', import.meta.url),
);

let loadedGenes: Promise<GeneTable> | undefined;

/** Returns the gene table (see SOURCES.md), which is loaded on first use. */
export function loadHumanGenes(): Promise<GeneTable> {
  loadedGenes ??= readFile(geneTableFile).then((bytes) => parseGenes(gunzipSync(bytes).toString()));
  return loadedGenes;
}

/** Returns the gene table for a query with a value of `entities` or `explain`; undefined for any other query, which does not need it. */
export async function loadGenesForQuery(query: unknown): Promise<GeneTable | undefined> {
  const { entities, explain } = (query ?? {}) as { readonly entities?: unknown; readonly explain?: unknown }; // prettier-ignore
  const isAsked = [entities, explain].some((each) => each !== undefined && each !== null && each !== ''); // prettier-ignore
  return isAsked ? loadHumanGenes() : undefined;
}

/**
 * Parses lines of a symbol and its synonyms, separated by tabs; a synonym of several genes resolves to the first of them. Names are looked
 * up in the bytes of the text in upper case, because a worker that starts would take longer to make a string of each name.
 */
export function parseGenes(text: string): GeneTable {
  const lines = text.split('\n').filter((line) => line !== '');
  const bytes = Buffer.from(`${lines.join('\n').toUpperCase()}\n`);
  // A hash table with open addressing: the offset of a name plus one, 0 for a free slot, and the number of the line of the name.
  const nameCount = bytes.reduce((count, byte) => count + (isSeparator(byte) ? 1 : 0), 0);
  const slotCount = 2 ** Math.ceil(Math.log2(2 * nameCount));
  const offsets = new Uint32Array(slotCount);
  const lineNumbers = new Uint32Array(slotCount);
  /** Returns the slot of a name, which is free if there is no such name. */
  const findSlot = (name: Uint8Array, view: DataView, from: number, to: number): number => {
    let slot = hashBytes(view, name, from, to) & (slotCount - 1);
    while (offsets[slot] !== 0 && !isNameAt(bytes, offsets[slot]! - 1, name, from, to))
      slot = (slot + 1) & (slotCount - 1);
    return slot;
  };
  const view = dataViewOf(bytes);
  // Symbols are added before synonyms, because a name that is both is the symbol.
  for (const areSymbols of [true, false]) {
    let line = 0;
    let isSymbol = true;
    for (let from = 0, to = 0; to < bytes.length; to++) {
      if (!isSeparator(bytes[to])) continue;
      if (isSymbol === areSymbols) {
        const slot = findSlot(bytes, view, from, to);
        if (offsets[slot] === 0) {
          offsets[slot] = from + 1;
          lineNumbers[slot] = line;
        }
      }
      isSymbol = bytes[to] === newline;
      if (isSymbol) line++;
      from = to + 1;
    }
  }
  const namesOf = (name: string): readonly string[] => {
    const nameBytes = Buffer.from(name.toUpperCase());
    const slot = findSlot(nameBytes, dataViewOf(nameBytes), 0, nameBytes.length);
    return offsets[slot] === 0 ? [] : lines[lineNumbers[slot]!]!.split('\t');
  };
  return {
    symbol: (name) => (namesOf(name)[0] === name ? name : undefined),
    resolve: (name) => namesOf(name)[0],
    synonyms: (symbol) => (namesOf(symbol)[0] === symbol ? namesOf(symbol).slice(1) : []),
    count: lines.length,
  };
}

const newline = 0x0a;

/** Whether a byte is the tab or the newline after a name. */
function isSeparator(byte: number | undefined): boolean {
  return byte === 0x09 || byte === newline;
}

/** Whether the name at an offset of `bytes` equals `name[from..to)`. */
function isNameAt(
  bytes: Uint8Array,
  at: number,
  name: Uint8Array,
  from: number,
  to: number,
): boolean {
  for (; from < to; at++, from++) if (bytes[at] !== name[from]) return false;
  return isSeparator(bytes[at]);
}

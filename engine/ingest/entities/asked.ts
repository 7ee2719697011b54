import { humanGenes, type Genes } from './genes.js';

/** The gene table for a query that names entities or is to be explained; undefined for one that does not need it. */
export async function genesAsked(query: unknown): Promise<Genes | undefined> {
  const { entities, explain } = (query ?? {}) as { readonly entities?: unknown; readonly explain?: unknown }; // prettier-ignore
  const isAsked = [entities, explain].some((each) => each !== undefined && each !== null && each !== ''); // prettier-ignore
  return isAsked ? humanGenes() : undefined;
}

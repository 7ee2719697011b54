import { humanGenes, type Genes } from './genes.js';

/** The gene table for a query that names entities; undefined for one that does not need it. */
export async function genesAsked(query: unknown): Promise<Genes | undefined> {
  const entities = (query as { readonly entities?: unknown } | null | undefined)?.entities;
  const isAsked = entities !== undefined && entities !== null && entities !== '';
  return isAsked ? humanGenes() : undefined;
}

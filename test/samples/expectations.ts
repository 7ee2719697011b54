/** How a sample is imported where that is not as usual, and how many records it then has. */
export interface Expectation {
  readonly reader?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Records, where the table counts something else; a text is what the import is refused with. */
  readonly records?: number | string;
  /** The second tool reads something else, for this reason. */
  readonly differs?: string;
}

const banner = 'the comparison knows no header row but the first';
const prefixes = 'xml.etree puts addresses in the place of prefixes';
const noHeader = { params: { header: null } };

/** By path in the folder of samples; what is not here is imported without parameters and has the records of the table. */
export const expectations: Readonly<Record<string, Expectation>> = {
  'csv/smallpop_colon.csv': { params: { delimiter: ':' } },
  'csv/smallpop_no_headers.csv': noHeader,
  'csv/hpo_terms.csv': noHeader,
  'csv/long_sample.csv': noHeader,
  'csv/country_comments.csv': { params: { delimiter: ';' } },
  // Six rows of a banner begin with the mark of comments, and so does the row with the names.
  'tsv/clingen_gene_grch38.tsv': {
    params: { comment: '', header: 5 },
    records: 50,
    differs: banner,
  },
  'tsv/clingen_region_grch37.tsv': {
    params: { comment: '', header: 5 },
    records: 514,
    differs: banner,
  },
  // Backslashes escape nothing (specification, "CSV/TSV parameters"), and this file means them to.
  'csv/imdb_backslash_escapes.csv': { records: 'line 66: 46 cells, but 44 columns' },
  'xml/orphanet_product6.xml': { params: { item_depth: 2 }, records: 6 },
  'xml/nexml_latin1.xml': { differs: prefixes },
  'xml/phyloxml_examples.xml': { differs: prefixes },
  'xml/pubmed_mathml.xml': { differs: prefixes },
  'xml/prolog_namespaces.xml': { differs: prefixes },
};

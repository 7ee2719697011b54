/** The import options of a sample, and the number of its records, where they differ from the default. */
export interface Expectation {
  readonly reader?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Number of records, where it is not the count of the table; or the error message of the import. */
  readonly records?: number | string;
  /** The reason why the other tool reads different records. */
  readonly differs?: string;
}

const banner = 'the comparison supports only the first row as header row';
const prefixes = 'xml.etree replaces prefixes by namespace URIs';
const noHeader = { params: { header: null } };

/** Expectations by path in the folder of samples. Other files are imported without parameters and have the number of records in the table. */
export const expectations: Readonly<Record<string, Expectation>> = {
  'csv/smallpop_colon.csv': { params: { delimiter: ':' } },
  'csv/smallpop_no_headers.csv': noHeader,
  'csv/hpo_terms.csv': noHeader,
  'csv/long_sample.csv': noHeader,
  'csv/country_comments.csv': { params: { delimiter: ';' } },
  // Six rows of a banner begin with `#`, and so does the row with the names.
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
  // This file escapes quotes with backslashes, which have no meaning (specification, "CSV/TSV parameters").
  'csv/imdb_backslash_escapes.csv': {
    records: 100,
    differs: 'cells beyond the header are compared with nothing',
  },
  'xml/orphanet_product6.xml': { params: { item_depth: 2 }, records: 6 },
  'xml/nexml_latin1.xml': { differs: prefixes },
  'xml/phyloxml_examples.xml': { differs: prefixes },
  'xml/pubmed_mathml.xml': { differs: prefixes },
  'xml/prolog_namespaces.xml': { differs: prefixes },
};

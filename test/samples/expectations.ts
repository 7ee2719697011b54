/** The import options of a sample and the number of its records, if they differ from the default. */
export interface Expectation {
  readonly reader?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Number of records, if it differs from the count in the table that lists the samples; or the error message of the import. */
  readonly records?: number | string;
  /** Why the second tool (test/samples/second-reading.py) reads different records from Strandlake. */
  readonly differs?: string;
}

const bannerReason = 'the comparison supports only the first row as header row';
const prefixesReason = 'xml.etree replaces prefixes by namespace URIs';
const noHeader = { params: { header: null } };

/**
 * Expectations by path in the folder of samples. Files that are not listed are imported without parameters and have the number of records
 * that the table of samples says.
 */
export const expectations: Readonly<Record<string, Expectation>> = {
  'csv/smallpop_colon.csv': { params: { delimiter: ':' } },
  'csv/smallpop_no_headers.csv': noHeader,
  'csv/hpo_terms.csv': noHeader,
  'csv/long_sample.csv': noHeader,
  'csv/country_comments.csv': { params: { delimiter: ';' } },
  // Five rows of a banner and the row with the names after them, row 5 counted from 0, begin with `#`.
  'tsv/clingen_gene_grch38.tsv': {
    params: { comment: '', header: 5 },
    records: 50,
    differs: bannerReason,
  },
  'tsv/clingen_region_grch37.tsv': {
    params: { comment: '', header: 5 },
    records: 514,
    differs: bannerReason,
  },
  // This file escapes quotes with backslashes, which have no meaning in CSV (specification, "CSV/TSV parameters").
  'csv/imdb_backslash_escapes.csv': {
    records: 100,
    differs: 'cells beyond the header are compared with nothing',
  },
  'xml/orphanet_product6.xml': { params: { item_depth: 2 }, records: 6 },
  'xml/nexml_latin1.xml': { differs: prefixesReason },
  'xml/phyloxml_examples.xml': { differs: prefixesReason },
  'xml/pubmed_mathml.xml': { differs: prefixesReason },
  'xml/prolog_namespaces.xml': { differs: prefixesReason },
};

import type { Reader } from '../reader.js';
import {
  readFeatureHeader,
  readFeatureParams,
  formatOfText,
  type FeatureHeader,
  type FeatureParams,
} from './gff-header.js';
import { FeatureParser } from './gff-parser.js';
import { FastGff3Attributes } from './fast-attributes.js';
import { parseGff3Attributes } from './gff3-attributes.js';

/** The attributes that by definition may have several values (GFF3 specification, "Column 9: attributes"). */
const listAttributes: ReadonlySet<string> = new Set([
  'Parent',
  'Alias',
  'Note',
  'Dbxref',
  'Ontology_term',
]);

/** The reader of GFF3 and GVF: one record per feature line, up to the sequences after `##FASTA` (contract 10.6). */
export const gff3Reader: Reader<FeatureParams, FeatureHeader> = {
  name: 'gff3',
  extensions: ['gff3', 'gff', 'gvf'],
  recognizes: (start) =>
    /^##(?:gff-version\s+3|gvf-version)/.test(start) || formatOfText(start) === 'gff3',
  parameters: { comment: 'The beginning of comment lines; ## when absent.' },
  params: (input) => readFeatureParams(input, '##'),
  header: (source, params) => readFeatureHeader(source, params, 'gff3'),
  read(chunk, header, params, out, report, options) {
    const dialect = {
      parseAttributes: parseGff3Attributes,
      createFastAttributes: () => new FastGff3Attributes(),
      listAttributes,
      hasEscapes: true,
      hasFasta: true,
    };
    return new FeatureParser(dialect, header, params, out, report, options.columns).read(chunk);
  },
};

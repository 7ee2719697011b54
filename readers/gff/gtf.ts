import type { Reader } from '../reader.js';
import { parseGtfAttributes } from './gtf-attributes.js';
import {
  readFeatureHeader,
  readFeatureParams,
  formatOfText,
  type FeatureHeader,
  type FeatureParams,
} from './gff-header.js';
import { FeatureParser } from './gff-parser.js';
import { FastGtfAttributes } from './fast-attributes.js';

const listAttributes: ReadonlySet<string> = new Set();

/** The reader of GTF, also known as GFF version 2.5: one record per feature line (contract 10.6). */
export const gtfReader: Reader<FeatureParams, FeatureHeader> = {
  name: 'gtf',
  extensions: ['gtf'],
  recognizes: (start) => formatOfText(start) === 'gtf',
  parameters: { comment: 'The beginning of comment lines; # when absent.' },
  params: (input) => readFeatureParams(input, '#'),
  header: (source, params) => readFeatureHeader(source, params, 'gtf'),
  read(chunk, header, params, out, report, options) {
    const dialect = {
      parseAttributes: parseGtfAttributes,
      createFastAttributes: () => new FastGtfAttributes(),
      listAttributes,
      hasEscapes: false,
      hasFasta: false,
    };
    return new FeatureParser(dialect, header, params, out, report, options.columns).read(chunk);
  },
};

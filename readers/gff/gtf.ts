import type { Reader } from '../reader.js';
import { gtfAttributes } from './gtf-attributes.js';
import {
  featureHeader,
  featureParams,
  styleOfText,
  type FeatureHeader,
  type FeatureParams,
} from './gff-header.js';
import { FeatureParser } from './gff-parser.js';
import { FastGtfAttributes } from './fast-attributes.js';

const lists: ReadonlySet<string> = new Set();

/** GTF, also known as GFF version 2.5: one record per feature line (contract 10.6). */
export const gtf: Reader<FeatureParams, FeatureHeader> = {
  name: 'gtf',
  extensions: ['gtf'],
  recognizes: (start) => styleOfText(start) === 'gtf',
  parameters: { comment: 'The beginning of comment lines; # when absent.' },
  params: (input) => featureParams(input, '#'),
  header: (head, params) => featureHeader(head, params, 'gtf'),
  read(chunk, header, params, out, report, options) {
    const dialect = {
      attributes: gtfAttributes,
      fastAttributes: () => new FastGtfAttributes(),
      lists,
      hasEscapes: false,
      hasFasta: false,
    };
    return new FeatureParser(dialect, header, params, out, report, options.columns).read(chunk);
  },
};

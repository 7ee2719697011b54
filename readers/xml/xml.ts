import type { Reader } from '../reader.js';
import { XmlSplitter } from './xml-splitter.js';
import { readXmlHeaderer, type XmlHeader } from './xml-header.js';
import { xmlParameters, xmlParams, type XmlParams } from './xml-params.js';
import { readXml } from './read-chunk.js';

/**
 * XML: each element at `item_depth` is a record (contract 10.6).
 *
 * Choice: all elements at that depth are records, whatever their names; an element of text alone has it under `cdata_key`, an
 * empty one is a record without values. What the elements around them have of their own is left out.
 */
export const xml: Reader<XmlParams, XmlHeader> = {
  name: 'xml',
  extensions: ['xml'],
  recognizes: (start) =>
    /^\s*<(?:\?xml\s|!--|!DOCTYPE\s|[A-Za-z_][\w.:-]*[\s>/])/.test(start) &&
    !/<(?:!doctype\s+html|html)[\s>]/i.test(start),
  parameters: xmlParameters,
  params: xmlParams,
  async header(source) {
    const head = await readXmlHeaderer(source);
    return {
      header: head,
      bodyOffset: head.bodyOffset,
      bodyLine: head.bodyLine,
      fields: [],
      genomeBuild: null,
      warnings: head.root === null ? ['the file is empty'] : [],
      ...(head.root !== null && {
        unended: `the file ends before </${head.root}>: it was cut off`,
      }),
    };
  },
  splitter: (head, params) => new XmlSplitter(params.itemDepth, head.encoding, head.column),
  usesHints: true,
  read: readXml,
};

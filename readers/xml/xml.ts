import type { Reader } from '../reader.js';
import { XmlSplitter } from './xml-splitter.js';
import { readXmlHeader, type XmlHeader } from './xml-header.js';
import { xmlParameterDescriptions, parseXmlParams, type XmlParams } from './xml-params.js';
import { readXml } from './read-xml-chunk.js';

/**
 * XML: each element at `item_depth` is a record (contract 10.6).
 *
 * Choice: all elements at that depth that have the `required_keys` are records, whatever their names. The text of a record, and of another
 * element with attributes or children, is stored under `cdata_key`. An empty element is a record without values. Attributes and texts of
 * the elements around the records are not stored.
 */
export const xmlReader: Reader<XmlParams, XmlHeader> = {
  name: 'xml',
  extensions: ['xml'],
  recognizes: (start) =>
    /^\s*<(?:\?xml\s|!--|!DOCTYPE\s|[A-Za-z_][\w.:-]*[\s>/])/.test(start) &&
    !/<(?:!doctype\s+html|html)[\s>]/i.test(start),
  parameters: xmlParameterDescriptions,
  params: parseXmlParams,
  async header(source) {
    const head = await readXmlHeader(source);
    return {
      header: head,
      bodyOffset: head.bodyOffset,
      bodyLine: head.bodyLine,
      fields: [],
      genomeBuild: null,
      warnings: head.root === null ? ['the file is empty'] : [],
      ...(head.root !== null && {
        missingEndMessage: `the file ends before </${head.root}>: it was cut off`,
      }),
    };
  },
  splitter: (head, params) => new XmlSplitter(params.itemDepth, head.encoding, head.column),
  usesHints: true,
  read: readXml,
};

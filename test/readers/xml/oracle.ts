import { XMLParser } from 'fast-xml-parser';
import type { Columns, Row, Value } from '../../../engine/core/types.js';
import { castRecord } from '../records.js';

/** A node in the form that fast-xml-parser uses with the order preserved: `{ name: children, ':@': attributes }` or `{ '#text': text }`. */
type ParsedNode = Record<string, unknown>;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  trimValues: false,
  parseTagValue: false,
  parseAttributeValue: false,
  htmlEntities: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
});

/** Returns the records at a depth, parsed by fast-xml-parser and converted by the rules of the contract in the simplest way. */
export function parseRecordsByFastXmlParser(text: string, depth: number): Row[] {
  let nodes = parser.parse(text) as ParsedNode[];
  for (let level = 0; level < depth; level++) nodes = nodes.flatMap(childNodes);
  return nodes
    .filter((node) => nameOf(node) !== '#text')
    .map((node) => {
      const value = valueOfNode(node);
      if (value === null) return {};
      return typeof value === 'string' ? { text: value } : (value as Row);
    });
}

function nameOf(node: ParsedNode): string {
  return Object.keys(node).find((key) => key !== ':@')!;
}

function childNodes(node: ParsedNode): ParsedNode[] {
  const name = nameOf(node);
  return name === '#text' ? [] : (node[name] as ParsedNode[]);
}

function valueOfNode(node: ParsedNode): Value {
  const entries: [string, Value][] = [];
  for (const [name, value] of Object.entries(node[':@'] ?? {})) entries.push([`@${name}`, value]);
  let text = '';
  for (const child of childNodes(node)) {
    const name = nameOf(child);
    if (name === '#text') text += String(child[name]);
    else entries.push([name, valueOfNode(child)]);
  }
  text = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
  if (entries.length === 0) return text === '' ? null : text;
  if (text !== '') entries.push(['text', text]);
  const object: Record<string, Value> = {};
  for (const name of new Set(entries.map(([key]) => key))) {
    const values = entries.filter(([key]) => key === name).map(([, value]) => value);
    object[name] = values.length === 1 ? values[0]! : values;
  }
  return object;
}

/** Returns the records of the oracle as a dataset with the given columns shows them. */
export function castToColumns(records: readonly Row[], columns: Columns): Row[] {
  return records.map((record) => castRecord(record, columns));
}

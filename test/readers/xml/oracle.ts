import { XMLParser } from 'fast-xml-parser';
import type { Columns, Row, Value } from '../../../engine/core/types.js';
import { castRecord } from '../records.js';

/** A node as fast-xml-parser keeps the order: `{ name: children, ':@': attributes }` or `{ '#text': text }`. */
type Node = Record<string, unknown>;

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

/** The records at a depth, by fast-xml-parser and the rules of the contract, the slow way. */
export function recordsByOracle(text: string, depth: number): Row[] {
  let nodes = parser.parse(text) as Node[];
  for (let level = 0; level < depth; level++) nodes = nodes.flatMap(children);
  return nodes
    .filter((node) => nameOf(node) !== '#text')
    .map((node) => {
      const value = valueOf(node);
      if (value === null) return {};
      return typeof value === 'string' ? { text: value } : (value as Row);
    });
}

function nameOf(node: Node): string {
  return Object.keys(node).find((key) => key !== ':@')!;
}

function children(node: Node): Node[] {
  const name = nameOf(node);
  return name === '#text' ? [] : (node[name] as Node[]);
}

function valueOf(node: Node): Value {
  const entries: [string, Value][] = [];
  for (const [name, value] of Object.entries(node[':@'] ?? {})) entries.push([`@${name}`, value]);
  let text = '';
  for (const child of children(node)) {
    const name = nameOf(child);
    if (name === '#text') text += String(child[name]);
    else entries.push([name, valueOf(child)]);
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

/** The expected records in the form in which a dataset of these columns shows them. */
export function asShown(records: readonly Row[], columns: Columns): Row[] {
  return records.map((record) => castRecord(record, columns));
}

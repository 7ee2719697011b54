import { childrenOf } from '../syntax/children.js';
import type { SyntaxNode } from '../syntax/tree.js';
import { methodOfType } from '../methods/tables.js';

/** The fields of the record that an expression reads: their names, or `all` if it uses the record in another way. */
export type FieldsRead = readonly string[] | 'all';

/**
 * Finds the top-level fields of the record that an expression reads: `record.x`, `record['x']` and `get(record, 'x.y')`. A comprehension
 * or lambda may use the name `record` for something else; that counts as a use of the whole record.
 */
export function fieldsRead(root: SyntaxNode): FieldsRead {
  const names = new Set<string>();
  const open: SyntaxNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'name' && node.name === 'record') return 'all';
    const name = fieldOf(node);
    if (name !== undefined) {
      names.add(name);
      if (node.kind === 'call') for (const { value } of node.args.slice(1)) open.push(value);
      continue;
    }
    for (const child of childrenOf(node)) open.push(child);
  }
  return Array.from(names);
}

function isRecord(node: SyntaxNode | undefined): boolean {
  return node?.kind === 'name' && node.name === 'record';
}

/** The field that a node reads of the record. */
function fieldOf(node: SyntaxNode): string | undefined {
  if (node.kind === 'attribute' && isRecord(node.object))
    return methodOfType('dict', node.name) === undefined ? node.name : undefined;
  if (node.kind === 'subscript' && isRecord(node.object))
    return node.index.kind === 'constant' && typeof node.index.value === 'string'
      ? node.index.value
      : undefined;
  return pathField(node);
}

/** The first key of `get(record, 'a.b')`. */
export function pathField(node: SyntaxNode): string | undefined {
  if (node.kind !== 'call' || node.callee.kind !== 'name' || node.callee.name !== 'get')
    return undefined;
  const [object, path] = node.args;
  const isPath =
    object?.kind === 'positional' &&
    isRecord(object.value) &&
    path?.kind === 'positional' &&
    path.value.kind === 'constant' &&
    node.args.every(({ kind }) => kind === 'positional');
  if (!isPath || path.value.kind !== 'constant') return undefined;
  const { value } = path.value;
  return typeof value === 'string' && /^[A-Za-z_]\w*(\.|$)/.test(value)
    ? value.slice(0, value.indexOf('.') < 0 ? undefined : value.indexOf('.'))
    : undefined;
}

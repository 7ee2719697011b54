import { childrenOf } from '../syntax/children.js';
import type { SyntaxNode } from '../syntax/syntax-tree.js';
import { methodOfType } from '../methods/tables.js';

/** The names that lead from the record to a value: a field, then members of objects. */
export type MemberPath = readonly string[];

/** How an expression uses the record. */
interface RecordUsage {
  /** The paths of the record that the expression reads; no path begins with another one. */
  readonly paths: readonly MemberPath[];
  /** Whether the expression also uses the record as a whole. */
  readonly isWhole: boolean;
}

/**
 * Finds what an expression reads of the record by attributes, constant keys and `get`: `record.x.y`, `record['x']['y']`,
 * `record.get('x')`, `record.x.get('y')`, `get(record, 'x.y')` and mixtures of them. If a comprehension or lambda uses the name `record`
 * for something else, fields are loaded needlessly.
 */
export function findRecordUsage(root: SyntaxNode): RecordUsage {
  const paths = new Map<string, MemberPath>();
  let isWhole = false;
  const open: SyntaxNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    isWhole ||= isRecord(node);
    const path = readPathOf(node);
    if (path !== undefined) {
      paths.set(pathKey(path), path);
      if (node.kind === 'call') for (const { value } of node.args.slice(1)) open.push(value);
    } else if (node.kind === 'call' && node.callee.kind === 'attribute') {
      // The name of a method is not a member of the value on which it is called.
      open.push(node.callee.object, ...node.args.map(({ value }) => value));
    } else for (const child of childrenOf(node)) open.push(child);
  }
  const isNamed = (path: MemberPath): boolean => paths.has(pathKey(path));
  const outermostPaths = Array.from(paths.values()).filter(
    (path) => !path.some((_, i) => i > 0 && isNamed(path.slice(0, i))),
  );
  return { paths: outermostPaths, isWhole };
}

/** Returns a text that is different for different paths. */
export function pathKey(path: MemberPath): string {
  return path.join('\0');
}

/** Returns the path that a node reads, which may end with a call of `get`; undefined for other nodes. */
export function readPathOf(node: SyntaxNode): MemberPath | undefined {
  return node.kind === 'call' ? (getPath(node) ?? methodPath(node)) : memberChainPath(node);
}

/**
 * Returns the path whose value a node returns in records that have one there; undefined if there is none, and for a call of the function
 * `get`, because its path may be longer than the part that `getPath` returns.
 */
export function memberPathOf(node: SyntaxNode): MemberPath | undefined {
  return node.kind === 'call' ? methodPath(node) : memberChainPath(node);
}

/** Returns the path that attributes and constant keys form. */
function memberChainPath(node: SyntaxNode): MemberPath | undefined {
  const reversedKeys: string[] = [];
  let at = node;
  for (; at.kind === 'attribute' || at.kind === 'subscript'; at = at.object) {
    const name = at.kind === 'attribute' ? attributeName(at) : constantTextOf(at.index);
    if (name === undefined) return undefined;
    reversedKeys.push(name);
  }
  return isRecord(at) && reversedKeys.length > 0 ? reversedKeys.toReversed() : undefined;
}

function attributeName({ name }: SyntaxNode & { readonly kind: 'attribute' }): string | undefined {
  return methodOfType('dict', name) === undefined ? name : undefined;
}

/** Returns a constant text; undefined for other nodes, and for a text with U+0000, which is left to the general code. */
function constantTextOf(node: SyntaxNode | undefined): string | undefined {
  const value = node?.kind === 'constant' ? node.value : undefined;
  return typeof value === 'string' && !value.includes('\0') ? value : undefined;
}

function isRecord(node: SyntaxNode | undefined): boolean {
  return node?.kind === 'name' && node.name === 'record';
}

/** Returns the path of `record.get('a')` or `record.a.get('b')`, with a constant as default value or none; undefined for other calls. */
function methodPath({
  callee,
  args,
}: SyntaxNode & { readonly kind: 'call' }): MemberPath | undefined {
  if (callee.kind !== 'attribute' || callee.name !== 'get') return undefined;
  const [key, otherwise] = args;
  const name = key?.kind === 'positional' ? constantTextOf(key.value) : undefined;
  const isPlain =
    otherwise === undefined ||
    (otherwise.kind === 'positional' && otherwise.value.kind === 'constant' && args.length === 2);
  if (name === undefined || !isPlain) return undefined;
  const object = isRecord(callee.object) ? [] : memberChainPath(callee.object);
  return object && [...object, name];
}

/** Returns the first keys of `get(record, 'a.b')`, as long as they are names. */
export function getPath(node: SyntaxNode): MemberPath | undefined {
  if (node.kind !== 'call' || node.callee.kind !== 'name' || node.callee.name !== 'get')
    return undefined;
  const [object, path] = node.args;
  const isPath =
    object?.kind === 'positional' &&
    isRecord(object.value) &&
    path?.kind === 'positional' &&
    node.args.every(({ kind }) => kind === 'positional');
  const text = isPath ? constantTextOf(path.value) : undefined;
  if (text === undefined) return undefined;
  const memberNames = /^(?:[A-Za-z_]\w*(?:\.(?=[A-Za-z_]\w*(?:[.[]|$))|(?=[.[]|$)))+/
    .exec(text)?.[0]
    .split('.');
  return memberNames;
}

import { childrenOf } from '../syntax/children.js';
import type { SyntaxNode } from '../syntax/tree.js';
import { methodOfType } from '../methods/tables.js';

/** The names that lead from the record to a value: a field, then members of objects. */
export type MemberPath = readonly string[];

/** How an expression uses the record. */
export interface RecordUse {
  /** The paths that it names, none of which begins with another one. */
  readonly paths: readonly MemberPath[];
  /** Whether the expression also uses the record as a whole. */
  readonly isWhole: boolean;
}

/**
 * Finds what an expression reads of the record: `record.x.y`, `record['x']['y']`, `record.x.get('y')` and `get(record, 'x.y')`. A
 * comprehension or lambda may use the name `record` for something else; the field is read for nothing then.
 */
export function recordUse(root: SyntaxNode): RecordUse {
  const paths = new Map<string, MemberPath>();
  let isWhole = false;
  const open: SyntaxNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    isWhole ||= isRecord(node);
    const path = pathOf(node);
    if (path !== undefined) {
      paths.set(pathKey(path), path);
      if (node.kind === 'call') for (const { value } of node.args.slice(1)) open.push(value);
    } else if (node.kind === 'call' && node.callee.kind === 'attribute') {
      // A method is no member of the value that it is called on.
      open.push(node.callee.object, ...node.args.map(({ value }) => value));
    } else for (const child of childrenOf(node)) open.push(child);
  }
  const isNamed = (path: MemberPath): boolean => paths.has(pathKey(path));
  const outermostPaths = Array.from(paths.values()).filter(
    (path) => !path.some((_, i) => i > 0 && isNamed(path.slice(0, i))),
  );
  return { paths: outermostPaths, isWhole };
}

/** A text that only this path has. */
export function pathKey(path: MemberPath): string {
  return path.join('\0');
}

/** The path that a node reads, which may end with a call of `get`; undefined for other nodes. */
export function pathOf(node: SyntaxNode): MemberPath | undefined {
  return node.kind === 'call' ? (getPath(node) ?? methodPath(node)) : chainPath(node);
}

/** The path whose value a node is, where there is one; undefined also for a call of the function `get`, which may go on behind it. */
export function memberPathOf(node: SyntaxNode): MemberPath | undefined {
  return node.kind === 'call' ? methodPath(node) : chainPath(node);
}

/** The path of attributes and constant keys. */
function chainPath(node: SyntaxNode): MemberPath | undefined {
  const reversedKeys: string[] = [];
  let at = node;
  for (; at.kind === 'attribute' || at.kind === 'subscript'; at = at.object) {
    const name = at.kind === 'attribute' ? attributeName(at) : textOf(at.index);
    if (name === undefined) return undefined;
    reversedKeys.push(name);
  }
  return isRecord(at) && reversedKeys.length > 0 ? reversedKeys.toReversed() : undefined;
}

function attributeName({ name }: SyntaxNode & { readonly kind: 'attribute' }): string | undefined {
  return methodOfType('dict', name) === undefined ? name : undefined;
}

/** A constant text; those with a zero byte are left to the general way. */
function textOf(node: SyntaxNode | undefined): string | undefined {
  const value = node?.kind === 'constant' ? node.value : undefined;
  return typeof value === 'string' && !value.includes('\0') ? value : undefined;
}

function isRecord(node: SyntaxNode | undefined): boolean {
  return node?.kind === 'name' && node.name === 'record';
}

/** The path of `record.a.get('b')`, whose default value, if there is one, is a constant. */
function methodPath({
  callee,
  args,
}: SyntaxNode & { readonly kind: 'call' }): MemberPath | undefined {
  if (callee.kind !== 'attribute' || callee.name !== 'get') return undefined;
  const [key, otherwise] = args;
  const name = key?.kind === 'positional' ? textOf(key.value) : undefined;
  const isPlain =
    otherwise === undefined ||
    (otherwise.kind === 'positional' && otherwise.value.kind === 'constant' && args.length === 2);
  if (name === undefined || !isPlain) return undefined;
  const object = isRecord(callee.object) ? [] : chainPath(callee.object);
  return object && [...object, name];
}

/** The first keys of `get(record, 'a.b')`, as far as they are names. */
export function getPath(node: SyntaxNode): MemberPath | undefined {
  if (node.kind !== 'call' || node.callee.kind !== 'name' || node.callee.name !== 'get')
    return undefined;
  const [object, path] = node.args;
  const isPath =
    object?.kind === 'positional' &&
    isRecord(object.value) &&
    path?.kind === 'positional' &&
    node.args.every(({ kind }) => kind === 'positional');
  const text = isPath ? textOf(path.value) : undefined;
  if (text === undefined) return undefined;
  const memberNames = /^(?:[A-Za-z_]\w*(?:\.(?=[A-Za-z_]\w*(?:[.[]|$))|(?=[.[]|$)))+/
    .exec(text)?.[0]
    .split('.');
  return memberNames;
}

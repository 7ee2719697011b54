import { libraryDeclarations } from '../library/library-declarations.js';
import { libraryFunctionByName } from '../library/library.js';
import { childrenOf } from '../syntax/children.js';
import type { SyntaxNode } from '../syntax/syntax-tree.js';
import { memberPathOf, type MemberPath } from './record-fields.js';

/** Methods that change a list, a set or a dict. */
const mutatingMethods: ReadonlySet<string> = new Set(
  'add append clear discard extend insert pop popitem remove reverse setdefault sort update'.split(
    ' ',
  ),
);

/** Functions of the library whose result depends only on their arguments. */
const pureFunctions: ReadonlySet<string> = new Set(
  'get coerce_list concat split findall search search_groups sub error datetime_format explode melt tabulate entity_ids normalize_variant normalize_aa_change'.split(
    ' ',
  ),
);

/**
 * Whether an expression is known to have the same result whenever it reads the same values, and to change no value that it reads: it names
 * no method that changes values, and no function of the library but pure ones.
 */
export function isRepeatable(root: SyntaxNode): boolean {
  return everyNode(root, (node) => {
    if (node.kind === 'attribute') return !mutatingMethods.has(node.name);
    if (node.kind !== 'name') return true;
    return pureFunctions.has(node.name) || !libraryFunctionByName.has(node.name);
  });
}

const datasetFunctions: ReadonlySet<string> = new Set(
  libraryDeclarations
    .filter(({ kind }) => kind === 'dataset')
    .map(({ signature }) => signature.slice(0, signature.indexOf('('))),
);

/** Returns how often an expression names a dataset function: the number of its calls, unless it uses such a name in another way. */
export function countDatasetCalls(root: SyntaxNode): number {
  let callCount = 0;
  everyNode(root, (node) => {
    if (node.kind === 'name' && datasetFunctions.has(node.name)) callCount += 1;
    return true;
  });
  return callCount;
}

/** Whether an expression as a whole is a call of a dataset function, whatever its arguments are. */
export function isDatasetCall(root: SyntaxNode): boolean {
  if (root.kind !== 'call') return false;
  const { callee } = root;
  return callee.kind === 'name' && datasetFunctions.has(callee.name);
}

/**
 * Returns the path of the only value of the record in the arguments of the only call of a dataset function. It is defined if every
 * evaluation that does not fail before makes this call, the value is passed unchanged, alone or in lists or tuples, and these and the other
 * arguments contain nothing else but constants and names; otherwise undefined.
 */
export function findCallArgumentPath(root: SyntaxNode): MemberPath | undefined {
  const call = countDatasetCalls(root) === 1 ? unconditionalDatasetCall(root) : undefined;
  if (call?.kind !== 'call') return undefined;
  const paths: MemberPath[] = [];
  const open: SyntaxNode[] = [];
  for (const { kind, value } of call.args) {
    if (kind !== 'positional' && kind !== 'keyword') return undefined;
    open.push(value);
  }
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const path = memberPathOf(node);
    if (path !== undefined) paths.push(path);
    else if (node.kind === 'list' || node.kind === 'tuple') {
      if (node.items.some(({ isUnpacked }) => isUnpacked)) return undefined;
      open.push(...node.items.map(({ value }) => value));
    } else if (node.kind !== 'constant' && (node.kind !== 'name' || node.name === 'record'))
      return undefined;
  }
  return paths.length === 1 ? paths[0] : undefined;
}

/** Returns a call of a dataset function that every evaluation makes, unless it fails before. */
function unconditionalDatasetCall(node: SyntaxNode): SyntaxNode | undefined {
  if (isDatasetCall(node)) return node;
  for (const child of unconditionalChildren(node)) {
    const call = unconditionalDatasetCall(child);
    if (call !== undefined) return call;
  }
  return undefined;
}

/** Returns child nodes that are evaluated whenever the node is: no conditional ones, and none of a comprehension or lambda. */
function unconditionalChildren(node: SyntaxNode): readonly SyntaxNode[] {
  const children = childrenOf(node);
  switch (node.kind) {
    case 'comprehension':
    case 'lambda':
      return [];
    case 'and':
    case 'or':
    case 'conditional':
      return children.slice(0, 1);
    case 'comparison':
      return children.slice(0, 2);
    default:
      return children;
  }
}

/** Whether an expression is known to change no value: it neither names a method that changes one nor uses the function `annotate`. */
export function hasNoSideEffects(root: SyntaxNode): boolean {
  return everyNode(root, (node) =>
    node.kind === 'attribute' ? !mutatingMethods.has(node.name) : !isName(node, 'annotate'),
  );
}

function isName(node: SyntaxNode, name: string): boolean {
  return node.kind === 'name' && node.name === name;
}

/** Whether a name occurs in an expression, with any meaning. */
export function usesName(root: SyntaxNode, name: string): boolean {
  return !everyNode(root, (node) => !isName(node, name));
}

function everyNode(root: SyntaxNode, test: (node: SyntaxNode) => boolean): boolean {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!test(node)) return false;
    open.push(...childrenOf(node));
  }
  return true;
}

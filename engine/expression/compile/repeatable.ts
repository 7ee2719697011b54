import { declarations } from '../library/declarations.js';
import { libraryFunctions } from '../library/library.js';
import { childrenOf } from '../syntax/children.js';
import type { SyntaxNode } from '../syntax/tree.js';
import { memberPathOf, type MemberPath } from './record-fields.js';

/** Methods that change a list, a set or an object. */
const changingMethods: ReadonlySet<string> = new Set(
  'add append clear discard extend insert pop popitem remove reverse setdefault sort update'.split(
    ' ',
  ),
);

/** Functions of the library whose result depends on their arguments alone. */
const pureFunctions: ReadonlySet<string> = new Set(
  'get coerce_list concat split findall search search_groups sub error datetime_format explode melt tabulate'.split(
    ' ',
  ),
);

/** Whether an expression has the same result whenever it reads the same values, and changes no value that it reads. */
export function isRepeatable(root: SyntaxNode): boolean {
  return everyNode(root, (node) => {
    if (node.kind === 'attribute') return !changingMethods.has(node.name);
    if (node.kind !== 'name') return true;
    return pureFunctions.has(node.name) || !libraryFunctions.has(node.name);
  });
}

const datasetFunctions: ReadonlySet<string> = new Set(
  declarations
    .filter(({ kind }) => kind === 'dataset')
    .map(({ signature }) => signature.slice(0, signature.indexOf('('))),
);

/** The number of calls of dataset functions in an expression. */
export function datasetCalls(root: SyntaxNode): number {
  let calls = 0;
  everyNode(root, (node) => {
    if (node.kind === 'name' && datasetFunctions.has(node.name)) calls += 1;
    return true;
  });
  return calls;
}

/** Whether an expression is nothing but a call of a function of datasets. */
export function isDatasetCall(root: SyntaxNode): boolean {
  if (root.kind !== 'call') return false;
  const { callee } = root;
  return callee.kind === 'name' && datasetFunctions.has(callee.name);
}

/**
 * The path of the only value of the record in the arguments of the only call of a function of datasets, if every evaluation makes this call,
 * the value stands there as it is, alone or in lists, and the other arguments are constants or variables. Undefined for other expressions.
 */
export function calledPath(root: SyntaxNode): MemberPath | undefined {
  const call = datasetCalls(root) === 1 ? certainCall(root) : undefined;
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

/** A call of a function of datasets that every evaluation makes, unless it fails before. */
function certainCall(node: SyntaxNode): SyntaxNode | undefined {
  if (isDatasetCall(node)) return node;
  for (const child of certainChildren(node)) {
    const call = certainCall(child);
    if (call !== undefined) return call;
  }
  return undefined;
}

/** The child nodes that are evaluated whenever the node is; conditional children are left out. */
function certainChildren(node: SyntaxNode): readonly SyntaxNode[] {
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

/** Whether an expression leaves all values as they are: it calls no method that changes one, and no template. */
export function changesNothing(root: SyntaxNode): boolean {
  return everyNode(root, (node) =>
    node.kind === 'attribute' ? !changingMethods.has(node.name) : !isName(node, 'annotate'),
  );
}

function isName(node: SyntaxNode, name: string): boolean {
  return node.kind === 'name' && node.name === name;
}

/** Whether a name occurs in an expression, in whatever meaning. */
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

import { libraryFunctions } from '../library/library.js';
import { childrenOf } from '../syntax/children.js';
import type { SyntaxNode } from '../syntax/tree.js';

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

/** Whether an expression gives the same result for the same values of what it reads, and changes none of them. */
export function isRepeatable(root: SyntaxNode): boolean {
  return everyNode(root, (node) => {
    if (node.kind === 'attribute') return !changingMethods.has(node.name);
    if (node.kind !== 'name') return true;
    return pureFunctions.has(node.name) || !libraryFunctions.has(node.name);
  });
}

/** Whether a name occurs in an expression, whatever it means there. */
export function usesName(root: SyntaxNode, name: string): boolean {
  return !everyNode(root, (node) => node.kind !== 'name' || node.name !== name);
}

function everyNode(root: SyntaxNode, test: (node: SyntaxNode) => boolean): boolean {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!test(node)) return false;
    open.push(...childrenOf(node));
  }
  return true;
}

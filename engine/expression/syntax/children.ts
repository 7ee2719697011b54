import type { SyntaxNode, TemplatePart } from './syntax-tree.js';

/** Returns the direct children of a node in the order of their evaluation; the arguments of a call are in the order of the source. */
export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  switch (node.kind) {
    case 'constant':
    case 'name':
      return [];
    case 'template':
      return templateFieldNodes(node.parts);
    case 'list':
    case 'tuple':
    case 'set':
      return node.items.map((item) => item.value);
    case 'dict':
      return node.items.flatMap(({ key, value }) => (key ? [key, value] : [value]));
    case 'unary':
      return [node.operand];
    case 'binary':
      return [node.left, node.right];
    case 'and':
    case 'or':
      return node.operands;
    case 'comparison':
      return [node.first].concat(node.rest.map(({ operand }) => operand));
    case 'conditional':
      return [node.test, node.value, node.otherwise];
    case 'comprehension': {
      const clauses = node.clauses.flatMap(({ iterable, conditions }) =>
        [iterable].concat(conditions),
      );
      return clauses.concat(node.key ? [node.key, node.element] : [node.element]);
    }
    case 'lambda':
      return node.parameters
        .flatMap(({ defaultValue }) => (defaultValue ? [defaultValue] : []))
        .concat([node.body]);
    case 'call':
      return [node.callee].concat(node.args.map(({ value }) => value));
    case 'subscript':
      return [node.object, node.index];
    case 'slice':
      return [node.start, node.stop, node.step].filter((part) => part !== undefined);
    case 'attribute':
      return [node.object];
  }
}

function templateFieldNodes(parts: readonly TemplatePart[]): SyntaxNode[] {
  return parts.flatMap((part) =>
    part.kind === 'text' ? [] : [part.value].concat(templateFieldNodes(part.spec)),
  );
}

/**
 * Returns the maximum number of nodes that run each time a node runs. Nodes inside comprehensions, except the first iterable, and in bodies
 * of lambdas are counted when these run.
 */
export function stepCostOf(node: SyntaxNode): number {
  let cost = 0;
  const open = [node];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    cost += 1;
    const children = next.kind === 'comprehension' ? [next.clauses[0]!.iterable] : childrenOf(next);
    for (const child of children)
      if (next.kind !== 'lambda' || child !== next.body) open.push(child);
  }
  return cost;
}

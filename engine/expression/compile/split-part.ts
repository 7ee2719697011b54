import { getAttribute } from '../methods/get-attribute.js';
import { subscript } from '../operators/subscript.js';
import type { SyntaxNode } from '../syntax/syntax-tree.js';
import { callValue } from '../values/call.js';
import { indexError } from '../values/expression-errors.js';
import type { CompiledNode } from '../values/python-values.js';
import type { NodeCompiler, NameScope } from './scope.js';

/**
 * Compiles `text.split('separator')[index]` with constants. For a text, the code creates no list: it finds the part, and charges what the
 * list would have cost. Returns undefined for other nodes, and if the positions of errors are added.
 */
export function compileSplitPart(
  compiler: NodeCompiler,
  { object, index }: SyntaxNode & { readonly kind: 'subscript' },
  scope: NameScope,
): CompiledNode | undefined {
  const at = compiler.addsPositions ? undefined : constantIndex(index);
  if (object.kind !== 'call' || object.callee.kind !== 'attribute' || at === undefined)
    return undefined;
  const { callee, args } = object;
  const [argument] = args;
  const isPlain = args.length === 1 && argument!.kind === 'positional';
  const separator =
    isPlain && argument!.value.kind === 'constant' ? argument!.value.value : undefined;
  if (callee.name !== 'split' || typeof separator !== 'string' || separator === '')
    return undefined;
  const { state } = compiler;
  const text = compiler.compile(callee.object, scope);
  return (frame) => {
    const value = text(frame);
    if (typeof value !== 'string')
      return subscript(state, callValue(state, getAttribute(value, 'split'), [separator]), at);
    const { budget } = state;
    budget.chargeText(value.length);
    budget.chargeSearch(value.length, separator.length);
    const count = countSeparators(value, separator) + 1;
    budget.chargeElements(count);
    const part = at < 0 ? at + count : at;
    if (part < 0 || part >= count) throw indexError('list index out of range');
    return partAt(value, separator, part);
  };
}

function constantIndex(node: SyntaxNode): number | undefined {
  const isNegative = node.kind === 'unary' && node.operator === '-';
  const constant = isNegative ? node.operand : node;
  const value = constant.kind === 'constant' ? constant.value : undefined;
  if (typeof value !== 'number') return undefined;
  return isNegative ? 0 - value : value;
}

function countSeparators(text: string, separator: string): number {
  let count = 0;
  if (separator.length === 1 && text.length < 200) {
    const code = separator.charCodeAt(0);
    // A loop is faster for short texts than a search for each occurrence.
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) === code) count += 1;
    return count;
  }
  for (let i = text.indexOf(separator); i >= 0; i = text.indexOf(separator, i + separator.length))
    count += 1;
  return count;
}

/** Returns part number `part` of a text, counted from 0; the text must have that part. */
function partAt(text: string, separator: string, part: number): string {
  let from = 0;
  for (let i = 0; i < part; i++) from = text.indexOf(separator, from) + separator.length;
  const end = text.indexOf(separator, from);
  return text.slice(from, end < 0 ? text.length : end);
}

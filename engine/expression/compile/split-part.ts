import { getAttribute } from '../operators/attributes.js';
import { subscript } from '../operators/subscript.js';
import type { SyntaxNode } from '../syntax/tree.js';
import { callValue } from '../values/call.js';
import { indexError } from '../values/errors.js';
import type { Code } from '../values/values.js';
import type { NodeCompiler, NameScope } from './scope.js';

/**
 * Compiles `text.split('separator')[index]` of constants, which makes no list: it finds the part, and counts what the list would have cost.
 * Undefined for other nodes.
 */
export function compileSplitPart(
  compiler: NodeCompiler,
  { object, index }: SyntaxNode & { readonly kind: 'subscript' },
  scope: NameScope,
): Code | undefined {
  const at = compiler.locates ? undefined : constantIndex(index);
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
    budget.text(value.length);
    budget.search(value.length, separator.length);
    const count = countOf(value, separator) + 1;
    budget.elements(count);
    const part = at < 0 ? at + count : at;
    if (part < 0 || part >= count) throw indexError('list index out of range');
    return partOf(value, separator, part);
  };
}

function constantIndex(node: SyntaxNode): number | undefined {
  const isNegative = node.kind === 'unary' && node.operator === '-';
  const constant = isNegative ? node.operand : node;
  const value = constant.kind === 'constant' ? constant.value : undefined;
  if (typeof value !== 'number') return undefined;
  return isNegative ? 0 - value : value;
}

function countOf(text: string, separator: string): number {
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

/** Part number `part` of a text that has at least that many. */
function partOf(text: string, separator: string, part: number): string {
  let from = 0;
  for (let i = 0; i < part; i++) from = text.indexOf(separator, from) + separator.length;
  const end = text.indexOf(separator, from);
  return text.slice(from, end < 0 ? text.length : end);
}

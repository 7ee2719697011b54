import type { SyntaxNode } from '../syntax/syntax-tree.js';
import type { CompiledNode } from '../values/python-values.js';
import { compileAttribute, compileSubscript } from './compile-access.js';
import { compileCall } from './calls.js';
import { compileComprehension } from './comprehensions.js';
import {
  compileDict,
  compileDisplay,
  compileLambda,
  compileSlice,
  compileTemplate,
} from './displays.js';
import { compileName } from './compile-name.js';
import {
  compileBinary,
  compileComparison,
  compileConditional,
  compileAndOr,
  compileUnary,
} from './operators.js';
import type { NodeCompiler, NameScope } from './scope.js';

/** Compiles a node to a closure that does not add the position of the node to errors; `NodeCompiler.compile` adds it. */
export function compileNode(
  compiler: NodeCompiler,
  node: SyntaxNode,
  scope: NameScope,
): CompiledNode {
  switch (node.kind) {
    case 'constant': {
      const { value } = node;
      return () => value;
    }
    case 'name':
      return compileName(compiler, node.name, scope);
    case 'template':
      return compileTemplate(compiler, node.parts, scope);
    case 'list':
    case 'tuple':
    case 'set':
      return compileDisplay(compiler, node, scope);
    case 'dict':
      return compileDict(compiler, node.items, scope);
    case 'unary':
      return compileUnary(compiler, node, scope);
    case 'binary':
      return compileBinary(compiler, node, scope);
    case 'and':
    case 'or':
      return compileAndOr(compiler, node, scope);
    case 'comparison':
      return compileComparison(compiler, node, scope);
    case 'conditional':
      return compileConditional(compiler, node, scope);
    case 'comprehension':
      return compileComprehension(compiler, node, scope);
    case 'lambda':
      return compileLambda(compiler, node, scope);
    case 'call':
      return compileCall(compiler, node, scope);
    case 'subscript':
      return compileSubscript(compiler, node, scope);
    case 'slice':
      return compileSlice(compiler, node, scope);
    case 'attribute':
      return compileAttribute(compiler, node, scope);
  }
}

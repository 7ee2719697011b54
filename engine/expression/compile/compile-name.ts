import { ExpressionError } from '../values/expression-errors.js';
import type { CompiledNode, ActivationFrame } from '../values/python-values.js';
import type { NodeCompiler, NameScope, SlotAddress } from './scope.js';

/** Compiles reading a name. As in Python, an undeclared name is a NameError only when it is read. */
export function compileName(compiler: NodeCompiler, name: string, scope: NameScope): CompiledNode {
  const meaning = compiler.resolveName(name, scope);
  const { state } = compiler;
  switch (meaning.kind) {
    case 'slot':
      return readSlot(meaning.address, name);
    case 'variable': {
      const { variables } = state;
      const { index } = meaning;
      return () => {
        const value = variables[index];
        if (value === undefined) throw undefinedNameError(name);
        return value;
      };
    }
    case 'record':
      return () => {
        if (state.record === undefined) throw undefinedNameError(name);
        return state.record;
      };
    case 'builtin': {
      const { value } = meaning;
      return () => value;
    }
    case 'unknown':
      return () => {
        throw undefinedNameError(name, () => compiler.suggestions(name, scope));
      };
  }
}

/** Returns the NameError for a name without a value. */
function undefinedNameError(name: string, suggest?: () => readonly string[]): ExpressionError {
  return new ExpressionError('NameError', `name '${name}' is not defined`, suggest);
}

function readSlot({ hops, slot }: SlotAddress, name: string): CompiledNode {
  if (hops === 0)
    return (frame) => {
      const value = frame.slots[slot];
      if (value === undefined)
        throw new ExpressionError(
          'NameError',
          `cannot access local variable '${name}' where it is not associated with a value`,
        );
      return value;
    };
  return (frame) => {
    let target: ActivationFrame = frame;
    for (let i = 0; i < hops; i++) target = target.up!;
    const value = target.slots[slot];
    if (value === undefined)
      throw new ExpressionError(
        'NameError',
        `cannot access free variable '${name}' where it is not associated with a value in enclosing scope`,
      );
    return value;
  };
}

import { Native } from './python-values.js';
import type { ArityWording, NativeCode, NativeShape, VariadicCode } from './python-values.js';

/** Makes a built-in function or method when its name, and for a method its type, are known. */
export type NativeDeclaration = (name: string, owner?: string) => Native;

/** Declares a function with exactly `count` positional arguments. */
export function exactArguments(count: number, code: NativeCode): NativeDeclaration {
  return fixedArguments({ min: count, max: count, names: [], wording: 'exact' }, code);
}

/** Declares a function with `min` to `max` positional arguments. */
export function argumentRange(min: number, max: number, code: NativeCode): NativeDeclaration {
  return fixedArguments({ min, max, names: [], wording: 'range' }, code);
}

/** Declares a function whose arguments have names; `''` stands for a positional-only argument. Names after `max` are keyword-only. */
export function namedArguments(
  min: number,
  max: number,
  names: readonly string[],
  code: NativeCode,
  wording: ArityWording = 'clinic',
): NativeDeclaration {
  return fixedArguments({ min, max, names, wording }, code);
}

/** Declares a function with any number of arguments. */
export function variadicArguments(code: VariadicCode): NativeDeclaration {
  const shape: NativeShape = { min: 0, max: Infinity, names: [], wording: 'range' };
  const unusedCode: NativeCode = () => null;
  return (name, owner) => new Native(name, shape, unusedCode, code, owner);
}

function fixedArguments(shape: NativeShape, code: NativeCode): NativeDeclaration {
  return (name, owner) => new Native(name, shape, code, undefined, owner);
}

/** Makes the functions of a table, by name; `owner` is the type if they are methods. */
export function nativeTable(
  declarations: Readonly<Record<string, NativeDeclaration>>,
  owner?: string,
): ReadonlyMap<string, Native> {
  return new Map(
    Object.entries(declarations).map(([name, declare]) => [name, declare(name, owner)]),
  );
}

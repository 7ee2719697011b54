import { Native } from './values.js';
import type { ArityWording, NativeCode, NativeShape, VariadicCode } from './values.js';

/** Makes a built-in function once its name, and for a method its type, is known. */
export type NativeDeclaration = (name: string, owner?: string) => Native;

/** A function of exactly `count` positional arguments. */
export function exactly(count: number, code: NativeCode): NativeDeclaration {
  return fixedArguments({ min: count, max: count, names: [], wording: 'exact' }, code);
}

/** A function of `min` to `max` positional arguments. */
export function range(min: number, max: number, code: NativeCode): NativeDeclaration {
  return fixedArguments({ min, max, names: [], wording: 'range' }, code);
}

/** A function whose arguments have names; `''` names a positional-only one. Names after `max` are keyword-only. */
export function namedArguments(
  min: number,
  max: number,
  names: readonly string[],
  code: NativeCode,
  wording: ArityWording = 'clinic',
): NativeDeclaration {
  return fixedArguments({ min, max, names, wording }, code);
}

/** A function of any number of arguments. */
export function anyArguments(code: VariadicCode): NativeDeclaration {
  const shape: NativeShape = { min: 0, max: Infinity, names: [], wording: 'range' };
  const unusedCode: NativeCode = () => null;
  return (name, owner) => new Native(name, shape, unusedCode, code, owner);
}

function fixedArguments(shape: NativeShape, code: NativeCode): NativeDeclaration {
  return (name, owner) => new Native(name, shape, code, undefined, owner);
}

/** The functions of a table by name; `owner` is the type whose methods they are. */
export function nativeTable(
  declarations: Readonly<Record<string, NativeDeclaration>>,
  owner?: string,
): ReadonlyMap<string, Native> {
  return new Map(
    Object.entries(declarations).map(([name, declare]) => [name, declare(name, owner)]),
  );
}

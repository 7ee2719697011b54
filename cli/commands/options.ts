import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { UsageError } from '../command.js';

/** The option for the data folder, of commands that work on it directly. */
export const dataOption = { data: { type: 'string' } } as const satisfies ParseArgsOptionsConfig;

/**
 * Parses the options and the positional arguments of a command. Throws `UsageError` for an unknown option, and unless the number of
 * positional arguments is between `range.min` and `range.max`.
 */
export function readOptions<O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  range: { readonly min: number; readonly max: number },
): ReturnType<typeof parseArgs<{ options: O; allowPositionals: true }>> {
  let parsedArgs;
  try {
    parsedArgs = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const argumentCount = parsedArgs.positionals.length;
  if (argumentCount >= range.min && argumentCount <= range.max) return parsedArgs;
  throw new UsageError(argumentCount < range.min ? 'an argument is missing' : 'too many arguments');
}

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { UsageError } from '../command.js';

/** The option for the data folder, of commands that work on its catalogue. */
export const dataOption = { data: { type: 'string' } } as const satisfies ParseArgsOptionsConfig;

/**
 * Parses the options of a command that runs once. Throws `UsageError` for an unknown option, and unless the number of positional arguments
 * is between `count.min` and `count.max`.
 */
export function readOptions<O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  count: { readonly min: number; readonly max: number },
): ReturnType<typeof parseArgs<{ options: O; allowPositionals: true }>> {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const found = parsed.positionals.length;
  if (found >= count.min && found <= count.max) return parsed;
  throw new UsageError(found < count.min ? 'an argument is missing' : 'too many arguments');
}

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { UsageError } from '../command.js';

/** The flags that every short command has. */
export const dataOption = { data: { type: 'string' } } as const satisfies ParseArgsOptionsConfig;

/** Reads the flags of a short command, and as many words beside them as `words` names. */
export function readOptions<O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  words: { readonly least: number; readonly most: number },
): ReturnType<typeof parseArgs<{ options: O; allowPositionals: true }>> {
  let read;
  try {
    read = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const count = read.positionals.length;
  if (count >= words.least && count <= words.most) return read;
  throw new UsageError(count < words.least ? 'something is missing' : 'too many words');
}

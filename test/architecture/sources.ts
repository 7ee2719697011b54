import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { mayImport } from './rules.js';

/** Every source file of the product, sorted by path within its folder. */
export function sourceFiles(): readonly { readonly path: string; readonly text: string }[] {
  return Object.keys(mayImport).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .sort()
      .map((name) => join(folder, name).replaceAll('\\', '/'))
      .map((path) => ({ path, text: readFileSync(path, 'utf8') })),
  );
}

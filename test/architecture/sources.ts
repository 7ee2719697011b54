import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { allowedFolderImports } from './rules.js';

/** Returns every source file of the product; the files of each folder are sorted by path. */
export function readSourceFiles(): readonly { readonly path: string; readonly text: string }[] {
  return Object.keys(allowedFolderImports).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .sort()
      .map((name) => join(folder, name).replaceAll('\\', '/'))
      .map((path) => ({ path, text: readFileSync(path, 'utf8') })),
  );
}

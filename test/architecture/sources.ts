import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { allowedFolderImports } from './rules.js';

/** Returns every source file of the product, then those of the tests and the benchmarks; the files of each folder are sorted by path. */
export function readSourceFiles(): readonly {
  readonly path: string;
  readonly text: string;
  readonly isProduct: boolean;
}[] {
  const folders = Object.keys(allowedFolderImports);
  return [...folders, 'test', 'benchmarks'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .sort()
      .map((name) => join(folder, name).replaceAll('\\', '/'))
      .map((path) => ({
        path,
        text: readFileSync(path, 'utf8'),
        isProduct: folders.includes(folder),
      })),
  );
}

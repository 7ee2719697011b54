import { importTarget } from './rules.js';
import type { ParsedSource } from './source.js';

/**
 * Returns the import cycles among some sources, including type imports: the strongly connected components of more than one file (Tarjan's
 * algorithm), each sorted by path.
 */
export function importCycles(sources: readonly ParsedSource[]): readonly (readonly string[])[] {
  const imports = new Map(sources.map((source) => [source.path, importTargetsOf(source)]));
  const indexes = new Map<string, number>();
  const lowestLinks = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): void => {
    indexes.set(path, indexes.size);
    lowestLinks.set(path, indexes.get(path)!);
    stack.push(path);
    for (const target of imports.get(path) ?? []) {
      if (!imports.has(target)) continue;
      if (!indexes.has(target)) {
        visit(target);
        lowestLinks.set(path, Math.min(lowestLinks.get(path)!, lowestLinks.get(target)!));
      } else if (stack.includes(target)) {
        lowestLinks.set(path, Math.min(lowestLinks.get(path)!, indexes.get(target)!));
      }
    }
    if (lowestLinks.get(path) !== indexes.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const path of imports.keys()) if (!indexes.has(path)) visit(path);
  return circles.sort();
}

/** Returns the paths of files with fewer than `lines` lines that exactly one other file imports, sorted. */
export function smallFilesWithOneImporter(
  files: readonly { readonly path: string; readonly text: string }[],
  sources: readonly ParsedSource[],
  lines: number,
): readonly string[] {
  const importers = new Map<string, number>();
  for (const source of sources) {
    for (const target of importTargetsOf(source))
      importers.set(target, (importers.get(target) ?? 0) + 1);
  }
  return files
    .filter(({ path, text }) => text.split('\n').length <= lines && importers.get(path) === 1)
    .map(({ path }) => path)
    .sort();
}

function importTargetsOf(source: ParsedSource): ReadonlySet<string> {
  const targets = source.imports.flatMap((one) => importTarget(source.path, one) ?? []);
  return new Set(targets.filter((target) => target !== source.path));
}

import { resolveImportTarget } from './rules.js';
import type { ParsedSource } from './source.js';

/** Returns the groups of files, or of what `nodeOf` makes of their paths, that import each other in circles; type imports count, too. */
export function findImportCycles(
  sources: readonly ParsedSource[],
  nodeOf: (path: string) => string = (path) => path,
): readonly (readonly string[])[] {
  const imports = new Map<string, Set<string>>();
  for (const source of sources) {
    const node = nodeOf(source.path);
    const targets = imports.get(node) ?? new Set();
    imports.set(node, targets);
    for (const target of importTargetsOf(source)) targets.add(nodeOf(target));
  }
  return cyclesIn(imports);
}

/** Returns the strongly connected components of more than one node (Tarjan's algorithm), each sorted. */
function cyclesIn(
  imports: ReadonlyMap<string, ReadonlySet<string>>,
): readonly (readonly string[])[] {
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

/** A file with a single importer. */
export interface ImportedFile {
  readonly path: string;
  readonly importer: string;
}

/** Returns the files with fewer than `lineLimit` lines that exactly one other file imports, sorted by path. */
export function findSmallFilesWithOneImporter(
  files: readonly { readonly path: string; readonly text: string }[],
  sources: readonly ParsedSource[],
  lineLimit: number,
): readonly ImportedFile[] {
  const importers = new Map<string, string[]>();
  for (const source of sources) {
    for (const target of importTargetsOf(source))
      importers.set(target, [...(importers.get(target) ?? []), source.path]);
  }
  return files
    .filter(({ text }) => text.split('\n').length <= lineLimit)
    .flatMap(({ path }) => {
      const [importer, ...others] = importers.get(path) ?? [];
      return importer === undefined || others.length > 0 ? [] : [{ path, importer }];
    })
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** An exported name and the file that exports it. */
interface ExportedName {
  readonly path: string;
  readonly name: string;
}

/** Returns the exports of some sources that none of these sources imports, and that do not occur again in their own file. */
export function exportsForTestsAlone(sources: readonly ParsedSource[]): readonly ExportedName[] {
  const codeByPath = new Map(sources.map(({ path, code }) => [path, code]));
  return unusedExports(sources, sources).filter(
    ({ path, name }) => codeByPath.get(path)!.split(new RegExp(`\\b${name}\\b`)).length === 2,
  );
}

/** Returns the exports of some sources that none of the `importers` imports. */
export function unusedExports(
  sources: readonly ParsedSource[],
  importers: readonly ParsedSource[],
): readonly ExportedName[] {
  const usedNames = new Map<string, Set<string>>();
  /** For each file, the files that import it without a list of names in braces, as `import * as`, `export *` and `await import()` do. */
  const wholeImporters = new Map<string, ParsedSource[]>();
  for (const user of importers) {
    for (const one of user.imports) {
      const target = resolveImportTarget(user.path, one);
      if (target === undefined) continue;
      if (one.names === undefined)
        wholeImporters.set(target, [...(wholeImporters.get(target) ?? []), user]);
      const names = usedNames.get(target) ?? new Set();
      usedNames.set(target, names);
      for (const name of one.names ?? []) names.add(name);
    }
  }
  const isUsed = (path: string, name: string): boolean =>
    usedNames.get(path)?.has(name) === true ||
    (wholeImporters.get(path) ?? []).some(
      ({ code }) => /\bexport\s*\*/.test(code) || new RegExp(`\\b${name}\\b`).test(code),
    );
  return sources.flatMap(({ path, code }) =>
    [...code.matchAll(exportedName)].flatMap(([, name = '']) =>
      isUsed(path, name) ? [] : [{ path, name }],
    ),
  );
}

/** Matches an exported declaration; the group is its name. */
const exportedName =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\s*\*?|const enum|const|let|class|interface|type|enum)\s+(\w+)/gm;

function importTargetsOf(source: ParsedSource): ReadonlySet<string> {
  const targets = source.imports.flatMap((one) => resolveImportTarget(source.path, one) ?? []);
  return new Set(targets.filter((target) => target !== source.path));
}

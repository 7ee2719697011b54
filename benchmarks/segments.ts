import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** One line of a Delta log, as far as it says which files there are. */
interface Action {
  readonly add?: { readonly path: string };
  readonly remove?: { readonly path: string };
}

/** The files of a dataset's newest version, in the order in which they came. */
export function segmentsOf(data: string, datasetId: number): readonly string[] {
  const folder = join(data, 'datasets', String(datasetId));
  const log = join(folder, '_delta_log');
  const files = new Set<string>();
  for (const name of readdirSync(log).sort()) {
    if (!/^\d+\.json$/.test(name)) continue;
    for (const line of readFileSync(join(log, name), 'utf8').trimEnd().split('\n')) {
      const { add, remove } = JSON.parse(line) as Action;
      if (remove) files.delete(remove.path);
      if (add) files.add(add.path);
    }
  }
  return [...files].map((path) => join(folder, decodeURIComponent(path)));
}

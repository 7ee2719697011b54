import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** An action of a Delta log that adds or removes a file. */
interface LogAction {
  readonly add?: { readonly path: string };
  readonly remove?: { readonly path: string };
}

/** Returns the paths of the segments of a dataset's newest version, in the order in which the log last added them. */
export function segmentsOf(data: string, datasetId: number): readonly string[] {
  const folder = join(data, 'datasets', String(datasetId));
  const log = join(folder, '_delta_log');
  const files = new Set<string>();
  for (const name of readdirSync(log).sort()) {
    if (!/^\d+\.json$/.test(name)) continue;
    for (const line of readFileSync(join(log, name), 'utf8').trimEnd().split('\n')) {
      const { add, remove } = JSON.parse(line) as LogAction;
      if (remove) files.delete(remove.path);
      if (add) files.add(add.path);
    }
  }
  return [...files].map((path) => join(folder, decodeURIComponent(path)));
}

import type { GenomeBuild } from '../../engine/core/types.js';
import { buildOfLength, buildsNamed } from '../genome-build.js';
import { structured } from './header.js';

/**
 * The genome build that meta lines point to: first by the length of a contig, which cannot lie, then by the name of a
 * reference or assembly. Undefined when nothing tells.
 */
export function guessBuild(metaLines: readonly string[]): GenomeBuild | undefined {
  for (const line of metaLines) {
    if (!line.startsWith('##contig=')) continue;
    const contig = structured(line.slice(9));
    const build = buildOfLength(contig.get('ID') ?? '', contig.get('length') ?? '');
    if (build !== undefined) return build;
  }
  for (const prefix of ['##reference', '##assembly', '##contig', '##']) {
    for (const line of metaLines) {
      const [build] = line.startsWith(prefix) ? buildsNamed(line) : [];
      if (build !== undefined) return build;
    }
  }
  return undefined;
}

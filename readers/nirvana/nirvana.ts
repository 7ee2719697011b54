import type { GenomeBuild } from '../../engine/core/types.js';
import { readBuildParam, buildsNamedIn } from '../genome-build.js';
import type { Reader } from '../reader.js';
import { readNirvanaHeader } from './nirvana-header.js';
import { NirvanaParser } from './nirvana-parser.js';

/** Reader parameters: `genome_build`, which takes precedence over the build that the header names. */
interface NirvanaParams {
  readonly build: GenomeBuild | undefined;
}

/**
 * The reader of Nirvana JSON, schema 4 to 6: one record per position, with the keys of the position (contract 10.6). The files have the
 * extension `.json`, like JSON lines, so the format is requested by name or recognized by its header.
 *
 * Choice: the header of a Nirvana file becomes part of the import's metadata; the genes and everything else after the positions are not
 * read.
 */
export const nirvanaReader: Reader<NirvanaParams, { readonly build: GenomeBuild | null }> = {
  name: 'nirvana',
  extensions: [],
  recognizes: (start) => /^\s*\{\s*"header"\s*:\s*\{\s*"annotator"/.test(start),
  parameters: {},
  params: (input) => ({ build: readBuildParam(input.genome_build) }),
  async header(source, params) {
    const { header, isEmpty, bodyOffset, bodyLine } = await readNirvanaHeader(source);
    const assembly = header['genomeAssembly'];
    const headerBuild = typeof assembly === 'string' ? buildsNamedIn(assembly)[0] : undefined;
    const build = params.build ?? headerBuild ?? null;
    return {
      header: { build },
      bodyOffset,
      bodyLine,
      fields: [],
      genomeBuild: build,
      warnings: isEmpty ? ['the file is empty'] : [],
      ...(!isEmpty && {
        about: header,
        missingEndMessage: 'the bracket that closes the positions is missing: the file was cut off',
      }),
    };
  },
  read(chunk, header, _params, out, report, options) {
    return new NirvanaParser(header.build, out, report, options.columns).parseLines(chunk);
  },
};

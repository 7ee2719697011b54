import { Controller, Query, Req, Res } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { invalidError } from '../../../engine/core/errors.js';
import { genomeBuilds } from '../../../engine/core/types.js';
import {
  genomicNotation,
  type GenomicNotation,
} from '../../../engine/query/request/genomic-notation.js';
import { Access, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { firstParamValue } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import type { QueryParams } from '../../http/page.js';
import { connectionClosedSignal, type ApiReply, type ApiRequest } from '../../http/api-request.js';
import { answerSchema, boolean, integer, jsonObject } from '../../http/json-schema.js';
import { runDatasetQuery } from '../queries/query-records.js';
import { datasetPaths } from '../shared/dataset.js';

const datasetBeaconSchema = answerSchema('DatasetBeacon', 'Whether a dataset has an allele.', {
  query: {
    type: jsonObject,
    description: 'What was asked, as it was understood.',
    example: { chromosome: '13', coordinate: 32316461, allele: 'G', genome_build: 'GRCh38' },
  },
  exist: { type: boolean, description: 'Whether a record has the allele there.', example: true },
  total: { type: integer, description: 'Number of records that have it.', example: 1 },
});

export const datasetBeaconSchemas = [datasetBeaconSchema];

/** The HTTP operation that tells whether a dataset has an allele at a position, as a GA4GH beacon does. */
export const datasetBeaconOperations = declareOperations('datasets', 'Datasets', {
  beacon: {
    method: 'GET',
    paths: datasetPaths('/beacon'),
    summary: 'Returns whether a dataset has an allele at a coordinate.',
    query: {
      chromosome: {
        description: 'A chromosome, with or without chr.',
        example: '14',
        required: true,
      },
      coordinate: { description: 'The position, 1-based.', example: '23424840', required: true },
      allele: { description: 'The alternate allele. Without it, any.', example: 'T' },
      genome_build: {
        description: 'GRCh37 or GRCh38. Without it, the builds of the dataset.',
        example: 'GRCh38',
      },
    },
    answer: datasetBeaconSchema,
  },
});

/**
 * Answers a request of a GA4GH beacon for one dataset (contract 7.2).
 * Choice: the beacon of a dataset finds the variants that begin at the coordinate, which is 1-based as in VCF, and have the allele, if
 * one is given, as alternate. It reads the fields with the entity type `variant`; for a dataset without such a field the answer is 400.
 */
@Controller()
export class DatasetBeaconController {
  constructor(private readonly context: AppContext) {}

  @Operation(datasetBeaconOperations.beacon)
  @Access('read', 'dataset')
  async beacon(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const { region, allele, builds } = readQueriedAllele(query, dataset);
    const fields = await this.context.catalog.fields.all(dataset.id);
    const variantFieldNames = fields.flatMap(({ name, entityType }) =>
      entityType === 'variant' ? [name] : [],
    );
    if (variantFieldNames.length === 0)
      throw invalidError(
        'non_field_errors',
        'The dataset has no field with the entity type variant.',
      );
    const { chromosome, start } = region;
    const conditions = variantFieldNames.flatMap((name) =>
      builds.map((build) => {
        const prefix = `${build.toUpperCase()}-${chromosome}-${start}-`;
        const prefixCondition = [`${name}__prefix`, prefix];
        if (allele === null) return prefixCondition;
        return {
          and: [
            prefixCondition,
            [`${name}__regexp`, `${escapeRegex(prefix)}[0-9]+-${escapeRegex(allele)}`],
          ],
        };
      }),
    );
    const body = { filters: [{ or: conditions }], limit: 0 };
    const signal = connectionClosedSignal(request, reply);
    const { total } = await runDatasetQuery(this.context, dataset, body, signal);
    const build = builds.length === 1 ? builds[0]! : null;
    const askedAllele = { chromosome, coordinate: Number(start), allele, genome_build: build };
    return { query: askedAllele, exist: total > 0, total };
  }
}

/** Escapes the characters that are special in a regular expression. */
function escapeRegex(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** The allele that the query string asks for. */
interface QueriedAllele {
  readonly region: Extract<GenomicNotation, { readonly kind: 'region' }>;
  /** The allele in upper case; null matches any allele. */
  readonly allele: string | null;
  readonly builds: readonly string[];
}

function readQueriedAllele(query: QueryParams, dataset: DatasetRow): QueriedAllele {
  const [chromosome, coordinate] = ['chromosome', 'coordinate'].map((name) => {
    const text = firstParamValue(query, name);
    if (text === undefined) throw invalidError(name, 'This query parameter is required.');
    return text;
  }) as [string, string];
  if (!/^\d{1,12}$/.test(coordinate) || Number(coordinate) === 0)
    throw invalidError('coordinate', `Must be a whole number from 1 on, not ${JSON.stringify(coordinate.slice(0, 100))}.`); // prettier-ignore
  const plainName = chromosome.replace(/^chr/i, '');
  const region = genomicNotation(`chr${plainName}:${coordinate}`);
  if (region?.kind !== 'region')
    throw invalidError(
      'chromosome',
      `${JSON.stringify(chromosome.slice(0, 100))} is no chromosome.`,
    );
  const allele = firstParamValue(query, 'allele')?.toUpperCase() ?? null;
  if (allele !== null && !/^(?:[ACGTN]+|\*|<[^<>]{1,50}>)$/.test(allele))
    throw invalidError('allele', 'Must be letters of A, C, G, T and N.');
  const rawBuild = firstParamValue(query, 'genome_build');
  const build = genomeBuilds.find((one) => one.toLowerCase() === rawBuild?.toLowerCase());
  if (rawBuild !== undefined && build === undefined)
    throw invalidError('genome_build', `Must be one of ${genomeBuilds.join(', ')}.`);
  const possibleBuilds = dataset.genomeBuilds.length > 0 ? dataset.genomeBuilds : genomeBuilds;
  return { region, allele, builds: build === undefined ? possibleBuilds : [build] };
}

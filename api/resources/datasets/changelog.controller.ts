import { Controller, Param, Query, Req } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { readInteger } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import {
  answerSchema,
  id,
  integer,
  nullableText,
  strings,
  text,
  timestamp,
} from '../../http/json-schema.js';
import { datasetPaths } from '../shared/dataset.js';

const datasetChangeSchema = answerSchema(
  'DatasetChange',
  'One version in the changelog of a dataset.',
  {
    version: { type: integer, description: 'Its number in the log of the dataset.', example: 2 },
    commit_id: { type: id, example: 5109 },
    url: { type: text, example: 'http://localhost:7878/v2/dataset_commits/5109' },
    title: { type: text, example: 'Import of family-17.vcf.gz' },
    description: { type: nullableText, example: null },
    mode: { type: text, description: 'As that of the commit.', example: 'append' },
    user_id: { type: id, example: 3 },
    created_at: { type: timestamp, example: '2026-03-02T09:20:41.000Z' },
    records_added: { type: integer, example: 1204 },
    records_changed: { type: integer, example: 0 },
    records_removed: { type: integer, example: 0 },
    records_total: { type: integer, description: 'Records after it.', example: 1204 },
    new_fields: { type: strings, description: 'The fields that it added.', example: ['gene'] },
  },
);

export const changelogSchemas = [datasetChangeSchema];

export const changelogOperations = declareOperations('datasets', 'Datasets', {
  changelog: {
    method: 'GET',
    paths: datasetPaths('/changelog'),
    summary: 'Lists what each commit of a dataset changed, newest first.',
    query: pagingParams,
    answer: { listOf: datasetChangeSchema },
  },
  changelogVersion: {
    method: 'GET',
    paths: datasetPaths('/changelog/:version'),
    summary: 'Returns what one version of a dataset changed.',
    answer: datasetChangeSchema,
  },
});

/**
 * The changelog of a dataset (contract 7.2).
 * Choice: the changelog of a dataset has one entry for each of its completed commits, with the version number of the commit. Compactions
 * also make versions; these change no record and have no entry.
 */
@Controller()
export class ChangelogController {
  constructor(private readonly context: AppContext) {}

  @Operation(changelogOperations.changelog)
  @Access('read', 'dataset')
  changelog(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const filter = { viewer: viewerOf(caller), datasetIds: [dataset.id], statuses: ['completed'] as const }; // prettier-ignore
    return answerList<CommitRow>(request, query, {
      rows: (page) => this.context.catalog.commits.list(filter, page),
      views: (rows) => Promise.resolve(rows.map((row) => changelogEntryView(row, request))),
    });
  }

  @Operation(changelogOperations.changelogVersion)
  @Access('read', 'dataset')
  async version(
    @Resource() dataset: DatasetRow,
    @Param('version') version: string,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const number = readInteger(version);
    const row = number === undefined ? undefined : await this.context.catalog.commits.atVersion(dataset.id, number); // prettier-ignore
    if (row?.status !== 'completed') throw notFoundError();
    return changelogEntryView(row, request);
  }
}

function changelogEntryView(row: CommitRow, { origin }: ApiRequest): object {
  return {
    version: row.logVersion,
    commit_id: row.id,
    url: `${origin}/v2/dataset_commits/${row.id}`,
    title: row.title,
    description: row.description,
    mode: row.mode,
    user_id: row.userId,
    created_at: new Date(row.createdAt).toISOString(),
    records_added: row.recordsAdded,
    records_changed: row.recordsChanged,
    records_removed: row.recordsRemoved,
    records_total: row.recordsTotal,
    new_fields: row.fields.filter(({ is_new }) => is_new).map(({ name }) => name),
  };
}

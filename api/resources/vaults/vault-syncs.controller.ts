import { Controller, Query, Req } from '@nestjs/common';
import { Access } from '../../http/access-rule.js';
import { Operation } from '../../http/operation.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest } from '../../http/api-request.js';
import { answerSchema, id, enumOf, text, timestamp } from '../../http/json-schema.js';

const vaultSyncSchema = answerSchema('VaultSyncTask', 'The synchronisation of a vault.', {
  class_name: { type: enumOf('VaultSyncTask'), example: 'VaultSyncTask' },
  id: { type: id, example: 5107 },
  status: { type: text, example: 'completed' },
  vault_id: { type: id, example: 12 },
  task_id: { type: id, example: 5108 },
  created_at: { type: timestamp, example: '2026-03-02T09:20:41.000Z' },
  updated_at: { type: timestamp, example: '2026-03-02T09:20:41.000Z' },
});

export const vaultSyncSchemas = [vaultSyncSchema];

export const vaultSyncOperations = declareOperations('vaultSyncs', 'Vaults', {
  list: {
    method: 'GET',
    paths: ['/v2/vault_sync_tasks'],
    summary: 'Lists the synchronisations of vaults: there are none.',
    query: pagingParams,
    answer: { listOf: vaultSyncSchema },
  },
});

/**
 * Synchronisations of vaults with external storage (contract 5.5).
 * Choice: vaults exist only on this server, so the list of synchronisations is empty, and a request to start one is answered with 501 and
 * this reason.
 */
@Controller()
export class VaultSyncsController {
  @Operation(vaultSyncOperations.list)
  @Access('read')
  list(@Query() query: QueryParams, @Req() request: ApiRequest): Promise<object> {
    return answerList(request, query, {
      rows: () => Promise.resolve({ rows: [], total: 0 }),
      views: () => Promise.resolve([]),
    });
  }
}

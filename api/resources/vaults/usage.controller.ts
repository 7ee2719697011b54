import { Controller } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import type { VaultUsage } from '../../../engine/catalog/vaults.js';
import { Access, CurrentCaller } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import type { Caller } from '../../http/api-request.js';
import { answerSchema, id, integer, listOf, objectOf, text } from '../../http/json-schema.js';

const usageCounts = {
  datasets: { type: integer },
  records: { type: integer },
  dataset_bytes: { type: integer },
  files: { type: integer },
  file_bytes: { type: integer },
};
const exampleUsage = { datasets: 3, records: 69_302, dataset_bytes: 4_718_592, files: 12, file_bytes: 104_857_600 }; // prettier-ignore

const usageSchema = answerSchema(
  'Usage',
  'What the account stores, as far as the user may read it.',
  {
    total: {
      type: objectOf(usageCounts),
      description: 'All vaults together.',
      example: exampleUsage,
    },
    vaults: {
      type: listOf(objectOf({ vault_id: { type: id }, name: { type: text }, ...usageCounts })),
      description: 'By vault, in the order of their names.',
      example: [{ vault_id: 12, name: 'Cardiomyopathy families', ...exampleUsage }],
    },
  },
);

export const usageSchemas = [usageSchema];

/** The HTTP operations on the storage that accounts use. */
export const usageOperations = declareOperations('usage', 'Vaults', {
  get: {
    method: 'GET',
    paths: ['/v2/usage'],
    summary: 'Returns how many records and bytes the vaults of the account hold.',
    answer: usageSchema,
  },
});

/**
 * The storage that an account uses.
 * Choice: usage is counted from the catalogue, over the vaults of the account that the user may read. The bytes of a dataset are those of
 * its newest version (`GET /v2/datasets/{id}/disk_use` has earlier ones). Every stored version of a file counts, and so does a copy of a
 * file, although it shares its bytes.
 */
@Controller()
export class UsageController {
  constructor(private readonly context: AppContext) {}

  @Operation(usageOperations.get)
  @Access('read')
  async get(@CurrentCaller() caller: Caller): Promise<object> {
    const readableVaults = await this.context.catalog.vaults.usage(viewerOf(caller));
    const vaults = readableVaults.filter(({ accountId }) => accountId === caller.account.id);
    return {
      total: usageView(vaults),
      vaults: vaults.map((one) => ({ vault_id: one.id, name: one.name, ...usageView([one]) })),
    };
  }
}

function usageView(vaults: readonly VaultUsage[]): object {
  const sumOf = (key: 'datasets' | 'records' | 'datasetBytes' | 'files' | 'fileBytes'): number =>
    vaults.reduce((total, one) => total + one[key], 0);
  return {
    datasets: sumOf('datasets'),
    records: sumOf('records'),
    dataset_bytes: sumOf('datasetBytes'),
    files: sumOf('files'),
    file_bytes: sumOf('fileBytes'),
  };
}

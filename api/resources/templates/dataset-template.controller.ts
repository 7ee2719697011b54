import { Controller, Req } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { Access, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import type { ApiRequest } from '../../http/api-request.js';
import { presenterFor } from '../shared/presenter.js';
import { template } from './template.js';

export const datasetTemplateOperations = declareOperations('datasets', 'Templates', {
  template: {
    method: 'GET',
    paths: ['/v2/datasets/:id/template', '/v2/dataset/:id/template'],
    summary: 'Returns the fields of a dataset as a template, which is not saved.',
    answer: template.schema,
  },
});

/** The template of a dataset (contract 13). */
@Controller()
export class DatasetTemplateController {
  constructor(private readonly context: AppContext) {}

  @Operation(datasetTemplateOperations.template)
  @Access('read', 'dataset')
  async template(@Resource() dataset: DatasetRow, @Req() request: ApiRequest): Promise<object> {
    const { catalog } = this.context;
    const object = await catalog.objects.get(dataset.id);
    const vault = object && (await catalog.vaults.get(object.vaultId));
    const fields = await catalog.fields.all(dataset.id);
    const row = {
      id: 0,
      name: object?.filename ?? '',
      description: object?.description ?? null,
      version: '',
      templateType: 'dataset',
      isPublic: false,
      isShared: true,
      tags: object?.tags ?? [],
      fields: fields
        .filter(({ name }) => !name.startsWith('_'))
        .map((field) => ({
          name: field.name,
          title: field.title,
          description: field.description,
          data_type: field.dataType,
          entity_type: field.entityType,
          expression: field.expression,
          is_hidden: field.isHidden,
          is_list: field.isList,
          ordering: field.ordering,
          depends_on: [...field.dependsOn],
          url_template: field.urlTemplate,
        })),
      entityParams: {},
      readerParams: {},
      validationParams: {},
      annotatorParams: {},
      userId: object?.userId ?? 0,
      accountId: vault?.accountId ?? 0,
      createdAt: dataset.createdAt,
      updatedAt: dataset.updatedAt,
    };
    const user = await presenterFor(this.context, request).loadUser(row.userId);
    return { ...template.view(row, { user, origin: request.origin }), id: null, url: null };
  }
}

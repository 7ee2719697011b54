import { Body, Controller, Query, Req } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetFilter, DatasetRow } from '../../../engine/catalog/datasets.js';
import { notFound } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { createObject } from '../objects/create-object.js';
import { removeFiles } from '../objects/remove-files.js';
import { Form } from '../../http/form.js';
import { ids, omitUndefined, value } from '../../http/list-query.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { datasetOperations } from './datasets.operations.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { presenterFor } from '../presenter.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';
import { setStorageClass } from '../storage-class.js';
import { dataset as declared } from './dataset.js';

/** Datasets: collections of records with typed fields (contract 7). */
@Controller()
export class DatasetsController {
  constructor(private readonly context: AppContext) {}

  @CreateOperation(datasetOperations.create, async (context, caller, id, request) =>
    presenterFor(context, request).dataset(
      await requireResource(context.catalog, caller, 'dataset', id, 'read'),
    ),
  )
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const { object, dataset } = await createObject(this.context, caller, form, {
      ...declared.readCreate(form),
      objectType: 'dataset',
    });
    if (!dataset) throw new Error('createObject returned no dataset');
    return presenterFor(this.context, request).dataset(dataset, object);
  }

  @Operation(datasetOperations.list)
  @Access('read')
  async list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const filter: DatasetFilter = {
      access: accessOf(caller),
      ...omitUndefined<DatasetFilter>({
        ids: ids(query, 'id'),
        vaultIds: ids(query, 'vault_id'),
        name: value(query, 'name'),
        tag: value(query, 'tags', 'tag'),
        storageClass: value(query, 'storage_class'),
      }),
    };
    const { rows, total } = await this.context.catalog.datasets.list(filter, page);
    const presenter = presenterFor(this.context, request);
    const views = await Promise.all(rows.map((row) => presenter.dataset(row)));
    return listEnvelope(request.origin, request.url, page, total, views);
  }

  @Operation(datasetOperations.get)
  @Access('read', 'dataset')
  get(@Resource() dataset: DatasetRow, @Req() request: ApiRequest): Promise<object> {
    return presenterFor(this.context, request).dataset(dataset);
  }

  @Operation(datasetOperations.put)
  @Access('write', 'dataset')
  put(
    @Resource() dataset: DatasetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(dataset, body, request);
  }

  @Operation(datasetOperations.patch)
  @Access('write', 'dataset')
  async patch(
    @Resource() dataset: DatasetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const { storageClass, ...patch } = declared.readUpdate(form);
    form.done();
    const row = await this.context.catalog.transaction(async (tx) => {
      await setStorageClass(tx, dataset.id, storageClass);
      await tx.objects.update(dataset.id, patch);
      return tx.datasets.get(dataset.id);
    });
    if (!row) throw notFound();
    return presenterFor(this.context, request).dataset(row);
  }

  @Operation(datasetOperations.delete)
  @Access('write', 'dataset')
  async delete(@Resource() dataset: DatasetRow, @Req() request: ApiRequest): Promise<object> {
    const view = await presenterFor(this.context, request).dataset(dataset);
    await removeFiles(this.context, await this.context.catalog.objects.delete(dataset.id));
    return view;
  }
}

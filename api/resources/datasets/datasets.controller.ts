import { Body, Controller, Query, Req } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetFilter, DatasetRow } from '../../../engine/catalog/datasets.js';
import { notFound } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { createObject } from '../objects/create-object.js';
import { dropRemoved } from '../objects/remove-files.js';
import { Form } from '../../http/form.js';
import { ids, value } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { presenterFor } from '../presenter.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { datasetNew, datasetPatch, omitUndefined } from '../shape.js';
import { setStorageClass } from '../objects/storage-class.js';

/** Datasets: collections of records with typed fields (contract 7). */
@Controller()
export class DatasetsController {
  constructor(private readonly context: AppContext) {}

  @Operation('datasets.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const { object, dataset } = await createObject(this.context, caller, form, datasetNew(form));
    if (!dataset) throw new Error('a dataset was to be made');
    return presenterFor(this.context, request).dataset(dataset, object);
  }

  @Operation('datasets.list')
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

  @Operation('datasets.get')
  @Access('read', 'dataset')
  get(@Resource() dataset: DatasetRow, @Req() request: ApiRequest): Promise<object> {
    return presenterFor(this.context, request).dataset(dataset);
  }

  @Operation('datasets.put')
  @Access('write', 'dataset')
  put(
    @Resource() dataset: DatasetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(dataset, body, request);
  }

  @Operation('datasets.patch')
  @Access('write', 'dataset')
  async patch(
    @Resource() dataset: DatasetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const patch = datasetPatch(form);
    form.done();
    const row = await this.context.catalog.transaction(async (tx) => {
      await setStorageClass(tx, dataset.id, patch.storageClass);
      await tx.objects.update(dataset.id, patch.object);
      return tx.datasets.get(dataset.id);
    });
    if (!row) throw notFound();
    return presenterFor(this.context, request).dataset(row);
  }

  @Operation('datasets.delete')
  @Access('write', 'dataset')
  async delete(@Resource() dataset: DatasetRow, @Req() request: ApiRequest): Promise<object> {
    const view = await presenterFor(this.context, request).dataset(dataset);
    await dropRemoved(this.context, await this.context.catalog.objects.delete(dataset.id));
    return view;
  }
}

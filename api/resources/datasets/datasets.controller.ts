import { Body, Controller, Query, Req } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetFilter, DatasetRow } from '../../../engine/catalog/datasets.js';
import { notFound } from '../../../engine/core/errors.js';
import { Access, Subject, Who } from '../../http/access.js';
import { createObject } from '../objects/create-object.js';
import { dropRemoved } from '../objects/remove-files.js';
import { Form } from '../../http/form.js';
import { ids, value } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { Parts } from '../../http/app-context.js';
import { presenterFor } from '../presenter.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { datasetNew, datasetPatch, given } from '../shape.js';
import { setStorageClass } from '../objects/storage-class.js';

/** Datasets: collections of records with typed fields (contract 7). */
@Controller()
export class DatasetsController {
  constructor(private readonly parts: Parts) {}

  @Operation('datasets.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @Who() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const { object, dataset } = await createObject(this.parts, caller, form, datasetNew(form));
    if (!dataset) throw new Error('a dataset was to be made');
    return presenterFor(this.parts, request).dataset(dataset, object);
  }

  @Operation('datasets.list')
  @Access('read')
  async list(
    @Query() query: QueryString,
    @Who() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const filter: DatasetFilter = {
      access: accessOf(caller),
      ...given<DatasetFilter>({
        ids: ids(query, 'id'),
        vaultIds: ids(query, 'vault_id'),
        name: value(query, 'name'),
        tag: value(query, 'tags', 'tag'),
        storageClass: value(query, 'storage_class'),
      }),
    };
    const { rows, total } = await this.parts.catalog.datasets.list(filter, page);
    const presenter = presenterFor(this.parts, request);
    const views = await Promise.all(rows.map((row) => presenter.dataset(row)));
    return listEnvelope(request.origin, request.url, page, total, views);
  }

  @Operation('datasets.get')
  @Access('read', 'dataset')
  get(@Subject() dataset: DatasetRow, @Req() request: ApiRequest): Promise<object> {
    return presenterFor(this.parts, request).dataset(dataset);
  }

  @Operation('datasets.put')
  @Access('write', 'dataset')
  put(
    @Subject() dataset: DatasetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(dataset, body, request);
  }

  @Operation('datasets.patch')
  @Access('write', 'dataset')
  async patch(
    @Subject() dataset: DatasetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const patch = datasetPatch(form);
    form.done();
    const row = await this.parts.catalog.transaction(async (tx) => {
      await setStorageClass(tx, dataset.id, patch.storageClass);
      await tx.objects.update(dataset.id, patch.object);
      return tx.datasets.get(dataset.id);
    });
    if (!row) throw notFound();
    return presenterFor(this.parts, request).dataset(row);
  }

  @Operation('datasets.delete')
  @Access('write', 'dataset')
  async delete(@Subject() dataset: DatasetRow, @Req() request: ApiRequest): Promise<object> {
    const view = await presenterFor(this.parts, request).dataset(dataset);
    await dropRemoved(this.parts, await this.parts.catalog.objects.delete(dataset.id));
    return view;
  }
}

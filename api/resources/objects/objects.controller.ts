import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { ObjectFilter } from '../../../engine/catalog/object-list.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { budgets } from '../../../engine/core/budgets.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { createObject } from './create-object.js';
import { dropRemoved } from './remove-files.js';
import { fileAnswer, fileFields } from './query-file.js';
import { Form, readBoolean } from '../../http/form.js';
import { idOrNull, ids, value, whole, words } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { presenterFor } from '../presenter.js';
import type { JsonText } from '../../http/reply.js';
import {
  abortOnDisconnect,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/request.js';
import { omitUndefined, objectNew, objectPatch, storageClass } from '../shape.js';
import { setStorageClass } from './storage-class.js';
import { downloadTarget, uploadTarget } from '../downloads/signed-addresses.js';

/** Files, folders and datasets as objects of a vault (contract 6). */
@Controller()
export class ObjectsController {
  constructor(private readonly context: AppContext) {}

  @Operation('objects.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const { object } = await createObject(this.context, caller, form, objectNew(form));
    const uploadUrl = request.origin + uploadTarget(this.context.signer, object);
    const extra = object.objectType === 'file' ? { uploadUrl } : {};
    return presenterFor(this.context, request).object(object, extra);
  }

  @Operation('objects.list')
  @Access('read')
  async list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const filter = objectFilter(query, caller);
    const { rows, total } = await this.context.catalog.objects.list(filter, page);
    const views = await presenterFor(this.context, request).objects(rows);
    return listEnvelope(request.origin, request.url, page, total, views);
  }

  @Operation('objects.get')
  @Access('read', 'object')
  get(@Resource() object: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    return presenterFor(this.context, request).object(object);
  }

  @Operation('objects.put')
  @Access('write', 'object')
  put(
    @Resource() object: ObjectRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(object, body, request);
  }

  @Operation('objects.patch')
  @Access('write', 'object')
  async patch(
    @Resource() object: ObjectRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const patch = objectPatch(form);
    const newClass =
      object.objectType === 'dataset' ? storageClass(form, 'storage_class') : undefined;
    form.done();
    const row = await this.context.catalog.transaction(async (tx) => {
      await setStorageClass(tx, object.id, newClass);
      return tx.objects.update(object.id, patch);
    });
    if (!row) throw notFound();
    return presenterFor(this.context, request).object(row);
  }

  @Operation('objects.delete')
  @Access('write', 'object')
  async delete(@Resource() object: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    const view = await presenterFor(this.context, request).object(object, { isDeleted: true });
    await dropRemoved(this.context, await this.context.catalog.objects.delete(object.id));
    return view;
  }

  @Operation('objects.download')
  @Access('read', 'object')
  async download(
    @Resource() object: ObjectRow,
    @Query() query: QueryString,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    if (object.objectType !== 'file') {
      throw new AppError(
        'invalid',
        `A ${object.objectType} cannot be downloaded; export a dataset.`,
      );
    }
    if (object.revision === 0) throw new AppError('invalid', 'The file has not been uploaded yet.');
    const expiresAt = Date.now() + budgets.objectUrlMs;
    const url = request.origin + downloadTarget(this.context.signer, object, expiresAt);
    // Choice: JSON unless asked to redirect: one client sends no parameter and expects JSON (contract 6.6).
    if (readBoolean(value(query, 'redirect')) === true) reply.code(302).header('Location', url);
    return { download_url: url, object_id: null };
  }

  @Operation('objects.fields')
  @Access('read', 'object')
  async fields(
    @Resource() object: ObjectRow,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return { fields: await fileFields(this.context, object, abortOnDisconnect(request, reply)) };
  }

  @Operation('objects.query')
  @Access('read', 'object')
  query(
    @Resource() object: ObjectRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    return fileAnswer(this.context, object, body, abortOnDisconnect(request, reply));
  }
}

function objectFilter(query: QueryString, caller: Caller): ObjectFilter {
  return {
    access: accessOf(caller),
    ...omitUndefined<ObjectFilter>({
      ids: ids(query, 'id'),
      vaultIds: ids(query, 'vault_id'),
      vaultName: value(query, 'vault_name'),
      vaultFullPath: value(query, 'vault_full_path'),
      parentId: idOrNull(query, 'parent_object_id'),
      filename: value(query, 'filename'),
      path: value(query, 'path'),
      fullPath: value(query, 'full_path'),
      objectTypes: types(query),
      depth: whole(query, 'depth'),
      query: value(query, 'query', 'q'),
      regex: value(query, 'regex'),
      glob: value(query, 'glob'),
      ancestorId: idOrNull(query, 'ancestor_id'),
      minDistance: whole(query, 'min_distance'),
      tag: value(query, 'tags', 'tag'),
      storageClass: value(query, 'storage_class'),
      permission: words(query, 'permission', ['read', 'write', 'admin'])?.[0],
    }),
  };
}

/** Choice: a type that nothing has yet (`shortcut`) finds nothing, as clients ask for it. */
function types(query: QueryString): ObjectFilter['objectTypes'] {
  const known = ['file', 'folder', 'dataset', 'shortcut'] as const;
  const wanted = words(query, 'object_type', known) ?? words(query, 'type', known);
  return wanted?.filter((type) => type !== 'shortcut');
}

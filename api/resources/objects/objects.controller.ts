import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import type { ObjectFilter } from '../../../engine/catalog/object-list.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { ObjectPatch } from '../../../engine/catalog/objects.js';
import { budgets } from '../../../engine/core/budgets.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { createObject } from './create-object.js';
import { removeFiles } from './remove-files.js';
import { fileAnswer, fileFields } from './query-file.js';
import { Form, readBoolean } from '../../http/form.js';
import { anyOf, idOrNull, ids, omitUndefined, value, whole } from '../../http/list-query.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { objectOperations } from './objects.operations.js';
import { answerList, type QueryParams } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { presenterFor } from '../presenter.js';
import { searchedFilter } from '../search/list-search.js';
import type { JsonText } from '../../http/reply.js';
import {
  abortOnDisconnect,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';
import { readStorageClass, setStorageClass } from '../storage-class.js';
import { refuseChange, unchangeable } from '../unchangeable.js';
import { object as declared, type ObjectContext } from './object.js';
import { presignedParts } from '../uploads/multipart-upload.js';
import { downloadTarget, uploadTarget } from '../downloads/signed-addresses.js';

/** Files, folders and datasets as objects of a vault (contract 6). */
@Controller()
export class ObjectsController {
  constructor(private readonly context: AppContext) {}

  @CreateOperation(objectOperations.create, async (context, caller, id, request) => {
    const row = await requireResource(context.catalog, caller, 'object', id, 'read');
    const isWaiting = row.objectType === 'file' && row.revision === 0;
    return presenterFor(context, request).object(
      row,
      isWaiting ? await uploadOf(context, row, request) : {},
    );
  })
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const { object } = await createObject(this.context, caller, form, declared.readCreate(form));
    const extra = object.objectType === 'file' ? await uploadOf(this.context, object, request) : {};
    return presenterFor(this.context, request).object(object, extra);
  }

  @Operation(objectOperations.list)
  @Access('read')
  list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return answerList<ObjectRow>(request, query, {
      rows: async (page) => {
        const { query: text, ...filter } = objectFilter(query, caller);
        const searched = await searchedFilter(this.context, caller, 'objects', text);
        return this.context.catalog.objects.list({ ...filter, ...searched }, page);
      },
      views: (rows) => presenterFor(this.context, request).objects(rows),
    });
  }

  @Operation(objectOperations.get)
  @Access('read', 'object')
  get(@Resource() object: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    return presenterFor(this.context, request).object(object);
  }

  @Operation(objectOperations.put)
  @Access('write', 'object')
  put(
    @Resource() object: ObjectRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(object, body, caller, request);
  }

  @Operation(objectOperations.patch)
  @Access('write', 'object')
  async patch(
    @Resource() object: ObjectRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const patch = declared.readUpdate(form) as ObjectPatch;
    refuseChange(form, 'vault_id', object.vaultId, unchangeable.vault);
    refuseChange(form, 'object_type', object.objectType, unchangeable.objectType);
    refuseChange(form, 'size', object.size, unchangeable.content);
    refuseChange(form, 'md5', object.md5, unchangeable.content);
    refuseChange(form, 'fields', undefined, unchangeable.fields);
    refuseChange(form, 'template_id', undefined, unchangeable.template);
    const dataset = await this.context.catalog.datasets.get(object.id);
    refuseChange(form, 'capacity', dataset?.capacity, unchangeable.capacity);
    if (!dataset) refuseChange(form, 'storage_class', null, unchangeable.storageClass);
    const newClass = dataset && readStorageClass(form, 'storage_class');
    form.done();
    const row = await this.context.catalog.transaction(async (tx) => {
      await setStorageClass(tx, caller, object.id, newClass);
      return tx.objects.update(object.id, patch);
    });
    this.context.scheduler.wake();
    if (!row) throw notFound();
    return presenterFor(this.context, request).object(row);
  }

  @Operation(objectOperations.delete)
  @Access('write', 'object')
  async delete(@Resource() object: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    const view = await presenterFor(this.context, request).object(object, { isDeleted: true });
    await removeFiles(this.context, await this.context.catalog.objects.delete(object.id));
    return view;
  }

  @Operation(objectOperations.download)
  @Access('read', 'object')
  async download(
    @Resource() object: ObjectRow,
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
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
    const url =
      request.origin + downloadTarget(this.context.signer, caller.user.id, object, expiresAt);
    // Choice: without `redirect` the answer is JSON, because one client sends no parameter and expects JSON (contract 6.6).
    if (readBoolean(value(query, 'redirect')) === true) reply.code(302).header('Location', url);
    return { download_url: url, object_id: null };
  }

  @Operation(objectOperations.fields)
  @Access('read', 'object')
  async fields(
    @Resource() object: ObjectRow,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return { fields: await fileFields(this.context, object, abortOnDisconnect(request, reply)) };
  }

  @Operation(objectOperations.query)
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

/** The address that the bytes of a new file are sent to, or those of its parts. */
async function uploadOf(
  context: AppContext,
  object: ObjectRow,
  request: ApiRequest,
): Promise<Pick<ObjectContext, 'uploadUrl' | 'multipart'>> {
  const upload = await context.catalog.multipartUploads.get(object.id);
  if (upload !== undefined) {
    const parts = await presignedParts(context, upload, request);
    return { multipart: { uploadId: upload.uploadId, parts } };
  }
  const { id: userId } = request.caller!.user;
  return { uploadUrl: request.origin + uploadTarget(context.signer, userId, object) };
}

function objectFilter(query: QueryParams, caller: Caller): ObjectFilter {
  return {
    viewer: viewerOf(caller),
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
      permission: anyOf(query, 'permission', ['read', 'write', 'admin'])?.[0],
    }),
  };
}

/** Choice: `object_type=shortcut` finds nothing instead of being an error: clients send it, and no object has that type yet. */
function types(query: QueryParams): ObjectFilter['objectTypes'] {
  const known = ['file', 'folder', 'dataset', 'shortcut'] as const;
  const wanted = anyOf(query, 'object_type', known) ?? anyOf(query, 'type', known);
  return wanted?.filter((type) => type !== 'shortcut');
}

import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import type { FileVersionRow } from '../../../engine/catalog/file-versions.js';
import { unlimitedPage } from '../../../engine/catalog/list-page.js';
import type { ObjectFilter } from '../../../engine/catalog/object-list.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { ObjectPatch } from '../../../engine/catalog/objects.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access-rule.js';
import { createObject, type CreatedObject } from './create-object.js';
import { followShortcuts, targetView } from '../shared/shortcut.js';
import { removeFiles } from './remove-files.js';
import { answerFileQuery, readFileFieldNames } from './query-file.js';
import { Form, readBoolean } from '../../http/form.js';
import {
  choiceParams,
  nullableIdParam,
  paramIds,
  omitUndefined,
  firstParamValue,
  wholeNumberParam,
} from '../../http/list-query.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { objectOperations } from './objects.operations.js';
import { answerList, type QueryParams } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { presenterFor } from '../shared/presenter.js';
import { readSearchFilter } from '../search/list-search.js';
import type { JsonText } from '../../http/reply.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { readStorageClass, setStorageClass } from '../shared/storage-class.js';
import { refuseChange, unchangeableMessages } from '../shared/unchangeable.js';
import { object as declared, type ObjectContext } from '../shared/object.js';
import { presignParts } from '../uploads/multipart-upload.js';
import { answerDownload } from '../downloads/answer-download.js';
import { signUploadTarget } from '../downloads/signed-addresses.js';

/** What a message recommends for an object that has no bytes to download. */
const downloadAlternatives = {
  folder: 'download the files in it',
  dataset: 'export it',
  shortcut: 'download its target',
} as const;

/** Files, folders, datasets and shortcuts as objects of a vault (contract 6). */
@Controller()
export class ObjectsController {
  constructor(private readonly context: AppContext) {}

  @CreateOperation(objectOperations.create, async (context, caller, id, request) => {
    const object = await requireResource(context.catalog, caller, 'object', id, 'read');
    const version = await findPendingVersion(context, object, caller, request);
    return createdView(context, request, { object, ...(version && { version }) });
  })
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const createdObject = await createObject(this.context, caller, form, declared.readCreate(form));
    return createdView(this.context, request, createdObject);
  }

  @Operation(objectOperations.list)
  @Access('read')
  async list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const { catalog } = this.context;
    const givenFilter = objectFilter(query, caller);
    const followsShortcuts = readBoolean(firstParamValue(query, 'follow_shortcuts')) === true;
    const filter = followsShortcuts
      ? await followShortcuts(catalog, caller, givenFilter)
      : givenFilter;
    return answerList<ObjectRow>(request, query, {
      rows: async (page) => {
        const { query: text, ...otherFilters } = filter;
        const searchFilter = await readSearchFilter(this.context, caller, 'objects', text);
        return catalog.objects.list({ ...otherFilters, ...searchFilter }, page);
      },
      views: (rows) => presenterFor(this.context, request).objectViews(rows),
    });
  }

  @Operation(objectOperations.get)
  @Access('read', 'object')
  get(@Resource() object: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    return presenterFor(this.context, request).objectView(object);
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
    const { catalog } = this.context;
    const form = new Form(body);
    const patch = declared.readUpdate(form) as ObjectPatch;
    refuseChange(form, 'vault_id', object.vaultId, unchangeableMessages.vault);
    refuseChange(form, 'object_type', object.objectType, unchangeableMessages.objectType);
    refuseChange(form, 'size', object.size, unchangeableMessages.content);
    refuseChange(form, 'md5', object.md5, unchangeableMessages.content);
    const target =
      object.target && (await targetView(catalog, caller, request.origin, object.target));
    refuseChange(form, 'target', target, unchangeableMessages.target);
    refuseChange(form, 'fields', undefined, unchangeableMessages.fields);
    refuseChange(form, 'template_id', undefined, unchangeableMessages.template);
    const dataset = await catalog.datasets.get(object.id);
    refuseChange(form, 'capacity', dataset?.capacity, unchangeableMessages.capacity);
    if (!dataset) refuseChange(form, 'storage_class', null, unchangeableMessages.storageClass);
    const newClass = dataset && readStorageClass(form, 'storage_class');
    form.throwIfInvalid();
    const row = await catalog.transaction(async (tx) => {
      await setStorageClass(tx, caller, object.id, newClass);
      return tx.objects.update(object.id, patch);
    });
    this.context.scheduler.wake();
    if (!row) throw notFoundError(); // the object was deleted meanwhile
    return presenterFor(this.context, request).objectView(row);
  }

  @Operation(objectOperations.delete)
  @Access('write', 'object')
  async delete(@Resource() object: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    const view = await presenterFor(this.context, request).objectView(object, { isDeleted: true });
    await removeFiles(this.context, await this.context.catalog.objects.delete(object.id));
    return view;
  }

  @Operation(objectOperations.download)
  @Access('read', 'object')
  async download(
    @Resource() object: ObjectRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const { objectType, revision } = object;
    if (objectType !== 'file') {
      throw new AppError('invalid', `A ${objectType} cannot be downloaded; ${downloadAlternatives[objectType]}.`); // prettier-ignore
    }
    if (revision === 0) throw new AppError('invalid', 'The file has not been uploaded yet.');
    return answerDownload(this.context, object, revision, query, request, reply);
  }

  @Operation(objectOperations.fields)
  @Access('read', 'object')
  async fields(
    @Resource() object: ObjectRow,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return {
      fields: await readFileFieldNames(
        this.context,
        object,
        connectionClosedSignal(request, reply),
      ),
    };
  }

  @Operation(objectOperations.query)
  @Access('read', 'object')
  query(
    @Resource() object: ObjectRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    return answerFileQuery(this.context, object, body, connectionClosedSignal(request, reply));
  }
}

/**
 * Returns the answer to creating an object.
 * Choice: the answer to a request that adds a version to a file shows the size, MD5 and media type that the request announces, like the
 * answer for a new file. All other answers show those of the current version until the content of the new version has arrived.
 */
async function createdView(
  context: AppContext,
  request: ApiRequest,
  { object, version }: CreatedObject,
): Promise<object> {
  const presenter = presenterFor(context, request);
  if (version === undefined) return presenter.objectView(object);
  const { size, md5, availability, mimetype } = version;
  const announcedContent = { size, md5, availability, mimetype: mimetype ?? object.mimetype };
  const shownObject = { ...object, ...announcedContent, documentsCount: null };
  return presenter.objectView(shownObject, await uploadAddressOf(context, version, request));
}

/**
 * Returns a version that an earlier, equal request has created and whose content is still expected: any version that the user created with
 * the same announced size and MD5.
 */
async function findPendingVersion(
  { catalog }: AppContext,
  { id }: ObjectRow,
  { user }: Caller,
  { body }: ApiRequest,
): Promise<FileVersionRow | undefined> {
  const { rows } = await catalog.fileVersions.list(
    { objectId: id, showDeleted: false },
    unlimitedPage,
  );
  const { size, md5 } = declared.readCreate(new Form(body));
  return rows.find(
    (row) =>
      row.availability === 'unverified' &&
      row.userId === user.id &&
      row.size === (size ?? null) &&
      row.md5 === (md5 ?? null),
  );
}

/** Returns the upload address of a version, or the addresses of its parts. */
async function uploadAddressOf(
  context: AppContext,
  version: FileVersionRow,
  request: ApiRequest,
): Promise<Pick<ObjectContext, 'uploadUrl' | 'multipart'>> {
  const { objectId, revision } = version;
  const upload = await context.catalog.multipartUploads.get(objectId, revision);
  if (upload !== undefined) {
    const parts = await presignParts(context, upload, request);
    return { multipart: { uploadId: upload.uploadId, parts } };
  }
  const { id: userId } = request.caller!.user;
  return { uploadUrl: request.origin + signUploadTarget(context.signer, userId, version) };
}

function objectFilter(query: QueryParams, caller: Caller): ObjectFilter {
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<ObjectFilter>({
      ids: paramIds(query, 'id'),
      vaultIds: paramIds(query, 'vault_id'),
      vaultName: firstParamValue(query, 'vault_name'),
      vaultFullPath: firstParamValue(query, 'vault_full_path'),
      parentId: nullableIdParam(query, 'parent_object_id'),
      filename: firstParamValue(query, 'filename'),
      path: firstParamValue(query, 'path'),
      fullPath: firstParamValue(query, 'full_path'),
      objectTypes: objectTypesParam(query),
      depth: wholeNumberParam(query, 'depth'),
      query: firstParamValue(query, 'query', 'q'),
      regex: firstParamValue(query, 'regex'),
      glob: firstParamValue(query, 'glob'),
      ancestorId: nullableIdParam(query, 'ancestor_id'),
      minDistance: wholeNumberParam(query, 'min_distance'),
      tag: firstParamValue(query, 'tags', 'tag'),
      storageClass: firstParamValue(query, 'storage_class'),
      permission: choiceParams(query, 'permission', ['read', 'write', 'admin'])?.[0],
    }),
  };
}

function objectTypesParam(query: QueryParams): ObjectFilter['objectTypes'] {
  const objectTypes = ['file', 'folder', 'dataset', 'shortcut'] as const;
  return (
    choiceParams(query, 'object_type', objectTypes) ?? choiceParams(query, 'type', objectTypes)
  );
}

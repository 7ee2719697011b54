import { Body, Controller, Param, Query, Req, Res } from '@nestjs/common';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { FileVersionRow } from '../../../engine/catalog/file-versions.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { fileExists, linkFile } from '../../../engine/core/files.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Form, readBoolean, readId } from '../../http/form.js';
import { firstParamValue } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { answerDownload } from '../downloads/answer-download.js';
import { publishUpload, removeQuietly, uploadScratchPath } from '../uploads/receive-upload.js';
import { fileVersion, fileVersionOperations, restoreVersionBody } from './file-version.js';

/**
 * Versions of files (contract 6.8).
 * Choice: a deleted version can be restored for `--keep-versions-days`; after that its content is removed. A version that is made current
 * again is added as a new version with the same content, even if the vault no longer keeps versions.
 */
@Controller()
export class FileVersionsController {
  constructor(private readonly context: AppContext) {}

  @Operation(fileVersionOperations.list)
  @Access('read', 'object')
  list(
    @Resource() object: ObjectRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
  ): Promise<object> {
    requireFile(object);
    const { fileVersions } = this.context.catalog;
    const showDeleted = readBoolean(firstParamValue(query, 'show_deleted')) === true;
    return answerList<FileVersionRow>(request, query, {
      rows: (page) => fileVersions.list({ objectId: object.id, showDeleted }, page),
      views: (rows) => Promise.all(rows.map((row) => versionView(this.context, object, row))),
    });
  }

  @Operation(fileVersionOperations.download)
  @Access('read', 'object')
  async download(
    @Resource() object: ObjectRow,
    @Param('version') version: string,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const row = await requireVersion(this.context.catalog, object, version);
    if (row.deletedAt !== null) throw notFoundError();
    if (row.availability !== 'available') throw new AppError('invalid', noContentMessage(row));
    return answerDownload(this.context, object, row.revision, query, request, reply);
  }

  @Operation(fileVersionOperations.undelete)
  @Access('write', 'object')
  undelete(
    @Resource() object: ObjectRow,
    @Param('version') version: string,
    @CurrentCaller() caller: Caller,
  ): Promise<object> {
    return this.#setDeleted(object, version, caller, false);
  }

  @Operation(fileVersionOperations.delete)
  @Access('write', 'object')
  delete(
    @Resource() object: ObjectRow,
    @Param('version') version: string,
    @CurrentCaller() caller: Caller,
  ): Promise<object> {
    return this.#setDeleted(object, version, caller, true);
  }

  @Operation(fileVersionOperations.restore)
  @Access('write', 'object')
  async restore(
    @Resource() object: ObjectRow,
    @Body() body: unknown,
    @CurrentCaller() { user }: Caller,
  ): Promise<object> {
    const form = new Form(body);
    const { versionId } = restoreVersionBody.parse(form);
    const revision = readId(versionId) ?? 0;
    requireFile(object);
    const { catalog, data } = this.context;
    const row = await catalog.fileVersions.get(object.id, revision);
    if (row === undefined || row.deletedAt !== null)
      form.fail('version_id', `The file has no version ${JSON.stringify(String(versionId).slice(0, 50))}.`); // prettier-ignore
    else if (row.availability !== 'available') form.fail('version_id', noContentMessage(row));
    else if (revision === object.revision)
      form.fail('version_id', `Version ${revision} is the current one.`);
    form.throwIfInvalid();
    const scratchPath = uploadScratchPath(this.context, object.id);
    const path = data.object(object.id, revision);
    if (!fileExists(path)) throw notFoundError(); // the content was removed meanwhile
    await linkFile(path, scratchPath);
    try {
      const content = { bytes: row!.size, md5: row!.md5, mimetype: row!.mimetype };
      const target = { id: object.id, userId: user.id };
      const newRevision = await publishUpload(this.context, target, scratchPath, content);
      const [currentObject, version] = [await catalog.objects.get(object.id), await catalog.fileVersions.get(object.id, newRevision)]; // prettier-ignore
      if (currentObject === undefined || version === undefined) throw notFoundError(); // the file or the version was deleted meanwhile
      return versionView(this.context, currentObject, version);
    } catch (error) {
      await removeQuietly(scratchPath);
      throw error;
    }
  }

  async #setDeleted(
    { id }: ObjectRow,
    version: string,
    caller: Caller,
    isDeleted: boolean,
  ): Promise<object> {
    const { catalog, scheduler } = this.context;
    const changedVersion = await catalog.transaction(async (tx) => {
      const object = await requireResource(tx, caller, 'object', id, 'write');
      const row = await requireVersion(tx, object, version);
      return tx.fileVersions.setDeleted(row, isDeleted);
    });
    await scheduler.fileTables.drop(id);
    const object = await catalog.objects.get(id);
    if (object === undefined) throw notFoundError(); // the file was deleted meanwhile
    return versionView(this.context, object, changedVersion);
  }
}

/**
 * Returns the version of a file by its number in the address of the request. Throws `not-found` if there is none, and `invalid` if the object
 * is no file.
 */
async function requireVersion(
  tables: Tables,
  object: ObjectRow,
  version: string,
): Promise<FileVersionRow> {
  requireFile(object);
  const row = await tables.fileVersions.get(object.id, readId(version) ?? 0);
  if (row === undefined) throw notFoundError();
  return row;
}

function requireFile({ objectType }: ObjectRow): void {
  if (objectType !== 'file')
    throw new AppError('invalid', `Only files have versions; this is a ${objectType}.`);
}

function noContentMessage({ revision }: FileVersionRow): string {
  return `Version ${revision} has not been uploaded yet.`;
}

async function versionView(
  { catalog }: AppContext,
  { revision }: ObjectRow,
  row: FileVersionRow,
): Promise<object> {
  const user = await catalog.users.get(row.userId);
  return fileVersion.view(row, { user, isCurrent: row.revision === revision });
}

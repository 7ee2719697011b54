import { Controller, Param, Query, Req, Res } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { notFoundError } from '../../../engine/core/errors.js';
import { readFileStats } from '../../../engine/core/files.js';
import { Public } from '../../http/access-rule.js';
import { readId } from '../../http/form.js';
import { sendFile, type StoredDownload } from './send-file.js';
import { Operation } from '../../http/operation.js';
import { downloadOperations } from './content.operations.js';
import type { QueryParams } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import {
  exportFilePath,
  filenameInDisposition,
  requireExportFile,
  requireSignedUrl,
} from './signed-addresses.js';

/** Downloads of stored files by signed addresses, without credentials (contract 6.6, 11.4). */
@Controller()
export class DownloadsController {
  constructor(private readonly context: AppContext) {}

  @Operation(downloadOperations.object)
  @Public()
  async object(
    @Param('id') id: string,
    @Param('revision') revision: string,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<Readable> {
    const object = await requireSignedUrl(this.context, request, 'object', id, 'read');
    const { fileVersions } = this.context.catalog;
    const number = readId(revision) ?? 0;
    const version = await fileVersions.get(object.id, number);
    if (version?.availability !== 'available' || version.deletedAt !== null) throw notFoundError();
    return this.send(
      () => fileVersions.get(object.id, number),
      {
        path: this.context.data.object(object.id, number),
        name: filenameInDisposition(query['response-content-disposition']),
        etag: `"${version.md5 ?? `${object.id}-${number}`}"`,
        idleMs: this.context.limits.idleMs,
      },
      request,
      reply,
    );
  }

  @Operation(downloadOperations.rejected)
  @Public()
  async rejected(
    @Param('id') id: string,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<Readable> {
    const { catalog, data, limits } = this.context;
    const isImport = (await catalog.imports.get(readId(id) ?? 0)) !== undefined;
    const kind = isImport ? 'import' : 'migration';
    const row = await requireSignedUrl(this.context, request, kind, id, 'read');
    if (!(await readFileStats(data.rejectedLines(row.id)))) throw notFoundError();
    return this.send(
      () => (isImport ? catalog.imports : catalog.datasetMigrations).get(row.id),
      {
        path: data.rejectedLines(row.id),
        name: filenameInDisposition(query['response-content-disposition']),
        etag: `"${row.id}"`,
        idleMs: limits.idleMs,
      },
      request,
      reply,
    );
  }

  @Operation(downloadOperations.export)
  @Public()
  async export(
    @Param('id') id: string,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<Readable> {
    const row = await requireSignedUrl(
      this.context,
      request,
      'export',
      id,
      'read',
      requireExportFile,
    );
    const path = exportFilePath(this.context.data, row.id, row.filename!);
    if (!(await readFileStats(path))) throw notFoundError(); // the file of an expired export was deleted a moment ago
    return this.send(
      () => this.context.catalog.exports.get(row.id),
      {
        path,
        name: filenameInDisposition(query['response-content-disposition']),
        etag: `"${row.id}"`,
        idleMs: this.context.limits.idleMs,
      },
      request,
      reply,
    );
  }

  /** Sends the file of a row. Throws a 404 if the row, and its file, were deleted after the row was read. */
  private async send(
    rowOf: () => Promise<object | undefined>,
    download: StoredDownload,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<Readable> {
    try {
      return await sendFile(download, request, reply);
    } catch (error) {
      if ((await rowOf()) === undefined) throw notFoundError(); // the row was deleted meanwhile
      throw error;
    }
  }
}

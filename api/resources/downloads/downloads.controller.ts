import { Controller, Param, Query, Req, Res } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { notFound } from '../../../engine/core/errors.js';
import { fileStats } from '../../../engine/core/files.js';
import { Public } from '../../http/access.js';
import { readId } from '../../http/form.js';
import { sendFile, type StoredDownload } from './send-file.js';
import { Operation } from '../../http/operation.js';
import { downloadOperations } from '../objects/objects.operations.js';
import type { QueryParams } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/request.js';
import { exportFile, nameIn, requireExportFile, requireSigned } from './signed-addresses.js';

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
    const object = await requireSigned(this.context, request, 'object', id, 'read');
    const { fileVersions } = this.context.catalog;
    const number = readId(revision) ?? 0;
    const version = await fileVersions.get(object.id, number);
    if (version?.availability !== 'available' || version.deletedAt !== null) throw notFound();
    return this.send(
      () => fileVersions.get(object.id, number),
      {
        path: this.context.data.object(object.id, number),
        name: nameIn(query['response-content-disposition']),
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
    const row = await requireSigned(this.context, request, kind, id, 'read');
    if (!(await fileStats(data.rejectedLines(row.id)))) throw notFound();
    return this.send(
      () => (isImport ? catalog.imports : catalog.datasetMigrations).get(row.id),
      {
        path: data.rejectedLines(row.id),
        name: nameIn(query['response-content-disposition']),
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
    const row = await requireSigned(this.context, request, 'export', id, 'read', requireExportFile);
    const path = exportFile(this.context.data, row.id, row.filename!);
    if (!(await fileStats(path))) throw notFound(); // swept a moment ago
    return this.send(
      () => this.context.catalog.exports.get(row.id),
      {
        path,
        name: nameIn(query['response-content-disposition']),
        etag: `"${row.id}"`,
        idleMs: this.context.limits.idleMs,
      },
      request,
      reply,
    );
  }

  /** Sends a file of a row; a 404 if the row was deleted after it was read, and the file with it. */
  private async send(
    rowOf: () => Promise<object | undefined>,
    download: StoredDownload,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<Readable> {
    try {
      return await sendFile(download, request, reply);
    } catch (error) {
      if ((await rowOf()) === undefined) throw notFound(); // deleted meanwhile
      throw error;
    }
  }
}

import { Controller, Query, Req, Res } from '@nestjs/common';
import { requireAdministrator } from '../../../engine/catalog/access.js';
import {
  auditActions,
  type AuditFilter,
  type AuditLogTable,
  type AuditRow,
} from '../../../engine/catalog/audit-log.js';
import { invalidError } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { Value } from '../../../engine/core/types.js';
import { csvLayout, delimitedLine } from '../../../engine/query/results/delimited.js';
import { Access, CurrentCaller } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import {
  choiceParams,
  paramIds,
  idParam,
  omitUndefined,
  firstParamValue,
} from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import { ByteStream } from '../../http/reply.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { attachmentHeader } from '../../http/signed-url.js';
import { presenterFor, type Presenter } from '../shared/presenter.js';
import { auditEntry } from './audit-entry.js';

const filterParams = {
  action: { description: 'One or more actions.', example: 'permission.grant,permission.revoke' },
  user_id: { description: 'Who made the change.', example: '3' },
  subject_type: {
    description: 'vault, group, user, invitation, token, application or dataset.',
    example: 'vault',
  },
  subject_id: { description: 'What was changed.', example: '12' },
  since: {
    description:
      'Changes at this time or later: a date or a time of ISO 8601, in UTC without an offset.',
    example: '2026-03-02',
  },
  until: { description: 'Changes before this time.', example: '2099-12-31T18:00:00+01:00' },
};

type AuditEntryView = Readonly<Record<string, unknown>>;

const csvColumns = ['id', 'created_at', 'action', 'user_id', 'user_email', 'subject_type', 'subject_id', 'subject_name', 'details']; // prettier-ignore
const safeCsvLayout = { ...csvLayout, isFormulaSafe: true };

/** A format of the exported audit log. */
interface AuditFileFormat {
  readonly mediaType: string;
  readonly headLine: string;
  line(entry: AuditEntryView): string;
}

/** The formats of the exported audit log by name. The name is the value of `format` in requests and the extension of the file. */
const fileFormats: Readonly<Record<string, AuditFileFormat>> = {
  jsonl: {
    mediaType: 'application/x-ndjson',
    headLine: '',
    line: (entry) => `${stringifyJson(entry as Value)}\n`,
  },
  csv: {
    mediaType: 'text/csv',
    headLine: delimitedLine(csvColumns, safeCsvLayout),
    line: (entry) => {
      const user = entry['user'] as { readonly email: string } | null;
      const cells: AuditEntryView = {
        ...entry,
        user_email: user?.email ?? null,
        details: stringifyJson(entry['details'] as Value),
      };
      const texts = csvColumns.map((key) => {
        const cell = cells[key] as string | number | null;
        return cell === null ? null : String(cell);
      });
      return delimitedLine(texts, safeCsvLayout);
    },
  },
};
const defaultFileFormat = 'jsonl';

export const auditLogOperations = declareOperations('auditLog', 'Audit log', {
  list: {
    method: 'GET',
    paths: ['/v2/audit_log'],
    summary: 'Lists the changes of users, groups, permissions and invitations, newest first; for administrators.', // prettier-ignore
    query: { ...filterParams, ...pagingParams },
    answer: { listOf: auditEntry.schema },
  },
  export: {
    method: 'GET',
    paths: ['/v2/audit_log/export'],
    summary: 'Returns all these changes as a file, newest first; for administrators.',
    query: {
      format: { description: 'csv or jsonl, the default.', example: defaultFileFormat },
      ...filterParams,
    },
    answer: {
      description: 'A line for each change, newest first.',
      examples: Object.fromEntries(
        Object.values(fileFormats).map(({ mediaType, headLine, line }) => [
          mediaType,
          headLine + line(auditEntry.schema.example as AuditEntryView),
        ]),
      ),
    },
  },
});

/** The audit log of the caller's account. */
@Controller()
export class AuditLogController {
  constructor(private readonly context: AppContext) {}

  @Operation(auditLogOperations.list)
  @Access('read')
  list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    requireAdministrator(caller);
    const filter = filterOf(query, caller);
    const presenter = presenterFor(this.context, request);
    return answerList<AuditRow>(request, query, {
      rows: (page) => this.context.catalog.auditLog.list(filter, page),
      views: (rows) => entryViews(presenter, rows),
    });
  }

  @Operation(auditLogOperations.export)
  @Access('read')
  export(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): ByteStream {
    requireAdministrator(caller);
    const name = choiceParams(query, 'format', Object.keys(fileFormats))?.[0] ?? defaultFileFormat;
    const format = fileFormats[name]!;
    const filter = filterOf(query, caller);
    reply.header('Content-Type', format.mediaType);
    reply.header('Content-Disposition', attachmentHeader(`audit_log.${name}`));
    const presenter = presenterFor(this.context, request);
    return new ByteStream(entryLines(this.context.catalog.auditLog, presenter, filter, format));
  }
}

const entriesPerBatch = 1_000;

/** Yields the header line of a file, if the format has one, and the entries as lines. The entries are read in batches. */
async function* entryLines(
  log: AuditLogTable,
  presenter: Presenter,
  filter: AuditFilter,
  { headLine, line }: AuditFileFormat,
): AsyncGenerator<Uint8Array> {
  if (headLine !== '') yield Buffer.from(headLine);
  let beforeId: number | undefined;
  for (;;) {
    const page = { limit: entriesPerBatch, offset: 0 };
    const batchFilter = beforeId === undefined ? filter : { ...filter, beforeId };
    const { rows } = await log.list(batchFilter, page);
    const text = (await entryViews(presenter, rows)).map(line).join('');
    if (text !== '') yield Buffer.from(text);
    if (rows.length < entriesPerBatch) return;
    beforeId = rows.at(-1)!.id;
  }
}

function entryViews(
  presenter: Presenter,
  rows: readonly AuditRow[],
): Promise<readonly AuditEntryView[]> {
  return Promise.all(
    rows.map(async (row) => {
      const actor = row.actorId === null ? undefined : await presenter.loadUser(row.actorId);
      return auditEntry.view(row, { actor });
    }),
  );
}

function filterOf(query: QueryParams, caller: Caller): AuditFilter {
  return {
    accountId: caller.account.id,
    ...omitUndefined<AuditFilter>({
      actions: choiceParams(query, 'action', auditActions),
      actorIds: paramIds(query, 'user_id'),
      subjectType: firstParamValue(query, 'subject_type'),
      subjectId: idParam(query, 'subject_id'),
      since: timeParam(query, 'since'),
      until: timeParam(query, 'until'),
    }),
  };
}

function timeParam(query: QueryParams, name: string): number | undefined {
  const text = firstParamValue(query, name);
  if (text === undefined) return undefined;
  const [, date, clock = 'T00:00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(T[\d:.]+)?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  const millis = date === undefined ? NaN : Date.parse(`${date}${clock}${zone}`);
  if (!Number.isNaN(millis)) return millis;
  throw invalidError(
    name,
    `${JSON.stringify(text.slice(0, 100))} is not a time; write 2026-03-02 or 2026-03-02T09:15:00Z.`,
  );
}

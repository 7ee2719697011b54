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
import { delimitedCell } from '../../../engine/query/results/delimited.js';
import { Access, CurrentCaller } from '../../http/access.js';
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
import type { ApiReply, ApiRequest, Caller } from '../../http/request.js';
import { attachmentHeader } from '../../http/signed-url.js';
import { presenterFor, type Presenter } from '../presenter.js';
import { auditEntry } from './audit-entry.js';

const filterParams = {
  action: 'One or more actions.',
  user_id: 'Who made the change.',
  subject_type: 'vault, group, user, invitation, token, application or dataset.',
  subject_id: 'What was changed.',
  since: 'Changes at this time or later: a date or a time of ISO 8601, in UTC without an offset.',
  until: 'Changes before this time.',
};

/** The HTTP operations on the audit log. */
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
    query: { format: 'csv or jsonl, the default.', ...filterParams },
    answer: 'bytes',
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
    const format = choiceParams(query, 'format', ['csv', 'jsonl'])?.[0] ?? 'jsonl';
    const filter = filterOf(query, caller);
    reply.header('Content-Type', format === 'csv' ? 'text/csv' : 'application/x-ndjson');
    reply.header('Content-Disposition', attachmentHeader(`audit_log.${format}`));
    const presenter = presenterFor(this.context, request);
    return new ByteStream(entryLines(this.context.catalog.auditLog, presenter, filter, format));
  }
}

const entriesPerBatch = 1_000;

/** The entries as lines of a file, read in batches. */
async function* entryLines(
  log: AuditLogTable,
  presenter: Presenter,
  filter: AuditFilter,
  format: 'csv' | 'jsonl',
): AsyncGenerator<Uint8Array> {
  if (format === 'csv') yield Buffer.from(`${csvColumns.join(',')}\r\n`);
  let beforeId: number | undefined;
  for (;;) {
    const page = { limit: entriesPerBatch, offset: 0 };
    const next = beforeId === undefined ? filter : { ...filter, beforeId };
    const { rows } = await log.list(next, page);
    const text = (await entryViews(presenter, rows))
      .map((entry) => (format === 'csv' ? csvLine(entry) : `${stringifyJson(entry as Value)}\n`))
      .join('');
    if (text !== '') yield Buffer.from(text);
    if (rows.length < entriesPerBatch) return;
    beforeId = rows.at(-1)!.id;
  }
}

const csvColumns = ['id', 'created_at', 'action', 'user_id', 'user_email', 'subject_type', 'subject_id', 'subject_name', 'details']; // prettier-ignore

function csvLine(entry: Readonly<Record<string, unknown>>): string {
  const user = entry['user'] as { readonly email: string } | null;
  const cells: Readonly<Record<string, unknown>> = {
    ...entry,
    user_email: user?.email ?? null,
    details: stringifyJson(entry['details'] as Value),
  };
  const texts = csvColumns.map((key) => {
    const cell = cells[key] as string | number | null;
    return delimitedCell(cell === null ? null : String(cell), true, ',');
  });
  return `${texts.join(',')}\r\n`;
}

function entryViews(
  presenter: Presenter,
  rows: readonly AuditRow[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return Promise.all(
    rows.map(async (row) => {
      const actor = row.actorId === null ? undefined : await presenter.user(row.actorId);
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

import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import { taskClasses, type TaskClass, type TaskRow } from '../../../engine/catalog/task-row.js';
import type { TaskFilter, TaskOrdering } from '../../../engine/catalog/tasks.js';
import { invalidError, notFoundError } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access-rule.js';
import { isCancelRequest } from '../jobs/cancel-job.js';
import { TaskPresenter } from './task-presenter.js';
import { taskStatuses } from '../jobs/job-view.js';
import { taskTypeByKind } from './task.js';
import {
  choiceParams,
  paramIds,
  omitUndefined,
  firstParamValue,
  paramValues,
} from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { taskOperations } from './tasks.operations.js';
import { answerList, type QueryParams } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { requireResource } from '../../http/require-resource.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { waitAsPreferred } from '../jobs/preferred-wait.js';

/** Tasks, which show clients the progress of their jobs (contract 15). */
@Controller()
export class TasksController {
  constructor(private readonly context: AppContext) {}

  @Operation(taskOperations.list)
  @Access('read')
  list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const presenter = new TaskPresenter(this.context, request);
    return answerList<TaskRow>(request, query, {
      defaultLimit: 10, // contract 3.2
      rows: (page) => this.context.catalog.tasks.list(taskFilter(query, caller), page),
      views: (rows) => presenter.presentEach(rows, (row) => presenter.taskView(row)),
    });
  }

  @Operation(taskOperations.get)
  @Access('read', 'task')
  async get(
    @Resource() task: TaskRow,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const hasWaited = await waitAsPreferred(this.context, task.id, request, reply);
    // The caller's permissions may have changed while the request waited for the end of the task.
    const currentTask = hasWaited
      ? await requireResource(this.context.catalog, caller, 'task', task.id, 'read')
      : task;
    return new TaskPresenter(this.context, request).taskView(currentTask, true);
  }

  @Operation(taskOperations.put)
  @Access('write', 'task')
  put(
    @Resource() task: TaskRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(task, body, request);
  }

  @Operation(taskOperations.patch)
  @Access('write', 'task')
  async patch(
    @Resource() task: TaskRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    if (isCancelRequest(body, request)) await this.context.scheduler.cancel(task.id);
    const row = await this.context.catalog.tasks.get(task.id);
    if (!row) throw notFoundError(); // the task was deleted meanwhile
    return new TaskPresenter(this.context, request).taskView(row, true);
  }
}

function taskFilter(query: QueryParams, caller: Caller): TaskFilter {
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<TaskFilter>({
      ids: paramIds(query, 'id'),
      statuses: choiceParams(query, 'status', taskStatuses),
      kinds: kindsParam(query),
      classes: classesParam(query, caller),
      targetObjectIds: paramIds(query, 'target_object_id'),
      sourceObjectIds: paramIds(query, 'source_object_id'),
      parentIds: paramIds(query, 'parent_task_id'),
      userIds: paramIds(query, 'user_id') ?? paramIds(query, 'user'),
      ordering: orderingParam(query),
    }),
  };
}

/** Returns the kinds of task that `task_type` names; empty if it names only unknown types. */
function kindsParam(query: QueryParams): readonly string[] | undefined {
  const requestedTypes = paramValues(query, 'task_type').flatMap((text) => text.split(','));
  if (requestedTypes.length === 0) return undefined;
  return [...taskTypeByKind]
    .filter(([, { type }]) => requestedTypes.includes(type))
    .map(([kind]) => kind);
}

/**
 * Choice: standalone tasks that the server adds, such as merges of segments, and also those for which a query waits, such as tables of
 * uploaded files, have the class `background`. They are in no list unless an administrator of the account asks for `class=background`, or
 * for a `task_type` without a class; for other users they do not exist.
 */
function classesParam(query: QueryParams, caller: Caller): readonly TaskClass[] | undefined {
  const hasTypeParam = firstParamValue(query, 'task_type') !== undefined;
  const wantedClasses = choiceParams(query, 'class', taskClasses) ?? (hasTypeParam ? taskClasses : undefined); // prettier-ignore
  return caller.user.role === 'member'
    ? wantedClasses?.filter((one) => one !== 'background')
    : wantedClasses;
}

const orderingByParam = new Map<string, TaskOrdering>([
  ['id', 'id'],
  ['created_at', 'createdAt'],
  ['updated_at', 'updatedAt'],
  ['priority', 'priority'],
  ['status', 'status'],
]);

function orderingParam(query: QueryParams): TaskFilter['ordering'] {
  const text = firstParamValue(query, 'ordering');
  if (text === undefined) return undefined;
  const isDescending = text.startsWith('-');
  const orderBy = orderingByParam.get(isDescending ? text.slice(1) : text);
  if (orderBy !== undefined) return { by: orderBy, isDescending };
  throw invalidError(
    'ordering',
    `Use one of ${[...orderingByParam.keys()].join(', ')}, with - in front for descending.`,
  );
}

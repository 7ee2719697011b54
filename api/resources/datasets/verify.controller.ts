import { Body, Controller, Req, Res } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { verificationJson } from '../../../scheduler/jobs/verify/verify.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';
import {
  answerSchema,
  bodySchema,
  boolean,
  id,
  integer,
  listOf,
  reference,
  text,
  type NamedSchema,
} from '../../http/json-schema.js';
import { TaskPresenter } from '../tasks/task-presenter.js';
import { datasetPaths } from '../shared/dataset.js';
import { filesOnDiskType } from './disk-use.controller.js';

const differenceSchema = answerSchema('Difference', 'What is wrong with a file of a dataset.', {
  path: {
    type: text,
    description:
      'The file, relative to the folder of the dataset; the log is `_delta_log`, the archive `archives/<id>.tar.zst`.',
    example: 'mh8x2k1q-0a1b2c3d4e5f-00000.parquet',
  },
  problem: { type: text, example: 'does not match its checksum' },
});

const verificationSchema = answerSchema(
  'Verification',
  'What a verification of a dataset has found.',
  {
    is_whole: { type: boolean, description: 'True if nothing differs.', example: true },
    version: {
      type: integer,
      description: 'The version of the log that was verified; -1 before the first commit.',
      example: 12,
    },
    files: {
      type: integer,
      description: 'Number of files of the version that were read; 1 if the dataset is archived.',
      example: 3,
    },
    records: { type: integer, example: 1204 },
    bytes: { type: integer, description: 'Size of the files together.', example: 88_120 },
    old_versions: {
      type: filesOnDiskType,
      description: 'Files that only earlier versions need; they were read as well.',
      example: { files: 16, bytes: 40_960 },
    },
    differences: {
      type: listOf(reference('Difference')),
      description: 'What differs from the log or the catalogue, up to eleven for each file.',
      example: [],
    },
    task_id: {
      type: id,
      description: 'The background task that read the files, which administrators see.',
      example: 5120,
    },
  },
);

const verificationOrTask: NamedSchema = {
  name: 'VerificationOrTask',
  schema: {
    description: 'What a verification has found, or the task that will tell.',
    anyOf: [reference('Verification').schema, reference('Task').schema],
    example: verificationSchema.example,
  },
  example: verificationSchema.example,
};

const verifyBody = bodySchema('VerifyDataset', 'How a dataset is verified.', {
  wait: {
    type: boolean,
    initial: true,
    description:
      'false: answers with a task at once, whose `task_object.result` has what was found once it has completed.',
    example: true,
  },
});

export const verifySchemas = [differenceSchema, verificationSchema, verificationOrTask, verifyBody];

export const verifyOperations = declareOperations('datasets', 'Datasets', {
  verify: {
    method: 'POST',
    paths: datasetPaths('/verify'),
    summary:
      'Reads every file of the newest version and of the earlier ones that are kept, or the archive of an archived dataset, compares it with its checksums, counts and statistics, and names what differs. Answers when all is read, or, with `wait: false`, with the task that reads it.',
    body: verifyBody,
    answer: verificationOrTask,
  },
});

/**
 * Verifies datasets.
 * Choice: anybody who may read a dataset may verify it. The request waits for the task, and the task is canceled if the client
 * disconnects. With `wait: false`, the request does not wait: the task is listed among the user's tasks and keeps its result. A dataset
 * that the server refuses to use can be verified as well; the answer then names its log. Of an archived dataset the archive is verified.
 */
@Controller()
export class VerifyController {
  constructor(private readonly context: AppContext) {}

  @Operation(verifyOperations.verify)
  @Access('read', 'dataset')
  async verify(
    @Resource() dataset: DatasetRow,
    @Body() body: unknown,
    @CurrentCaller() { user }: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const { scheduler } = this.context;
    const { wait: waits } = verifyBody.parse(body);
    const order = {
      description: 'Verify the files of a dataset',
      sourceObjectId: dataset.id,
      params: {},
    };
    if (!waits) {
      const queuedTask = await scheduler.enqueue('verify', { ...order, userId: user.id });
      return new TaskPresenter(this.context, request).taskView(queuedTask, true);
    }
    const signal = connectionClosedSignal(request, reply);
    const { task, result } = await scheduler.enqueueAndWait('verify', order, signal);
    return { ...verificationJson(result), task_id: task.id };
  }
}

import { Controller, Req, Res } from '@nestjs/common';
import { isSameSecret } from '../../../engine/catalog/secrets.js';
import { budgets } from '../../../engine/core/budgets.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { readFreeBytes } from '../../../engine/core/files.js';
import { Public } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { isLocal } from '../../http/forwarded.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import { answerSchema, enumOf, strings } from '../../http/json-schema.js';

const livenessAnswer = answerSchema('Liveness', 'Whether the API process runs.', {
  status: { type: enumOf('ok'), example: 'ok' },
});
const readinessAnswer = answerSchema(
  'Readiness',
  'Whether requests can be answered and tasks run.',
  {
    status: { type: enumOf('ready', 'not ready'), example: 'ready' },
    problems: { type: strings, description: 'What is missing.', example: [] },
  },
);

export const monitoringSchemas = [livenessAnswer, readinessAnswer];

/** Some of the metrics, in the order of the answer. */
const metricsExample = `# HELP strandlake_records Records of all datasets.
# TYPE strandlake_records gauge
strandlake_records 69302
# HELP strandlake_datasets Number of datasets.
# TYPE strandlake_datasets gauge
strandlake_datasets 1
# HELP strandlake_worker_up Whether the worker process runs.
# TYPE strandlake_worker_up gauge
strandlake_worker_up 1
# EOF
`;

export const monitoringOperations = declareOperations('', 'Service', {
  healthz: {
    method: 'GET',
    paths: ['/healthz'],
    summary: 'Answers 200 when the API process runs.',
    answer: livenessAnswer,
  },
  readyz: {
    method: 'GET',
    paths: ['/readyz'],
    summary:
      'Answers 200 when the catalogue answers, the worker runs and the disk has space, else 503.',
    answer: readinessAnswer,
  },
  metrics: {
    method: 'GET',
    paths: ['/metrics'],
    summary: 'The metrics of the server, in the text format of OpenMetrics.',
    answer: {
      description: 'Each metric has a line with its meaning, a line with its type, and its values.',
      examples: { 'application/openmetrics-text': metricsExample },
    },
  },
});

/**
 * The health and the metrics of the server, for monitoring.
 * Choice: metrics are read with the credential `--metrics-token`, as `Authorization: Bearer`. Without that setting, only clients on the
 * same machine that do not come through a proxy may read them. For everybody else they do not exist, because they tell how much is stored
 * and requested.
 */
@Controller()
export class MonitoringController {
  constructor(private readonly context: AppContext) {}

  @Operation(monitoringOperations.healthz)
  @Public()
  healthz(): object {
    return { status: 'ok' };
  }

  @Operation(monitoringOperations.readyz)
  @Public()
  async readyz(@Res({ passthrough: true }) reply: ApiReply): Promise<object> {
    const { catalog, scheduler, data } = this.context;
    const problems: string[] = [];
    await catalog.isIssued(0).catch(() => problems.push('the catalogue does not answer'));
    if (scheduler.status().workerPid === null) problems.push('the worker process does not run');
    const freeBytes = await readFreeBytes(data.root).catch(() => 0);
    if (freeBytes < budgets.diskReserveBytes) problems.push('the disk of the data folder is full');
    if (problems.length > 0) reply.code(503);
    return { status: problems.length > 0 ? 'not ready' : 'ready', problems };
  }

  @Operation(monitoringOperations.metrics)
  @Public()
  async metrics(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const { config, metrics } = this.context;
    const secret = config.metricsToken ?? null;
    const givenToken = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const isAllowed = secret === null ? isLocal(request.raw) : isSameSecret(givenToken, secret);
    if (!isAllowed) throw notFoundError();
    reply.header('Content-Type', metrics.contentType);
    return metrics.renderOpenMetrics();
  }
}

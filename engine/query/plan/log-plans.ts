import { formatLogLine, type LogSink } from '../../core/server-log.js';
import { predicateText } from '../predicate/kinds/index.js';
import { stepText } from './plan.js';
import type { PlanListener } from './query-engine.js';

/** Returns a listener that writes each plan to the log. */
export function logPlansTo(log: LogSink): PlanListener {
  return ({ steps, ...rest }, { datasetId }, predicate) =>
    log(
      formatLogLine('plan', {
        subject: `dataset ${datasetId}`,
        condition: predicateText(predicate),
        ...rest,
        steps: steps.map(stepText).join('; '),
      }),
    );
}

import { formatLogLine, type LogSink } from '../../core/server-log.js';
import { predicateText } from '../predicate/kinds/index.js';
import { stepText } from './plan.js';
import type { PlanTrace } from './query-engine.js';

/** Returns a trace that writes each plan to the log. */
export function planTrace(log: LogSink): PlanTrace {
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

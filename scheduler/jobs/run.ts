import type { RunContext, RunnableKind, TaskMap } from './job.js';
import { runExport } from './export/run.js';
import { runImport } from './import/run.js';

/** The `run` half of every kind: all that the worker process knows of tasks, and free of the catalogue. */
const runs: { readonly [K in RunnableKind]: Run<K> } = { import: runImport, export: runExport };

type Run<K extends RunnableKind> = (
  params: TaskMap[K]['params'],
  context: RunContext,
) => Promise<TaskMap[K]['result']>;

/** Runs a task of any kind; `params` are what the kind's `prepare` made. */
export function runTask(
  kind: RunnableKind,
  params: unknown,
  context: RunContext,
): Promise<unknown> {
  return (runs[kind] as Run<RunnableKind>)(params as never, context);
}

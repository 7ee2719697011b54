import type { RunnableKind, TaskType } from './job.js';
import { exportTask } from './export/export.js';
import { importTask } from './import/import.js';

/** The API process's half of every kind; `run.ts` has the worker's. */
export const taskTypes: { readonly [K in RunnableKind]: TaskType<K> } = {
  import: importTask,
  export: exportTask,
};

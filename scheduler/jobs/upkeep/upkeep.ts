import type { Store } from '../../../engine/store/store.js';

/** Work that the server does on a dataset by itself, as a background task. */
export interface UpkeepKind {
  /** The kind of job that does the upkeep. */
  readonly kind: string;
  /** The description of the upkeep's tasks. */
  readonly description: string;
  /** The message for the operator when the upkeep fails; the reason follows it. */
  readonly failure: string;
  /** Whether the upkeep may be due again immediately after it was done. */
  readonly repeats: boolean;
  isDue(store: Store, datasetId: number, isQuiet: boolean): Promise<boolean>;
}

/** All kinds of upkeep, in the order in which they are run. */
export const upkeepKinds: readonly UpkeepKind[] = [
  {
    kind: 'merge',
    description: 'Merge small segments',
    failure: 'segments were not merged',
    repeats: true,
    isDue: async (store, id, isQuiet) => (await store.mergeable(id, isQuiet)) !== undefined,
  },
  {
    kind: 'vacuum',
    description: 'Remove files of earlier versions',
    failure: 'files of earlier versions were not removed',
    repeats: false,
    isDue: (store, id) => store.isVacuumDue(id),
  },
  {
    kind: 'checkpoint',
    description: 'Write a checkpoint of the log',
    failure: 'no checkpoint of the log was written',
    repeats: false,
    isDue: (store, id) => store.isCheckpointDue(id),
  },
];

/** A state of a record in the model of a dataset. */
export interface ModelRecord extends RecordValues {
  readonly id: string;
  /** The position of the record among all records; all its states share it. */
  readonly place: number;
  /** The number of the commit that added this state; `deletedBy` is the commit that deleted or replaced it. */
  readonly addedBy: number;
  deletedBy: number | undefined;
  /** Whether the commit that added this state was rolled back. */
  isGone: boolean;
}

/** The fields of a record. Every record has a different `n`. */
export interface RecordValues {
  readonly n: number;
  readonly word: string;
  readonly info: InfoMembers;
}

/** An object whose members an upsert replaces one by one. */
export interface InfoMembers {
  readonly a?: number;
  readonly b?: readonly string[];
}

/** How a commit changes records. */
export type ChangeMode = 'append' | 'overwrite' | 'upsert' | 'delete';

/** A commit in the model of a dataset. */
export interface ModelCommit {
  readonly id: number;
  readonly mode: ChangeMode | 'rollback';
  isRolledBack: boolean;
  /** The time at which the model learned of the commit, soon after its creation, by the clock of the store. */
  readonly madeAt: number;
  /** The records after the commit. */
  after: readonly ModelRecord[];
}

/** A store clock that runs ahead, so that versions leave the window, with counts of the effects. */
export interface FastClock {
  aheadMs: number;
  readonly keepVersionsMs: number;
  vacuums: number;
  /** The number of refused reads of removed versions; `lost` is the number of rollbacks refused because a merge has dropped records. */
  gone: number;
  lost: number;
}

/** A model of a dataset: a simple list of the states that records have had, and a list of commits. */
export class VersionModel {
  readonly records: ModelRecord[] = [];
  readonly commits: ModelCommit[] = [];
  /** The clock of the store; undefined if it is the clock of the machine. */
  readonly clock: FastClock | undefined;
  #placeCount = 0;

  constructor(clock: FastClock | undefined) {
    this.clock = clock;
  }

  /** The records of the newest version, in their order. */
  get recordsAlive(): readonly ModelRecord[] {
    const liveRecords = this.records.filter((one) => one.deletedBy === undefined && !one.isGone);
    return liveRecords.sort((a, b) => a.place - b.place);
  }

  /** Adds a record state; by default, its place is after all other records. */
  addRecord(values: RecordValues, id: string, addedBy: number, place = this.#placeCount++): void {
    const { n, word, info } = values;
    this.records.push({ n, word, info, id, place, addedBy, deletedBy: undefined, isGone: false });
  }

  /** Adds a commit to the model; returns its number. */
  addCommit(id: number, mode: ModelCommit['mode']): number {
    return this.commits.push({ id, mode, isRolledBack: false, madeAt: this.#now, after: [] }) - 1;
  }

  /** Rolls a commit back in the model; returns the number of records that were removed, were restored or got their earlier values. */
  rollBack(number: number): number {
    const changedIds = new Set<string>();
    for (const one of this.records) {
      if (one.addedBy === number && !one.isGone) {
        one.isGone = true;
        if (one.deletedBy === undefined) changedIds.add(one.id);
      }
      if (one.deletedBy === number) {
        one.deletedBy = undefined;
        changedIds.add(one.id);
      }
    }
    this.commits[number]!.isRolledBack = true;
    return changedIds.size;
  }

  /** Returns the numbers of the commits that prevent the rollback of a commit. */
  blockingCommits(number: number): ReadonlySet<number> {
    const addedRecords = this.records.filter((one) => one.addedBy === number && !one.isGone);
    const blockingNumbers = new Set(addedRecords.flatMap(({ deletedBy }) => deletedBy ?? []));
    if (blockingNumbers.size > 0) return blockingNumbers;
    // A record that the rollback restores must not have been added again by a later commit.
    const restoredRecords = this.records.filter(({ deletedBy }) => deletedBy === number);
    const restoredIds = new Set(restoredRecords.map(({ id }) => id));
    for (const one of this.recordsAlive)
      if (one.addedBy !== number && restoredIds.has(one.id)) blockingNumbers.add(one.addedBy);
    return blockingNumbers;
  }

  get #now(): number {
    return Date.now() + (this.clock?.aheadMs ?? 0);
  }

  /** Whether a commit is so old that the records that it deleted may have been dropped. */
  isBeforeWindow({ madeAt }: ModelCommit): boolean {
    return this.clock !== undefined && madeAt <= this.#now - this.clock.keepVersionsMs;
  }

  /** Whether the version of a commit need no longer be kept: the next commit replaced it at least `keepVersionsMs` ago. */
  hasLeftWindow(number: number): boolean {
    const nextCommit = this.commits[number + 1];
    return nextCommit !== undefined && this.isBeforeWindow(nextCommit);
  }
}

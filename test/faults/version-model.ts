/** A state of a record in the model. */
export interface ModelRecord extends RecordValues {
  readonly id: string;
  /** The position among all records, which all states of a record share. */
  readonly place: number;
  /** Number of the commit that added it, and of the one that deleted or replaced it. */
  readonly addedBy: number;
  deletedBy: number | undefined;
  /** The commit that added it was rolled back. */
  isGone: boolean;
}

/** The fields of a record. `n` is different in all records. */
export interface RecordValues {
  readonly n: number;
  readonly word: string;
  readonly info: Info;
}

/** An object of which an upsert replaces single members. */
export interface Info {
  readonly a?: number;
  readonly b?: readonly string[];
}

/** How a commit changes records. */
export type ChangeMode = 'append' | 'overwrite' | 'upsert' | 'delete';

/** A commit in the model. */
export interface ModelCommit {
  readonly id: number;
  readonly mode: ChangeMode | 'rollback';
  isRolledBack: boolean;
  /** The time of its creation, by the clock of the store. */
  readonly madeAt: number;
  /** The records after it. */
  after: readonly ModelRecord[];
}

/** A clock of the store that runs ahead, so that versions leave the window, and what has come of it. */
export interface FastClock {
  aheadMs: number;
  readonly keepVersionsMs: number;
  vacuums: number;
  /** Number of versions that could not be read any more, and of deletions that could not be taken back. */
  gone: number;
  lost: number;
}

/** A dataset as a plain list of records and a list of commits. */
export class VersionModel {
  readonly records: ModelRecord[] = [];
  readonly commits: ModelCommit[] = [];
  /** The clock of the store, unless it is that of the machine. */
  readonly clock: FastClock | undefined;
  #places = 0;

  constructor(clock: FastClock | undefined) {
    this.clock = clock;
  }

  /** The records of the newest version, in their order. */
  get live(): readonly ModelRecord[] {
    const liveRecords = this.records.filter((one) => one.deletedBy === undefined && !one.isGone);
    return liveRecords.sort((a, b) => a.place - b.place);
  }

  /** Adds a record; without a place, behind all others. */
  put(values: RecordValues, id: string, addedBy: number, place = this.#places++): void {
    const { n, word, info } = values;
    this.records.push({ n, word, info, id, place, addedBy, deletedBy: undefined, isGone: false });
  }

  /** Adds a commit; returns its number. */
  commit(id: number, mode: ModelCommit['mode']): number {
    return this.commits.push({ id, mode, isRolledBack: false, madeAt: this.#now, after: [] }) - 1;
  }

  /** Takes a commit back; returns the number of records that were removed or restored. */
  rollBack(number: number): number {
    let changedCount = 0;
    for (const one of this.records) {
      if (one.addedBy === number && !one.isGone) {
        one.isGone = true;
        if (one.deletedBy === undefined) changedCount++;
      }
      if (one.deletedBy === number) {
        one.deletedBy = undefined;
        changedCount++;
      }
    }
    this.commits[number]!.isRolledBack = true;
    return changedCount;
  }

  /** The numbers of the commits that are in the way of a rollback. */
  blockers(number: number): ReadonlySet<number> {
    const added = this.records.filter((one) => one.addedBy === number && !one.isGone);
    const inTheWay = new Set(added.flatMap(({ deletedBy }) => deletedBy ?? []));
    if (inTheWay.size > 0) return inTheWay;
    // A record that comes back must not have been added again meanwhile.
    const restored = this.records.filter(({ deletedBy }) => deletedBy === number);
    const restoredIds = new Set(restored.map(({ id }) => id));
    for (const one of this.live)
      if (one.addedBy !== number && restoredIds.has(one.id)) inTheWay.add(one.addedBy);
    return inTheWay;
  }

  get #now(): number {
    return Date.now() + (this.clock?.aheadMs ?? 0);
  }

  /** Whether what a commit deleted may be gone. */
  isBeforeWindow({ madeAt }: ModelCommit): boolean {
    return this.clock !== undefined && madeAt <= this.#now - this.clock.keepVersionsMs;
  }

  /** Whether the version of a commit, by its number, has left the window: another commit followed too long ago. */
  isOld(number: number): boolean {
    const next = this.commits[number + 1];
    return next !== undefined && this.isBeforeWindow(next);
  }
}

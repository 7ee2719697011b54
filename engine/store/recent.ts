import type { Snapshot } from './store.js';

/** Snapshots of earlier versions are small: their segments are shared with those of the versions beside them. */
const most = 64;

/** The earlier versions that were asked for or current last: whoever walks over one does not replay the log for each page. */
export class RecentVersions {
  /** The one used last comes last. */
  readonly #snapshots = new Map<string, Snapshot>();

  get(datasetId: number, version: number): Snapshot | undefined {
    const snapshot = this.#snapshots.get(`${datasetId} ${version}`);
    if (snapshot !== undefined) this.add(snapshot);
    return snapshot;
  }

  add(snapshot: Snapshot): void {
    const key = `${snapshot.datasetId} ${snapshot.version}`;
    this.#snapshots.delete(key);
    this.#snapshots.set(key, snapshot);
    for (const oldest of this.#snapshots.keys()) {
      if (this.#snapshots.size <= most) return;
      this.#snapshots.delete(oldest);
    }
  }

  /** Forgets a dataset that was dropped. */
  forget(datasetId: number): void {
    for (const key of this.#snapshots.keys()) {
      if (key.startsWith(`${datasetId} `)) this.#snapshots.delete(key);
    }
  }
}

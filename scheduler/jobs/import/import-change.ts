import type { ReplaceableRows } from '../../../engine/change/replace-by-batch.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { applyChange } from '../change/apply-change.js';
import { searchedFiles } from '../change/find-changed.js';
import type { RecordChange } from '../change/record-change.js';
import type { RunContext } from '../job.js';
import type { ImportResult } from './import-types.js';
import { locationInSource } from './located-chunks.js';
import type { SourceRun } from './source-run.js';

/** Finds the stored records that the records of an import name, and prepares their change. */
export class ImportChange {
  /**
   * Returns the stored records that chunks may replace as soon as they have been read; undefined if chunks are written as intermediate
   * segments. These are records of the version at the beginning of the import, which is run again if another commit of records follows that
   * version. So only an import of one small source that overwrites or updates records by their `_id` does this.
   */
  readonly findReplaceable: (() => Promise<ReplaceableRows | undefined>) | undefined;
  readonly #change: RecordChange;
  readonly #context: RunContext;
  /** The version of the dataset in which the chunks have found the records to change. */
  #snapshot: Snapshot | undefined;

  constructor(change: RecordChange, sources: number, context: RunContext) {
    this.#change = change;
    this.#context = context;
    const { mode, idFields } = change;
    if (sources === 1 && mode !== 'delete' && idFields === null)
      this.findReplaceable = () => this.#replaceable(mode === 'upsert');
  }

  /** Returns the result of the import after its change: the segments are those to be committed. */
  async applyToResult(result: ImportResult, runs: readonly SourceRun[]): Promise<ImportResult> {
    const all = runs.flatMap((run) => run.locatedChunks());
    const chunks = all.filter(({ result: { segment } }) => segment !== null);
    const origins = {
      // Those of rejected records, too: a field of the key that no record has fails the import.
      seen: all.filter(({ result: { read } }) => read > 0).map((chunk) => chunk.result.columns),
      replaced: chunks.map((chunk) => chunk.result.replaced),
      locationOf: (segment: number, row: number) => locationInSource(chunks[segment]!, row),
    };
    const snapshot = this.#snapshot ?? (await this.#context.snapshot(this.#change.datasetId));
    return applyChange(this.#change, result, origins, snapshot, this.#context);
  }

  async #replaceable(keepsOthers: boolean): Promise<ReplaceableRows | undefined> {
    const snapshot = await this.#context.snapshot(this.#change.datasetId);
    if (snapshot.segments.every(({ idRuns }) => idRuns === undefined)) return undefined;
    this.#snapshot = snapshot;
    return { segments: searchedFiles(snapshot), columns: snapshot.columns, keepsOthers };
  }
}

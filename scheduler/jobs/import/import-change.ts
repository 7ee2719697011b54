import type { ReplaceableRows } from '../../../engine/change/replace-by-batch.js';
import { AppError } from '../../../engine/core/errors.js';
import type { JsonObject } from '../../../engine/core/types.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { applyChange } from '../change/apply-change.js';
import { searchedFiles } from '../change/find-changed.js';
import type { RecordChange } from '../change/record-change.js';
import { TaskFailure, type RunContext } from '../job.js';
import type { ImportResult } from './import-types.js';
import type { SourceRun } from './source-run.js';

/** The changes of stored records that an import makes. */
export class ImportChange {
  /**
   * The records that chunks may replace as soon as they have been read; undefined if chunks are to be written as intermediate segments. The import is run again if
   * another commit follows the version that has these records, so that only imports of one source do this, and only those of them that take a moment.
   */
  readonly replaceable: (() => Promise<ReplaceableRows | undefined>) | undefined;
  readonly #change: RecordChange;
  readonly #context: RunContext;
  /** The version in which the chunks have found the records to change. */
  #snapshot: Snapshot | undefined;

  constructor(change: RecordChange, sources: number, context: RunContext) {
    this.#change = change;
    this.#context = context;
    const { mode, idFields } = change;
    if (sources === 1 && mode !== 'delete' && idFields === null)
      this.replaceable = () => this.#replaceable(mode === 'upsert');
  }

  /** The result of the import with the change: its segments are those to be committed. */
  async apply(result: ImportResult, runs: readonly SourceRun[]): Promise<ImportResult> {
    const replacedSegments = runs.flatMap((run) =>
      run.results().flatMap((chunk) => (chunk.segment === null ? [] : [chunk.replaced])),
    );
    const { segments, columns } = result;
    try {
      const givenRecords = { segments, columns, replaced: replacedSegments };
      const snapshot = this.#snapshot ?? (await this.#context.snapshot(this.#change.datasetId));
      return {
        ...result,
        ...(await applyChange(this.#change, givenRecords, snapshot, this.#context)),
      };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'input') throw error;
      const receipt = { ...(result.metadata['receipt'] as JsonObject), is_committed: false };
      throw new TaskFailure(error, { ...result.metadata, receipt });
    }
  }

  async #replaceable(keepsOthers: boolean): Promise<ReplaceableRows | undefined> {
    const snapshot = await this.#context.snapshot(this.#change.datasetId);
    if (snapshot.segments.every(({ idRuns }) => idRuns === undefined)) return undefined;
    this.#snapshot = snapshot;
    return { segments: searchedFiles(snapshot), columns: snapshot.columns, keepsOthers };
  }
}

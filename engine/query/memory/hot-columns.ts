import { LruCache } from '../../core/lru-cache.js';

/** The fields of a dataset that recent queries have read. */
export interface HotDataset {
  readonly dataset: number;
  /** The names, the most recently used last. */
  readonly fields: readonly string[];
}

const maxDatasets = 32;
const maxFields = 256;

/**
 * The columns that recent queries have used. A server that starts loads them in advance (api/warm.ts). A missing or wrong entry only costs
 * time.
 */
export class HotColumns {
  readonly #datasets = new LruCache<number, LruCache<string, true>>(maxDatasets);
  /** The list of hot columns as it was last saved, as JSON. */
  #savedJson = '[]';

  recordUse(datasetId: number, names: Iterable<string>): void {
    const fields = this.#datasets.get(datasetId) ?? new LruCache<string, true>(maxFields);
    this.#datasets.set(datasetId, fields);
    for (const name of names) if (fields.get(name) === undefined) fields.set(name, true);
  }

  /** The datasets, the most recently used first. */
  get recentDatasets(): readonly HotDataset[] {
    return [...this.#datasets.keys()]
      .map((dataset) => ({ dataset, fields: [...this.#datasets.get(dataset)!.keys()] }))
      .toReversed();
  }

  /**
   * Returns the hot columns as JSON in UTF-8 if they or their order have changed since they were last saved or parsed; otherwise undefined.
   */
  takeChangedBytes(): Uint8Array | undefined {
    const list = JSON.stringify(this.recentDatasets);
    if (list === this.#savedJson) return undefined;
    this.#savedJson = list;
    return Buffer.from(list);
  }

  /**
   * Parses the bytes that `takeChangedBytes` returned. Entries that are not valid are left out; if the bytes are no JSON array, the list is
   * empty.
   */
  static parse(bytes: Uint8Array): HotColumns {
    const columns = new HotColumns();
    for (const { dataset, fields } of parseHotDatasets(bytes).toReversed())
      columns.recordUse(dataset, fields);
    columns.#savedJson = JSON.stringify(columns.recentDatasets);
    return columns;
  }
}

function parseHotDatasets(bytes: Uint8Array): readonly HotDataset[] {
  try {
    const list: unknown = JSON.parse(Buffer.from(bytes).toString());
    return Array.isArray(list) ? list.filter(isHotDataset) : [];
  } catch {
    return [];
  }
}

function isHotDataset(value: unknown): value is HotDataset {
  const { dataset, fields } = (value ?? {}) as Partial<Record<keyof HotDataset, unknown>>;
  return (
    Number.isSafeInteger(dataset) &&
    Array.isArray(fields) &&
    fields.every((field) => typeof field === 'string')
  );
}

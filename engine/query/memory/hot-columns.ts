import { RecentMap } from '../../core/recent-map.js';

/** The fields of a dataset that queries have read lately, the last one last. */
export interface HotDataset {
  readonly dataset: number;
  /** The names of the fields. */
  readonly fields: readonly string[];
}

const maxDatasets = 32;
const maxFields = 256;

/**
 * The columns that queries have used lately: a server that starts loads them before anybody asks. What is forgotten, or wrong, costs
 * time only.
 */
export class HotColumns {
  readonly #datasets = new RecentMap<number, RecentMap<string, true>>(maxDatasets);
  #isChanged = false;

  note(dataset: number, names: Iterable<string>): void {
    const fields = this.#datasets.get(dataset) ?? new RecentMap<string, true>(maxFields);
    this.#datasets.set(dataset, fields);
    for (const name of names) {
      if (!fields.has(name)) this.#isChanged = true;
      if (fields.get(name) === undefined) fields.set(name, true);
    }
  }

  /** The datasets, the last used one first. */
  get list(): readonly HotDataset[] {
    return [...this.#datasets.keys()]
      .map((dataset) => ({ dataset, fields: [...this.#datasets.get(dataset)!.keys()] }))
      .toReversed();
  }

  /** The list as bytes, if a dataset or field has come since the last call. */
  changed(): Uint8Array | undefined {
    if (!this.#isChanged) return undefined;
    this.#isChanged = false;
    return Buffer.from(JSON.stringify(this.list));
  }

  /** Parses the bytes that `changed` returned; for any other bytes, the list is empty. */
  static parse(bytes: Uint8Array): HotColumns {
    const columns = new HotColumns();
    for (const { dataset, fields } of listIn(bytes).toReversed()) columns.note(dataset, fields);
    columns.#isChanged = false;
    return columns;
  }
}

function listIn(bytes: Uint8Array): readonly HotDataset[] {
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

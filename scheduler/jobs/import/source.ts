import type { JsonObject } from '../../../engine/core/types.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import type { ExpectedDigest } from '../../fetch/expected-digest.js';

/**
 * One of the files that an import reads, in their order: plain data for the worker. It was checked when the import was
 * created, and `prepare` checks the rights again.
 */
export interface ImportSource {
  readonly place: Place;
  /** The file's name to people: findings, the receipt and `reader` go by it. */
  readonly name: string;
  readonly reader: string;
  /** The reader was named by the request: what the content looks like does not matter. */
  readonly isReaderAsked: boolean;
  /** As the reader itself gets them: those of the import, those of the file over them. */
  readonly readerParams: JsonObject;
  readonly validation: ValidationParams;
  readonly entityParams: JsonObject;
  /** Size and MD5 that the request declares; the import fails if the file differs. */
  readonly expected: ExpectedDigest;
}

/** Where a source's bytes are. */
export type Place = LocalPlace | RemotePlace;

/** A file of the data folder, by its absolute path; `identity` changes when its bytes do. */
export interface LocalPlace {
  readonly kind: 'file';
  readonly file: string;
  readonly identity: string;
  /** As the catalogue has it; null where nobody has computed it yet. */
  readonly md5: string | null;
}

/** Bytes on another host, fetched into the task's scratch folder before they are read. */
export interface RemotePlace {
  readonly kind: 'url';
  readonly url: string;
}

/** Size and MD5 of a fetched file, which is complete and flushed and has the expected digest. */
export interface Fetched {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly md5: string;
}

/**
 * Fetches a source into a new file of the scratch folder; the worker gets it from `scheduler/fetch/`, tests bring their
 * own. Its errors name the source by `name`, and what the other host did. `report` hears how many bytes are here, and of
 * how many once the host has said so.
 */
export type FetchSource = (
  source: Pick<ImportSource, 'name' | 'expected'> & { readonly place: RemotePlace },
  file: string,
  signal: AbortSignal,
  report: (bytes: number, total: number | null) => void,
) => Promise<Fetched>;

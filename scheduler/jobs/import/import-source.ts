import type { JsonObject } from '../../../engine/core/types.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import type { ExpectedDigest } from '../../fetch/expected-digest.js';
import type { UrlLocation } from '../job.js';

/**
 * A file that an import reads: plain data for the worker. It was checked when the import was created; `prepare` checks the
 * permissions again.
 */
export interface ImportSource {
  readonly location: SourceLocation;
  /** Name of the file in findings, in the import report and in error messages. */
  readonly name: string;
  /** The name of the reader. */
  readonly reader: string;
  /** Whether the request names the reader; otherwise the content of the file may select another reader. */
  readonly isReaderNamed: boolean;
  /** The unparsed parameters of the reader: those of the import, overridden by those of the file. */
  readonly readerParams: JsonObject;
  readonly validation: ValidationParams;
  readonly entityParams: JsonObject;
  /** Size and MD5 that the request declares. The import fails if the file differs. */
  readonly expected: ExpectedDigest;
}

type SourceLocation = FileLocation | UrlLocation;

/** A file of the data folder. */
export interface FileLocation {
  readonly kind: 'file';
  /** The absolute path of the file. */
  readonly file: string;
  /** A string that differs if the bytes of the file differ. */
  readonly identity: string;
  /** The MD5 digest of the file in lower-case hex; null if the catalogue does not have it. */
  readonly md5: string | null;
}

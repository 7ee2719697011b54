import type { JsonObject } from '../../../engine/core/types.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import type { ExpectedDigest } from '../../fetch/expected-digest.js';
import type { UrlLocation } from '../job.js';

/** A file that an import or a file table reads: plain data for the worker. */
export interface ImportSource {
  readonly location: SourceLocation;
  /** Name of the file in findings, in the import report and in error messages. */
  readonly name: string;
  /** The name of the reader. */
  readonly reader: string;
  /** Whether the reader is used in any case; otherwise the content of the file may select another one. */
  readonly isReaderNamed: boolean;
  /**
   * The unparsed parameters of the reader: those of the import, overridden by those of the file, and the genome build of the import unless
   * they name one.
   */
  readonly readerParams: JsonObject;
  readonly validation: ValidationParams;
  readonly entityParams: JsonObject;
  /** Size and MD5 that the request declares for the file, if any. The import fails if they differ from those of the file. */
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

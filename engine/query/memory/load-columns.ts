import type { ColumnMatcher } from '../../text/column-matcher.js';
import type { FieldRef } from '../predicate/predicate.js';
import { isUnsupported } from '../unsupported.js';
import { storedBytes } from './load-column.js';
import type { SegmentView } from './match/column.js';
import { readPageIndex } from './page-selection.js';
import type { SegmentCache } from './segment-cache.js';
import type { ShardSnapshot } from './shard-protocol.js';

/**
 * Opens the files of segments and reads their footers, until these take the part of the cache that warming may give to files
 * (`maxWarmedFileBytes`), or the cache has no room. Returns, for each field, the number of bytes of these files that `loadColumns` would
 * read.
 */
export function* openSegmentFiles(
  cache: SegmentCache,
  snapshot: ShardSnapshot,
  fields: readonly FieldRef[],
): Generator<void, Float64Array> {
  const bytes = new Float64Array(fields.length);
  let fileBytes = 0;
  for (const segment of snapshot.segments) {
    if (!cache.hasRoom || fileBytes > cache.maxWarmedFileBytes) break;
    const file = cache.file(segment);
    fileBytes += file.memoryBytes;
    const view = cache.view(snapshot, segment);
    for (const [i, field] of fields.entries()) {
      const text = textIndexOf(view, field);
      bytes[i]! += text?.column.loadedBytes ?? storedBytes(file, snapshot.columns, field);
    }
    cache.releaseIdle();
    yield;
  }
  return bytes;
}

/**
 * Loads columns and their page indexes, or the text indexes of text fields that have one, until the cache has no room (`hasRoom`). Returns
 * the number of columns of segments that have been processed, stored or not.
 */
export function* loadColumns(
  cache: SegmentCache,
  snapshot: ShardSnapshot,
  fields: readonly FieldRef[],
): Generator<void, number> {
  let loadedCount = 0;
  let fileBytes = 0;
  let stepBegin = performance.now();
  for (const segment of snapshot.segments) {
    const view = cache.view(snapshot, segment);
    for (const field of fields) {
      if (!cache.hasRoom) {
        cache.releaseIdle();
        return loadedCount;
      }
      const knownBytes = fileBytes + cache.file(segment).memoryBytes;
      const isFileKept = knownBytes <= cache.maxWarmedFileBytes;
      if (isFileKept && performance.now() - stepBegin > maxLoadingStepMs) {
        cache.releaseIdle();
        yield;
        stepBegin = performance.now();
      }
      const text = textIndexOf(view, field);
      if (text === undefined) {
        view.column(field);
        readPageIndex(cache.file(segment), snapshot.columns, field);
      } else text.column.load();
      loadedCount++;
    }
    fileBytes += cache.file(segment).memoryBytes;
    cache.releaseIdle(fileBytes <= cache.maxWarmedFileBytes);
    yield;
    stepBegin = performance.now();
  }
  return loadedCount;
}

/**
 * Maximum time in milliseconds for which a query waits while columns are loaded; loading one column of a segment, or a whole segment whose
 * file is not kept in the cache, may exceed it.
 */
const maxLoadingStepMs = 2;

/** Returns the text index with which a field is searched; undefined for fields that are not text, and if there is none. */
function textIndexOf(view: SegmentView, field: FieldRef): ColumnMatcher | undefined {
  const text = field.type === 'text' ? view.text!(field) : 'absent';
  return text === 'absent' || isUnsupported(text) ? undefined : text;
}

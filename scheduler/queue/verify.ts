import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import { wholeList } from '../../engine/catalog/list-page.js';
import type { ObjectRow } from '../../engine/catalog/object-row.js';
import type { Publication } from '../../engine/catalog/publish.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { toErrorValue } from '../../engine/core/errors.js';
import { fileStats, list, modifiedAt, openFile } from '../../engine/core/files.js';
import type { Store } from '../../engine/store/store.js';
import { droppedLog } from '../../engine/store/verify.js';
import type { ImportReport } from '../jobs/import/import-report.js';
import { isInUse } from './sweep.js';

/** One thing that is not as it should be: `where` is a path below the data folder, or an id. */
export interface Difference {
  readonly where: string;
  readonly problem: string;
}

/** What `verifyFolder` looks at. */
export interface VerifyParts {
  readonly data: DataFolder;
  readonly catalog: Catalog;
  readonly store: Store;
  /** Files that nothing names may be so young: something may be about to name them. */
  readonly unnamedBefore: number;
  readonly now: number;
}

/**
 * Compares a data folder that nobody works on with itself (threats, section 12: 2, 4 and 5): every file that log or catalogue
 * name is there and is what was written, nothing else has stayed, log and catalogue say the same, and counts agree.
 */
export async function verifyFolder(parts: VerifyParts): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  const note = (where: string, problem: string): void => void found.push({ where, problem });
  const { rows } = await parts.catalog.datasets.list({ access: null }, wholeList);
  for (const dataset of rows) await verifyDataset(parts, dataset, note);
  await verifyUnknownDatasets(parts, new Set(rows.map(({ id }) => id)), note);
  await verifyObjects(parts, note);
  await verifyExports(parts, note);
  await verifyRejected(parts, note);
  await verifyScratch(parts, note);
  return found;
}

type Note = (where: string, problem: string) => void;

async function verifyDataset(parts: VerifyParts, dataset: DatasetRow, note: Note): Promise<void> {
  const { store, catalog, unnamedBefore } = parts;
  const { id } = dataset;
  const where = `dataset ${id}`;
  for (const { path, problem } of await store.verify(id, unnamedBefore)) {
    note(`datasets/${id}/${path}`, problem);
  }
  const version = await store.version(id).catch(() => undefined);
  if (version === undefined) return; // the log is damaged, and that has been noted
  if (version !== dataset.logVersion) {
    note(where, `the log is at version ${version}, the catalogue at ${dataset.logVersion}`);
  }
  const publications: Publication[] = [];
  for await (const { info } of store.history(id, 0)) {
    if (info['publication'] !== undefined) publications.push(info['publication'] as Publication);
  }
  const commits = await catalog.commits.list({ access: null, datasetId: id }, wholeList);
  const known = new Map(commits.rows.map((commit) => [commit.id, commit]));
  for (const publication of publications) {
    const commit = known.get(publication.commitId);
    known.delete(publication.commitId);
    if (commit === undefined) {
      note(where, `the log has commit ${publication.commitId}, the catalogue has not`);
    } else if (commit.recordsModified !== publication.recordsModified) {
      const counts = `${publication.recordsModified} records, the catalogue ${commit.recordsModified}`;
      note(where, `the log gives commit ${commit.id} ${counts}`);
    }
  }
  for (const commitId of known.keys()) {
    note(where, `the catalogue has commit ${commitId}, the log has not`);
  }
  await verifyCounts(parts, dataset, publications, note);
  await verifyImports(parts, id, new Set(commits.rows.map((row) => row.parentJobId)), note);
}

async function verifyCounts(
  { store }: VerifyParts,
  dataset: DatasetRow,
  publications: readonly Publication[],
  note: Note,
): Promise<void> {
  const where = `dataset ${dataset.id}`;
  const snapshot = await store.snapshot(dataset.id).catch(() => undefined);
  if (snapshot === undefined) return; // a segment is damaged, and that has been noted
  const { rows, bytes } = snapshot;
  if (rows !== dataset.documentsCount) {
    note(where, `its segments have ${rows} records, the catalogue says ${dataset.documentsCount}`);
  }
  if (bytes !== dataset.bytes) {
    note(where, `its segments have ${bytes} bytes, the catalogue says ${dataset.bytes}`);
  }
  const isAppended = publications.every(({ mode }) => mode === 'append');
  const sum = publications.reduce((total, { recordsModified }) => total + recordsModified, 0);
  if (isAppended && sum !== rows) {
    note(where, `its segments have ${rows} records, its commits added ${sum}`);
  }
}

/** An import is completed when, and only when, it has a commit, or was a dry run. */
async function verifyImports(
  { catalog }: VerifyParts,
  datasetId: number,
  committed: ReadonlySet<number>,
  note: Note,
): Promise<void> {
  const { rows } = await catalog.imports.list({ access: null, datasetId }, wholeList);
  for (const { id, status, isDryRun } of rows) {
    const isCompleted = status === 'completed' && !isDryRun;
    if (isCompleted === committed.has(id)) continue;
    note(
      `import ${id}`,
      isCompleted ? 'is completed and has no commit' : `has a commit and is ${status}`,
    );
  }
}

async function verifyUnknownDatasets(
  { data, catalog, unnamedBefore }: VerifyParts,
  known: ReadonlySet<number>,
  note: Note,
): Promise<void> {
  const dropped = new Set(await catalog.datasets.dropped()); // the next start removes these
  for (const { name } of await list(data.datasets)) {
    if (name === '_empty.parquet' || known.has(Number(name)) || dropped.has(Number(name))) continue;
    const inside = await list(data.path('datasets', name));
    if (inside.some((entry) => entry.name === droppedLog)) continue; // kept for queries that run
    const isOld = ((await modifiedAt(data.path('datasets', name))) ?? Infinity) < unnamedBefore;
    if (isOld) note(`datasets/${name}`, 'is known to no catalogue entry');
  }
}

async function verifyObjects(parts: VerifyParts, note: Note): Promise<void> {
  const { data, catalog } = parts;
  const { rows } = await catalog.objects.list({ access: null }, wholeList);
  const files = rows.filter((row) => row.objectType === 'file' && row.revision > 0);
  const named = new Set<string>();
  for (const object of files) {
    const path = data.object(object.id, object.revision);
    named.add(basename(path));
    const problem = await problemOf(path, object);
    if (problem !== undefined) note(`objects/${basename(path)}`, problem);
  }
  await noteUnnamed(parts, 'objects', named, note);
}

async function problemOf(
  path: string,
  { size, md5 }: Pick<ObjectRow, 'size' | 'md5'>,
): Promise<string | undefined> {
  try {
    const stats = await fileStats(path);
    if (stats === undefined) return 'is missing';
    if (size !== null && stats.bytes !== size) return `has ${stats.bytes} bytes, should be ${size}`;
    if (md5 === null) return undefined;
    const file = await openFile(path);
    try {
      const digest = createHash('md5');
      for await (const piece of file.stream()) digest.update(piece);
      return digest.digest('hex') === md5 ? undefined : 'does not match its md5';
    } finally {
      await file.close();
    }
  } catch (error) {
    return `cannot be read: ${toErrorValue(error).message}`;
  }
}

async function verifyExports(parts: VerifyParts, note: Note): Promise<void> {
  const { data, catalog, now } = parts;
  const { rows } = await catalog.exports.list({ access: null }, wholeList);
  const files = (await list(data.exports)).map(({ name }) => name);
  const named = new Set<string>();
  for (const { id, status, expiresAt, bytes } of rows) {
    const name = files.find((file) => file.startsWith(`${id}.`));
    if (name !== undefined) named.add(name);
    if (status !== 'completed' || (expiresAt ?? 0) <= now) continue;
    const stats = name === undefined ? undefined : await fileStats(data.path('exports', name));
    if (stats === undefined) note(`export ${id}`, 'its file is missing');
    else if (stats.bytes !== bytes)
      note(`exports/${name}`, `has ${stats.bytes} bytes, should be ${bytes}`);
  }
  await noteUnnamed(parts, 'exports', named, note);
}

async function verifyRejected(parts: VerifyParts, note: Note): Promise<void> {
  const { data, catalog } = parts;
  const { rows } = await catalog.imports.list({ access: null }, wholeList);
  const named = new Set<string>();
  for (const { id, status, metadata } of rows) {
    const receipt = metadata['receipt'] as ImportReport | undefined;
    const written = status === 'failed' ? receipt?.rejected_file : undefined;
    if (written === undefined || written === null) continue;
    const path = data.rejectedLines(id);
    named.add(basename(path));
    const { bytes: size, md5 } = written;
    const problem = await problemOf(path, { size, md5 });
    if (problem !== undefined) note(`rejected/${basename(path)}`, problem);
  }
  await noteUnnamed(parts, 'rejected', named, note);
}

/** Inline records wait for their import, and chunks for its next attempt; all else belongs to something that ran. */
async function verifyScratch(parts: VerifyParts, note: Note): Promise<void> {
  const { data, catalog } = parts;
  const named = new Set<string>();
  for (const { name } of await list(data.scratch)) {
    if (await isInUse(catalog, name)) named.add(name);
  }
  await noteUnnamed(parts, 'scratch', named, note);
}

async function noteUnnamed(
  { data, unnamedBefore }: VerifyParts,
  part: 'objects' | 'exports' | 'rejected' | 'scratch',
  named: ReadonlySet<string>,
  note: Note,
): Promise<void> {
  for (const { name } of await list(data.path(part))) {
    if (named.has(name)) continue;
    const changedAt = await modifiedAt(data.path(part, name));
    if (changedAt !== undefined && changedAt < unnamedBefore) {
      note(`${part}/${name}`, 'is named by nothing');
    }
  }
}

import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { FileVersionRow } from '../../engine/catalog/file-versions.js';
import { unlimitedPage } from '../../engine/catalog/list-page.js';
import type { LoggedPublication } from '../../engine/catalog/publish.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { toErrorValue } from '../../engine/core/errors.js';
import { readFileStats, listFolder, modifiedAt, openFile } from '../../engine/core/files.js';
import type { Store } from '../../engine/store/store.js';
import { droppedLogName } from '../../engine/store/verify-dataset.js';
import type { ImportReport } from '../jobs/import/import-report.js';
import { countDifferences } from '../jobs/verify/verify.js';
import { isInArchive } from '../jobs/visible-data.js';
import { isScratchOfOpenTask } from './sweep.js';
import { verifyArchive, reportUnknownArchives, type ReportProblem } from './verify-archives.js';

/** An inconsistency of a data folder. `where` is a path in the data folder, or a resource and its id. */
interface FolderInconsistency {
  readonly where: string;
  readonly problem: string;
}

interface VerifyOptions {
  readonly data: DataFolder;
  readonly catalog: Catalog;
  readonly store: Store;
  /** Only files changed before this time are reported as unreferenced: newer ones may be referenced soon. */
  readonly unreferencedBefore: number;
  readonly now: number;
}

/**
 * Checks a data folder that is not in use: every file that the logs or the catalogue refer to exists and is undamaged, there are no other
 * files, and the logs, the catalogue and the record counts agree.
 */
export async function verifyFolder(
  options: VerifyOptions,
): Promise<readonly FolderInconsistency[]> {
  const found: FolderInconsistency[] = [];
  const report = (where: string, problem: string): void => void found.push({ where, problem });
  const { rows } = await options.catalog.datasets.list({ viewer: null }, unlimitedPage);
  const archived = rows.filter(isInArchive);
  for (const dataset of archived) await verifyArchive(options, dataset, report);
  await reportUnknownArchives(options, archived, report);
  for (const dataset of rows)
    if (!isInArchive(dataset)) await verifyDataset(options, dataset, report);
  await verifyUnknownDatasets(options, new Set(rows.map(({ id }) => id)), report);
  await verifyObjects(options, report);
  await verifyExports(options, report);
  await verifyRejected(options, report);
  await verifyScratch(options, report);
  await verifyQuarantine(options, report);
  return found;
}

async function verifyDataset(
  parts: VerifyOptions,
  dataset: DatasetRow,
  report: ReportProblem,
): Promise<void> {
  const { store, catalog, unreferencedBefore } = parts;
  const { id } = dataset;
  const place = `dataset ${id}`;
  for (const { path, problem } of await store.verify(id, unreferencedBefore)) {
    report(`datasets/${id}/${path}`, problem);
  }
  const version = await store.version(id).catch(() => undefined);
  if (version === undefined) return; // the damage of the log has been reported
  if (version !== dataset.logVersion) {
    report(place, `the log is at version ${version}, the catalogue at ${dataset.logVersion}`);
  }
  const publications: LoggedPublication[] = [];
  for await (const { info } of store.history(id, 0)) {
    if (info['publication'] !== undefined)
      publications.push(info['publication'] as LoggedPublication);
  }
  const commits = await catalog.commits.list({ viewer: null, datasetIds: [id] }, unlimitedPage);
  const commitsById = new Map(commits.rows.map((commit) => [commit.id, commit]));
  const deletedCommits = await catalog.commits.deleted(id);
  const deletedIds = new Set(deletedCommits.map((commit) => commit.id));
  for (const publication of publications) {
    if (deletedIds.has(publication.commitId)) continue;
    const commit = commitsById.get(publication.commitId);
    commitsById.delete(publication.commitId);
    if (commit === undefined) {
      report(place, `commit ${publication.commitId} is in the log but not in the catalogue`);
    } else if (commit.recordsModified !== publication.recordsModified) {
      const countsText = `${publication.recordsModified} records, the catalogue ${commit.recordsModified}`;
      report(place, `the log gives commit ${commit.id} ${countsText}`);
    }
  }
  for (const commitId of commitsById.keys()) {
    report(place, `commit ${commitId} is in the catalogue but not in the log`);
  }
  await verifyCounts(parts, dataset, publications, report);
  await verifyImports(
    parts,
    id,
    new Set([...commits.rows, ...deletedCommits].map((row) => row.parentJobId)),
    report,
  );
}

async function verifyCounts(
  { store }: VerifyOptions,
  dataset: DatasetRow,
  publications: readonly LoggedPublication[],
  report: ReportProblem,
): Promise<void> {
  const place = `dataset ${dataset.id}`;
  const snapshot = await store.snapshot(dataset.id).catch(() => undefined);
  if (snapshot === undefined) return; // the damage has been reported
  for (const problem of countDifferences(snapshot, dataset)) report(place, problem);
  const lastTotal = publications.at(-1)?.recordsTotal ?? 0;
  if (lastTotal !== snapshot.rows) {
    report(
      place,
      `its segments have ${snapshot.rows} records, and ${lastTotal} after its last commit`,
    );
  }
}

/** Checks that completed imports have a commit, except dry runs, and that no other imports have one. */
async function verifyImports(
  { catalog }: VerifyOptions,
  datasetId: number,
  committed: ReadonlySet<number>,
  report: ReportProblem,
): Promise<void> {
  const { rows } = await catalog.imports.list(
    { viewer: null, datasetIds: [datasetId] },
    unlimitedPage,
  );
  for (const { id, status, isDryRun } of rows) {
    const isCompleted = status === 'completed' && !isDryRun;
    if (isCompleted === committed.has(id)) continue;
    report(
      `import ${id}`,
      isCompleted ? 'is completed and has no commit' : `has a commit and is ${status}`,
    );
  }
}

async function verifyUnknownDatasets(
  { data, catalog, unreferencedBefore }: VerifyOptions,
  known: ReadonlySet<number>,
  report: ReportProblem,
): Promise<void> {
  // The folders of dropped datasets are removed when the server next starts, so they are no damage.
  const droppedIds = new Set(await catalog.datasets.dropped());
  for (const { name } of await listFolder(data.datasets)) {
    if (name === '_empty.parquet' || known.has(Number(name)) || droppedIds.has(Number(name)))
      continue;
    const filesInside = await listFolder(data.path('datasets', name));
    // The folder of a dropped dataset is kept until running queries have ended.
    if (filesInside.some((entry) => entry.name === droppedLogName)) continue;
    const isOld =
      ((await modifiedAt(data.path('datasets', name))) ?? Infinity) < unreferencedBefore;
    if (isOld) report(`datasets/${name}`, 'is not in the catalogue');
  }
}

async function verifyObjects(parts: VerifyOptions, report: ReportProblem): Promise<void> {
  const { data, catalog } = parts;
  const referenced = new Set<string>();
  for (const version of await catalog.fileVersions.stored()) {
    const path = data.object(version.objectId, version.revision);
    referenced.add(basename(path));
    const problem = await findFileProblem(path, version);
    if (problem !== undefined) report(`objects/${basename(path)}`, problem);
  }
  await reportUnreferencedFiles(parts, 'objects', referenced, report);
}

async function findFileProblem(
  path: string,
  { size, md5 }: Pick<FileVersionRow, 'size' | 'md5'>,
): Promise<string | undefined> {
  try {
    const stats = await readFileStats(path);
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

async function verifyExports(parts: VerifyOptions, report: ReportProblem): Promise<void> {
  const { data, catalog, now } = parts;
  const { rows } = await catalog.exports.list({ viewer: null }, unlimitedPage);
  const files = (await listFolder(data.exports)).map(({ name }) => name);
  const referenced = new Set<string>();
  for (const { id, status, expiresAt, bytes } of rows) {
    const name = files.find((file) => file.startsWith(`${id}.`));
    if (name !== undefined) referenced.add(name);
    if (status !== 'completed' || (expiresAt ?? 0) <= now) continue;
    const stats = name === undefined ? undefined : await readFileStats(data.path('exports', name));
    if (stats === undefined) report(`export ${id}`, 'its file is missing');
    else if (stats.bytes !== bytes)
      report(`exports/${name}`, `has ${stats.bytes} bytes, should be ${bytes}`);
  }
  await reportUnreferencedFiles(parts, 'exports', referenced, report);
}

async function verifyRejected(parts: VerifyOptions, report: ReportProblem): Promise<void> {
  const { data, catalog } = parts;
  const imports = await catalog.imports.list({ viewer: null }, unlimitedPage);
  const migrations = await catalog.datasetMigrations.list({ viewer: null }, unlimitedPage);
  const referenced = new Set<string>();
  for (const { id, status, metadata } of [...imports.rows, ...migrations.rows]) {
    const receipt = metadata['receipt'] as Pick<ImportReport, 'rejected_file'> | undefined;
    const hasEnded = status === 'failed' || status === 'completed';
    const expectedFile = hasEnded ? receipt?.rejected_file : undefined;
    if (expectedFile === undefined || expectedFile === null) continue;
    const path = data.rejectedLines(id);
    referenced.add(basename(path));
    const { bytes: size, md5 } = expectedFile;
    const problem = await findFileProblem(path, { size, md5 });
    if (problem !== undefined) report(`rejected/${basename(path)}`, problem);
  }
  await reportUnreferencedFiles(parts, 'rejected', referenced, report);
}

/** Checks that the scratch folder has only files of open tasks: inline records, and chunks or parts of earlier attempts. */
async function verifyScratch(parts: VerifyOptions, report: ReportProblem): Promise<void> {
  const { data, catalog } = parts;
  const referenced = new Set<string>();
  for (const { name } of await listFolder(data.scratch)) {
    if (await isScratchOfOpenTask(catalog, name)) referenced.add(name);
  }
  await reportUnreferencedFiles(parts, 'scratch', referenced, report);
}

/** Reports every file in the quarantine; `folder` is relative to the data folder. */
async function verifyQuarantine(
  parts: VerifyOptions,
  report: ReportProblem,
  folder = 'quarantine',
): Promise<void> {
  for (const { name, kind } of await listFolder(join(parts.data.root, folder))) {
    const path = `${folder}/${name}`;
    if (kind === 'folder') await verifyQuarantine(parts, report, path);
    else
      report(path, 'was kept by a start that could not tell what it is; put it back or delete it');
  }
}

async function reportUnreferencedFiles(
  { data, unreferencedBefore }: VerifyOptions,
  part: 'objects' | 'exports' | 'rejected' | 'scratch',
  referenced: ReadonlySet<string>,
  report: ReportProblem,
): Promise<void> {
  for (const { name } of await listFolder(data.path(part))) {
    if (referenced.has(name)) continue;
    const changedAt = await modifiedAt(data.path(part, name));
    if (changedAt !== undefined && changedAt < unreferencedBefore) {
      report(`${part}/${name}`, 'is not referenced');
    }
  }
}

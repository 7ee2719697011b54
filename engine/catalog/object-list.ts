import { setImmediate as nextTick } from 'node:timers/promises';
import type { Database } from './database.js';
import { normalizePath, parseFullPath } from './full-path.js';
import { listPage, type AccessFilter, type ListedRows, type Page } from './list-page.js';
import { foldName } from './object-names.js';
import { isBelow, objects, type ObjectRow, type ObjectType } from './object-row.js';
import { compileFoldedPattern, compilePathRegex, parseGlob } from './path-pattern.js';
import { mayAccess, type Viewer, type Permission } from './permission.js';
import {
  conjunctionOf,
  containsText,
  endsWith,
  isInNumbers,
  isOneOf,
  sql,
  startsWith,
  type Sql,
} from './sql.js';
import { isVaultOf } from './vaults.js';

/** The list filters of contract 6.3. A null id means the root. */
export interface ObjectFilter extends AccessFilter {
  readonly ids?: readonly number[];
  /** Restricts the list to the objects with these ids, which a search has found; the number of ids is not limited. */
  readonly among?: readonly number[];
  readonly vaultIds?: readonly number[];
  readonly vaultName?: string;
  /** The vault, in any form of a full path; the part after the vault is ignored. */
  readonly vaultFullPath?: string;
  readonly parentId?: number | null;
  readonly filename?: string;
  readonly path?: string;
  readonly fullPath?: string;
  readonly objectTypes?: readonly ObjectType[];
  readonly depth?: number;
  readonly query?: string;
  readonly regex?: string;
  readonly glob?: string;
  readonly ancestorId?: number | null;
  readonly minDistance?: number;
  readonly tag?: string;
  readonly storageClass?: string;
  readonly permission?: Permission;
}

const objectsWithVaults = sql`objects JOIN vaults ON vaults.id = objects.vault_id`;
/** Choice: lists of objects are ordered by vault name and then by path, so that objects of one vault stay together. */
const orderBy = sql`vaults.name_key, vaults.id, objects.path_key, objects.id`;

/** Lists the objects that match the filter and that the user may read, ordered by vault name and then by path. */
export async function listObjects(
  db: Database,
  filter: ObjectFilter,
  page: Page,
): Promise<ListedRows<ObjectRow>> {
  const clauses = objectConditions(filter);
  const matchers = [regexMatcher(filter), globMatcher(filter, clauses)].filter(
    (one) => one !== null,
  );
  const where = conjunctionOf(clauses);
  if (matchers.length === 0)
    return listPage(db, objects, { from: objectsWithVaults, where, orderBy }, page);
  const ids = await findMatchingIds(db, where, matchers);
  const shownIds = ids.slice(page.offset, page.offset + page.limit);
  return { rows: await readRowsInOrder(db, shownIds), total: ids.length };
}

/** The columns that a path matcher needs. */
interface ListedObject {
  readonly id: number;
  readonly path: string;
  readonly pathKey: string;
  readonly vaultKey: string;
  readonly domainKey: string;
}
type ObjectMatcher = (candidate: ListedObject) => boolean;

const rowsPerTick = 500;

/**
 * Returns the ids of the objects that match patterns that SQLite cannot evaluate; yields to other requests between batches (threat W10).
 */
async function findMatchingIds(
  db: Database,
  where: Sql,
  matchers: readonly ObjectMatcher[],
): Promise<readonly number[]> {
  const rows = await db.all(sql`SELECT objects.id AS id, objects.path AS path,
      objects.path_key AS "pathKey", vaults.name_key AS "vaultKey", accounts.domain_key AS "domainKey"
    FROM ${objectsWithVaults} JOIN accounts ON accounts.id = vaults.account_id
    WHERE ${where} ORDER BY ${orderBy}`);
  const ids: number[] = [];
  for (let i = 0; i < rows.length; i++) {
    if (i > 0 && i % rowsPerTick === 0) await nextTick();
    const candidate = rows[i] as unknown as ListedObject;
    if (matchers.every((matches) => matches(candidate))) ids.push(candidate.id);
  }
  return ids;
}

async function readRowsInOrder(
  db: Database,
  ids: readonly number[],
): Promise<readonly ObjectRow[]> {
  const rows = await db.all(
    sql`SELECT ${objects.columns} FROM objects WHERE ${isOneOf(sql`objects.id`, ids)}`,
  );
  const byId = new Map(rows.map((row) => [row['id'] as number, objects.parse(row)]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}

function regexMatcher({ regex }: ObjectFilter): ObjectMatcher | null {
  if (regex === undefined) return null;
  const matches = compilePathRegex('regex', regex);
  return ({ path }) => matches(path);
}

/** Compiles the glob to a matcher, and adds the conditions that SQLite can check to `clauses`. */
function globMatcher(filter: ObjectFilter, clauses: Sql[]): ObjectMatcher | null {
  if (filter.glob === undefined) return null;
  const hasVault = filter.vaultIds !== undefined || filter.vaultName !== undefined;
  const glob = parseGlob('glob', filter.glob, hasVault);
  if (glob.pathPrefix.length > 1) {
    clauses.push(startsWith(sql`objects.path_key`, glob.pathPrefix));
  }
  if (glob.vault === null) clauses.push(isPersonalVault(filter.viewer));
  if (glob.domain === undefined && glob.vault !== null) {
    clauses.push(isOwnAccount(filter.viewer));
  }
  const matchesDomain = typeof glob.domain === 'string' ? compileFoldedPattern(glob.domain) : null;
  const vault = typeof glob.vault === 'string' ? compileFoldedPattern(glob.vault) : null;
  const path = compileFoldedPattern(glob.path);
  return (candidate) =>
    (matchesDomain === null || matchesDomain(candidate.domainKey)) &&
    (vault === null || vault(candidate.vaultKey)) &&
    path(candidate.pathKey);
}

function objectConditions(filter: ObjectFilter): Sql[] {
  const { viewer } = filter;
  const clauses: Sql[] = [mayAccess(viewer, filter.permission)];
  if (filter.ids) clauses.push(isOneOf(sql`objects.id`, filter.ids));
  if (filter.among) clauses.push(isInNumbers(sql`objects.id`, filter.among));
  if (filter.vaultIds) clauses.push(isOneOf(sql`objects.vault_id`, filter.vaultIds));
  if (filter.vaultName !== undefined) {
    clauses.push(sql`vaults.name_key = ${foldName(filter.vaultName)}`);
  }
  if (filter.vaultFullPath !== undefined) {
    const path = parseFullPath(filter.vaultFullPath);
    clauses.push(path === undefined || viewer === null ? neverCondition : isVaultOf(path, viewer));
  }
  if (filter.parentId === null) clauses.push(sql`objects.parent_id IS NULL`);
  else if (filter.parentId !== undefined) clauses.push(sql`objects.parent_id = ${filter.parentId}`);
  if (filter.filename !== undefined) {
    // A path ends with a slash and the filename, and no filename contains a slash.
    clauses.push(endsWith(sql`objects.path_key`, `/${foldName(filter.filename)}`));
  }
  if (filter.path !== undefined) {
    clauses.push(sql`objects.path_key = ${foldName(normalizePath(filter.path))}`);
  }
  if (filter.fullPath !== undefined) {
    const path = parseFullPath(filter.fullPath);
    if (path === undefined || viewer === null) clauses.push(neverCondition);
    else {
      clauses.push(isVaultOf(path, viewer), sql`objects.path_key = ${foldName(path.path)}`);
    }
  }
  if (filter.objectTypes) clauses.push(isOneOf(sql`objects.object_type`, filter.objectTypes));
  if (filter.depth !== undefined) clauses.push(sql`objects.depth = ${filter.depth}`);
  if (filter.query !== undefined) {
    clauses.push(containsText(sql`objects.path_key`, foldName(filter.query)));
  }
  clauses.push(...ancestorConditions(filter));
  if (filter.tag !== undefined) {
    clauses.push(sql`EXISTS (SELECT 1 FROM object_tags
      WHERE object_tags.object_id = objects.id AND object_tags.tag = ${filter.tag.trim()})`);
  }
  if (filter.storageClass !== undefined) {
    clauses.push(sql`objects.id IN (
      SELECT datasets.id FROM datasets WHERE datasets.storage_class = ${filter.storageClass})`);
  }
  return clauses;
}

/** Direct children of an ancestor have distance 1. `depth` is 0 for objects in the root, which itself counts as depth -1. */
function ancestorConditions({ ancestorId, minDistance = 1 }: ObjectFilter): Sql[] {
  if (ancestorId === undefined) return [];
  if (ancestorId === null) return [sql`objects.depth + 1 >= ${minDistance}`];
  const ancestorDepth = sql`(SELECT above.depth FROM objects above WHERE above.id = ${ancestorId})`;
  return [isBelow(ancestorId), sql`objects.depth - ${ancestorDepth} >= ${minDistance}`];
}

const neverCondition = sql`1 = 0`;

function isPersonalVault(viewer: Viewer | null): Sql {
  if (viewer === null) return neverCondition;
  return sql`vaults.vault_type = 'user' AND vaults.user_id = ${viewer.userId}`;
}

function isOwnAccount(viewer: Viewer | null): Sql {
  return viewer === null ? neverCondition : sql`vaults.account_id = ${viewer.accountId}`;
}

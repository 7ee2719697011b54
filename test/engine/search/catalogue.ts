import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import { CatalogFixture } from '../catalog/catalog-fixture.js';
import type { Random } from '../query/random.js';

/** A vault or an object as a search must show it, recorded by the test when it is created. */
export interface ModelDocument {
  readonly _id: string;
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly full_path: string;
  readonly path: string;
  readonly parent: string | null;
  readonly parent_id: number | null;
  readonly vault: string;
  readonly vault_id: number;
  readonly user: string;
  readonly tags: readonly string[];
  readonly storage_class: string | null;
  readonly description: string | null;
  /** The time of creation in ISO 8601, in UTC without a zone. */
  readonly created_at: string;
  readonly updated_at: string;
  readonly indexed_at: string;
}

/** A user who searches, and the ids of the vaults that they may read: as owner, administrator or by a permission (`own`), or as public. */
export interface SearchingUser {
  readonly name: string;
  readonly viewer: Viewer;
  readonly readable: ReadonlyMap<number, 'own' | 'public'>;
}

/** A catalogue of random vaults, permissions and objects. */
export interface RandomCatalogue {
  readonly catalogFixture: CatalogFixture;
  /** The documents in the order of a search: vaults first, then objects, both in the order of their ids. */
  readonly documents: readonly ModelDocument[];
  readonly searchers: readonly SearchingUser[];
  close(): Promise<void>;
}

/** Names of objects; many are equal after case folding or tokenizing, or contain LIKE wildcards, quotes or unusual case mappings. */
export const objectNames = [
  'runs', 'RUNS 2', 'Straße', 'STRASSE', 'sample-1.vcf.gz', 'sample_1', 'Sample 1', 'a%b_c', '%', '_', 'x: y', "it's", 'q"uote',
  'back\\slash', 'Élan', 'élan vital', 'ΣΑΣ', '\u212aelvin', 'kelvin', 'İzmir', '😀 smile', 'smile', '名前', 'null', 'true', '12', 'tp53',
]; // prettier-ignore
export const objectTags = [
  'cancer',
  'Cancer',
  'breast cancer',
  'rare "one"',
  'a',
  'B',
  'ünï',
  '😀',
];
export const descriptions = [
  null, null, 'Variants of the cohort', 'the COHORT, again: cohort', 'nul\u0000 behind cohort', 'Ünïcode words', 'x', '',
]; // prettier-ignore
export const timeTexts = ['2015-01-10T00:00:00.000', '2016-05-01T12:30:00.125', '2016-05-01T23:59:59.999', '2016-05-02T00:00:00.000', '2020-02-29T05:00:00.000']; // prettier-ignore

/** Creates a random catalogue with four users of two accounts and up to `objectCount` objects. */
export async function randomCatalogue(
  random: Random,
  objectCount: number,
): Promise<RandomCatalogue> {
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-search-'));
  const file = join(folder, 'catalog.sqlite');
  const catalogFixture = new CatalogFixture(await openCatalog(file));
  const users = [
    await catalogFixture.createUserOf('ann@acme.org', 'acme', 'primary_owner'),
    await catalogFixture.createUserOf('bob@acme.org', 'acme'),
    await catalogFixture.createUserOf('cy@acme.org', 'acme'),
    await catalogFixture.createUserOf('dee@other.org', 'other'),
  ];
  const vaults = await createRandomVaults(catalogFixture, random, users);
  const documents: WritableDocument[] = vaults.map(({ document }) => document);
  for (let i = 0; i < objectCount; i++) documents.push(await createRandomObject(catalogFixture, random, vaults, documents, users)); // prettier-ignore
  await deleteRandomObjects(catalogFixture, random, documents);
  setRandomTimes(file, random, documents);
  const closeAll = async (): Promise<void> => {
    await catalogFixture.catalog.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const searchers = await Promise.all(
    users.map((person) => searchingUserOf(catalogFixture, person, vaults)),
  );
  return { catalogFixture, documents: sortDocuments(documents), searchers, close: closeAll };
}

type WritableDocument = { -readonly [K in keyof ModelDocument]: ModelDocument[K] };

interface ModelVault {
  readonly document: WritableDocument;
  readonly owner: CreatedUser;
  readonly isPersonal: boolean;
  readonly isPublic: boolean;
  readonly grantedUserIds: ReadonlySet<number>;
}

async function createRandomVaults(
  catalogFixture: CatalogFixture,
  random: Random,
  people: readonly CreatedUser[],
): Promise<readonly ModelVault[]> {
  const { vaults } = catalogFixture.catalog;
  const modelVaults: ModelVault[] = [];
  for (const owner of people) {
    const { id, name } = owner.vault;
    modelVaults.push({
      document: vaultDocument(id, name, owner, (await vaults.get(id))!.description, [], null),
      owner,
      isPersonal: true,
      isPublic: false,
      grantedUserIds: new Set(),
    });
  }
  for (let i = 0; i < 6; i++) {
    const owner = random.pick(people);
    const name = `${random.pick(objectNames).replaceAll(/[/:*?]/g, '-')} ${i}`;
    const description = random.pick(descriptions);
    const isPublic = random.chance(0.3);
    const storageClass = random.chance(0.5) ? 'Archive' : null;
    const ownTags = [
      ...new Set(random.list(random.integerBelow(3), () => random.pick(objectTags))),
    ];
    const { id } = await vaults.create({
      accountId: owner.user.accountId,
      userId: owner.user.id,
      name,
      isPublic,
      tags: ownTags,
      ...(description !== null && { description }),
      ...(storageClass !== null && { defaultStorageClass: storageClass }),
    });
    const grantedUserIds = new Set<number>();
    for (const { user } of people) {
      if (user.id === owner.user.id || !random.chance(0.3)) continue;
      grantedUserIds.add(user.id);
      await catalogFixture.catalog.vaultPermissions.grant(
        id,
        { userId: user.id },
        random.pick(['read', 'write', 'admin'] as const),
      );
    }
    const document = vaultDocument(id, name, owner, description, ownTags, storageClass);
    modelVaults.push({ document, owner, isPersonal: false, isPublic, grantedUserIds });
  }
  return modelVaults;
}

function vaultDocument(
  id: number,
  name: string,
  owner: CreatedUser,
  description: string | null,
  tags: readonly string[],
  storageClass: string | null,
): WritableDocument {
  const path = `${owner.account.domain}:${name}`;
  return {
    _id: `vault-${id}`,
    id,
    type: 'vault',
    name,
    full_path: path,
    path,
    parent: null,
    parent_id: null,
    vault: name,
    vault_id: id,
    user: owner.user.email,
    tags,
    storage_class: storageClass,
    description,
    created_at: '',
    updated_at: '',
    indexed_at: '',
  };
}

async function createRandomObject(
  catalogFixture: CatalogFixture,
  random: Random,
  vaults: readonly ModelVault[],
  documents: readonly WritableDocument[],
  people: readonly CreatedUser[],
): Promise<WritableDocument> {
  const { document: vault } = random.pick(vaults);
  const folders = documents.filter(
    (one) => one.type === 'folder' && one.vault_id === vault.id && one.full_path.length < 100,
  );
  const parent = folders.length > 0 && random.chance(0.7) ? random.pick(folders) : null;
  const type = random.pick(['folder', 'folder', 'file', 'dataset'] as const);
  const { user } = random.pick(people);
  const description = random.pick(descriptions);
  const ownTags = [...new Set(random.list(random.integerBelow(3), () => random.pick(objectTags)))];
  const storage = type === 'dataset' ? random.pick(['Standard', 'Archive', 'Temporary']) : null;
  const givenObject = {
    vaultId: vault.id,
    parentId: parent?.id ?? null,
    filename: random.pick(objectNames),
    userId: user.id,
    tags: ownTags,
    ...(description !== null && { description }),
  };
  const { catalog } = catalogFixture;
  const createdObject =
    type === 'dataset'
      ? (await catalog.datasets.create({ ...givenObject, storageClass: storage! })).object
      : await catalog.objects.create({ ...givenObject, objectType: type });
  const path = `${parent ? parent.full_path : `${vault.full_path}:`}/${createdObject.filename}`;
  return {
    _id: `${type}-${createdObject.id}`,
    id: createdObject.id,
    type,
    name: createdObject.filename,
    full_path: path,
    path,
    parent: parent?.name ?? null,
    parent_id: parent?.id ?? null,
    vault: vault.name,
    vault_id: vault.id,
    user: user.email,
    tags: ownTags,
    storage_class: storage,
    description: createdObject.description,
    created_at: '',
    updated_at: '',
    indexed_at: '',
  };
}

/** Deletes a few objects with everything below them. */
async function deleteRandomObjects(
  catalogFixture: CatalogFixture,
  random: Random,
  documents: WritableDocument[],
): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const objects = documents.filter(({ type }) => type !== 'vault');
    if (objects.length === 0) return;
    const { id, full_path: path } = random.pick(objects);
    await catalogFixture.catalog.objects.delete(id);
    const isGone = (one: WritableDocument): boolean => one.id === id || one.full_path.startsWith(`${path}/`); // prettier-ignore
    documents.splice(0, documents.length, ...documents.filter((one) => !isGone(one)));
  }
}

function setRandomTimes(
  file: string,
  random: Random,
  documents: readonly WritableDocument[],
): void {
  const db = new DatabaseSync(file);
  const update = (table: string): ReturnType<DatabaseSync['prepare']> =>
    db.prepare(`UPDATE ${table} SET created_at = ?, updated_at = ? WHERE id = ?`);
  const [vaults, objects] = [update('vaults'), update('objects')];
  db.exec('BEGIN');
  for (const document of documents) {
    const [created, updated] = [random.pick(timeTexts), random.pick(timeTexts)];
    const millis = [created, updated].map((time) => Date.parse(`${time}Z`));
    (document.type === 'vault' ? vaults : objects).run(...millis, document.id);
    Object.assign(document, { created_at: created, updated_at: updated, indexed_at: updated });
  }
  db.exec('COMMIT');
  db.close();
}

function sortDocuments(documents: readonly WritableDocument[]): readonly ModelDocument[] {
  const orderOf = ({ type, id }: WritableDocument): number => (type === 'vault' ? id : id + 1e15);
  return documents.toSorted((a, b) => orderOf(a) - orderOf(b));
}

/** Returns a searcher, by contract 5.2 and the access rules of the specification, without the code of the product. */
async function searchingUserOf(
  catalogFixture: CatalogFixture,
  { user }: CreatedUser,
  vaults: readonly ModelVault[],
): Promise<SearchingUser> {
  const readable = new Map<number, 'own' | 'public'>();
  for (const { document, owner, isPersonal, isPublic, grantedUserIds } of vaults) {
    const isAdmin = user.role !== 'member' && !isPersonal && owner.user.accountId === user.accountId; // prettier-ignore
    if (owner.user.id === user.id || grantedUserIds.has(user.id) || isAdmin)
      readable.set(document.id, 'own'); // prettier-ignore
    else if (isPublic) readable.set(document.id, 'public');
  }
  return { name: user.email, viewer: await catalogFixture.readViewer(user.id), readable };
}

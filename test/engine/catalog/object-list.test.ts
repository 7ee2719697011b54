import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { ObjectFilter } from '../../../engine/catalog/object-list.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { allRowsPage, seededRandomBelow, CatalogFixture } from './catalog-fixture.js';

let catalogFixture: CatalogFixture;
let ann: CreatedUser;
let viewer: Viewer;
let labVault: VaultRow;
/** All objects that Ann may read, in the order of vaults and paths. */
let rows: readonly ObjectRow[];
/** The full paths of the objects in `rows`, by id. */
let fullPathById: ReadonlyMap<number, string>;

beforeAll(async () => {
  catalogFixture = await CatalogFixture.openInMemory();
  const { catalog } = catalogFixture;
  ann = await catalogFixture.createUserOf('ann@example.org');
  viewer = await catalogFixture.readViewer(ann.user.id);
  const eve = await catalogFixture.createUserOf('eve@elsewhere.org', 'elsewhere');
  const createVault = (owner: CreatedUser, name: string, isPublic = false): Promise<VaultRow> =>
    catalog.vaults.create({ accountId: owner.account.id, userId: owner.user.id, name, isPublic });
  labVault = await createVault(ann, 'Lab');
  const openVault = await createVault(eve, 'Open', true);
  const hiddenVault = await createVault(eve, 'Hidden');
  const random = seededRandomBelow(5);
  const names = ['runs', 'Dir1', 'dir2', 'x.vcf', 'y%', 'a_b', 'project: ABCD', 'Größe'];
  for (const { id, userId } of [labVault, openVault, hiddenVault, ann.vault]) {
    const folders: (number | null)[] = [null];
    for (let i = 0; i < 40; i++) {
      const at = { vaultId: id, userId, parentId: folders[random(folders.length)]! };
      const filename = names[random(names.length)]!;
      const tags = random(3) === 0 ? ['red', 'Blue'] : [];
      const kind = random(3);
      if (kind === 0) {
        const storageClass = random(2) === 0 ? 'Standard' : 'Essential';
        await catalog.datasets.create({ ...at, filename, tags, storageClass });
      } else {
        const objectType = kind === 1 ? 'file' : 'folder';
        const createdObject = await catalog.objects.create({ ...at, filename, tags, objectType });
        if (kind === 2) folders.push(createdObject.id);
      }
    }
  }
  const allObjects = await catalog.objects.list({ viewer: null }, allRowsPage);
  expect(allObjects.total).toBe(160);
  rows = allObjects.rows.filter((row) => row.vaultId !== hiddenVault.id);
  const prefixByVaultId = new Map([
    [labVault.id, 'acme:Lab:'],
    [openVault.id, 'elsewhere:Open:'],
    [ann.vault.id, `acme:${ann.vault.name}:`],
  ]);
  fullPathById = new Map(rows.map((row) => [row.id, prefixByVaultId.get(row.vaultId)! + row.path]));
});
afterAll(() => catalogFixture.catalog.close());

/** Expects that a list contains exactly the rows for which a simple predicate holds, in the order of vaults and paths. */
async function expectSameAsPredicate(
  filter: Omit<ObjectFilter, 'viewer'>,
  matches: (row: ObjectRow) => boolean,
  mayBeEmpty = false,
): Promise<void> {
  const listedObjects = await catalogFixture.catalog.objects.list(
    { viewer, ...filter },
    allRowsPage,
  );
  const expected = rows.filter(matches);
  expect({ filter, ids: listedObjects.rows.map((row) => row.id) }).toEqual({
    filter,
    ids: expected.map((row) => row.id),
  });
  expect(listedObjects.total).toBe(expected.length);
  if (!mayBeEmpty) expect([filter, expected.length > 0]).toEqual([filter, true]);
  // A page is the corresponding part of the whole list.
  const page = await catalogFixture.catalog.objects.list(
    { viewer, ...filter },
    { limit: 3, offset: 2 },
  );
  expect(page.rows.map((row) => row.id)).toEqual(expected.slice(2, 5).map((row) => row.id));
  expect(page.total).toBe(expected.length);
}

test('lists everything readable by vault and path', async () => {
  await expectSameAsPredicate({}, () => true);
  const listedObjects = await catalogFixture.catalog.objects.list(
    { viewer, vaultIds: [labVault.id] },
    allRowsPage,
  );
  const paths = listedObjects.rows.map((row) => row.path.toLowerCase());
  expect(paths).toEqual([...paths].sort());
});

test('filters by id, vault, parent, name, path, type, depth and tag', async () => {
  const folder = rows.find((row) => row.objectType === 'folder' && row.parentId === null)!;
  await expectSameAsPredicate(
    { ids: [rows[0]!.id, rows[7]!.id, 3] },
    (row) => row === rows[0] || row === rows[7],
  );
  await expectSameAsPredicate({ vaultIds: [labVault.id, ann.vault.id] }, (row) =>
    [labVault.id, ann.vault.id].includes(row.vaultId),
  );
  await expectSameAsPredicate({ vaultName: 'LAB' }, (row) => row.vaultId === labVault.id);
  await expectSameAsPredicate({ vaultFullPath: '~' }, (row) => row.vaultId === ann.vault.id);
  await expectSameAsPredicate({ vaultFullPath: 'ELSEWHERE:open' }, (row) =>
    fullPathById.get(row.id)!.startsWith('elsewhere'),
  );
  await expectSameAsPredicate({ parentId: null }, (row) => row.parentId === null);
  await expectSameAsPredicate({ parentId: folder.id }, (row) => row.parentId === folder.id);
  await expectSameAsPredicate({ filename: 'DIR1' }, (row) => row.filename.toLowerCase() === 'dir1');
  await expectSameAsPredicate({ filename: 'y%' }, (row) => row.filename === 'y%');
  await expectSameAsPredicate({ filename: 'axb' }, () => false, true);
  await expectSameAsPredicate({ path: '//X.vcf/' }, (row) => row.path.toLowerCase() === '/x.vcf');
  await expectSameAsPredicate(
    { objectTypes: ['file', 'dataset'] },
    (row) => row.objectType !== 'folder',
  );
  await expectSameAsPredicate({ depth: 0 }, (row) => row.depth === 0);
  await expectSameAsPredicate(
    { depth: 2, objectTypes: ['folder'] },
    (row) => row.depth === 2 && row.objectType === 'folder',
  );
  await expectSameAsPredicate({ tag: 'Blue' }, (row) => row.tags.includes('Blue'));
  await expectSameAsPredicate({ tag: 'blue' }, () => false, true);
  const essentialIds = new Set<number>();
  const datasets = await catalogFixture.catalog.datasets.list(
    { viewer, storageClass: 'Essential' },
    allRowsPage,
  );
  for (const dataset of datasets.rows) essentialIds.add(dataset.id);
  await expectSameAsPredicate({ storageClass: 'Essential' }, (row) => essentialIds.has(row.id));
  await expectSameAsPredicate(
    { permission: 'write' },
    (row) => !fullPathById.get(row.id)!.startsWith('elsewhere'),
  );
});

test('finds one object by its full path in any form, and none for an unknown path', async () => {
  const labObjects = rows.filter((row) => row.vaultId === labVault.id);
  for (const row of labObjects) {
    for (const text of [
      `acme:Lab:${row.path}`,
      `LAB:${row.path.toUpperCase()}/`,
      `lab${row.path}`,
    ]) {
      await expectSameAsPredicate({ fullPath: text }, (one) => one === row);
    }
  }
  const ownObject = rows.find((row) => row.vaultId === ann.vault.id)!;
  await expectSameAsPredicate({ fullPath: `~${ownObject.path}` }, (row) => row === ownObject);
  for (const text of [
    'acme:Hidden:/runs',
    'elsewhere:Hidden:/runs',
    'nowhere:/x',
    '/x',
    '',
    'lab:/%',
    'lab:/\0',
  ]) {
    await expectSameAsPredicate({ fullPath: text }, () => false, true);
  }
});

test('finds the descendants of an ancestor at or beyond a distance', async () => {
  const folders = rows.filter((row) => row.objectType === 'folder');
  for (const { id, depth } of folders) {
    const isBelow = (row: ObjectRow): boolean => row.ancestorIds.includes(id);
    await expectSameAsPredicate({ ancestorId: id }, isBelow, true);
    await expectSameAsPredicate(
      { ancestorId: id, minDistance: 2 },
      (row) => isBelow(row) && row.depth - depth >= 2,
      true,
    );
  }
  await expectSameAsPredicate({ ancestorId: null }, () => true);
  await expectSameAsPredicate({ ancestorId: null, minDistance: 3 }, (row) => row.depth >= 2);
  await expectSameAsPredicate({ ancestorId: 12 }, () => false, true);
});

test('finds any number of ids', async () => {
  const someIds = rows.filter((_, i) => i % 2 === 0).map(({ id }) => id);
  const otherIds = Array.from({ length: 40_000 }, (_, i) => i);
  await expectSameAsPredicate({ among: [...someIds, ...otherIds] }, ({ id }) =>
    someIds.includes(id),
  );
  await expectSameAsPredicate({ among: [] }, () => false, true);
});

test('finds text, regular expressions and globs in paths', async () => {
  const pathOf = (row: ObjectRow): string => row.path.toLowerCase();
  await expectSameAsPredicate({ query: 'DIR' }, (row) => pathOf(row).includes('dir'));
  await expectSameAsPredicate({ query: 'größe' }, (row) => pathOf(row).includes('größe'));
  await expectSameAsPredicate({ query: '_' }, (row) => pathOf(row).includes('_'));
  await expectSameAsPredicate({ query: '%' }, (row) => pathOf(row).includes('%'));
  await expectSameAsPredicate({ query: 'x'.repeat(60_000) }, () => false, true);
  await expectSameAsPredicate({ query: 'dir\0' }, () => false, true);
  await expectSameAsPredicate({ regex: '/dir2.+' }, (row) => /\/dir2.+/.test(pathOf(row)));
  await expectSameAsPredicate({ regex: '^/RUNS' }, (row) => pathOf(row).startsWith('/runs'));
  await expectSameAsPredicate(
    { regex: 'vcf$', vaultIds: [labVault.id] },
    (row) => pathOf(row).endsWith('vcf') && row.vaultId === labVault.id,
  );

  const fullPathOf = (row: ObjectRow): string => fullPathById.get(row.id)!.toLowerCase();
  await expectSameAsPredicate({ glob: '*/**' }, () => true);
  await expectSameAsPredicate({ glob: 'acme:*:/**' }, (row) => fullPathOf(row).startsWith('acme'));
  await expectSameAsPredicate(
    { glob: 'lab:/*' },
    (row) => row.vaultId === labVault.id && row.depth === 0,
  );
  await expectSameAsPredicate({ glob: 'LAB/d*' }, (row) =>
    /^acme:lab:\/d[^/]*$/.test(fullPathOf(row)),
  );
  await expectSameAsPredicate(
    { glob: 'lab:/dir?/**' },
    (row) => /^acme:lab:\/dir[^/]\/.+/.test(fullPathOf(row)),
    true,
  );
  await expectSameAsPredicate(
    { glob: '~/**.vcf' },
    (row) => row.vaultId === ann.vault.id && fullPathOf(row).endsWith('.vcf'),
  );
  await expectSameAsPredicate({ glob: 'o*:/*' }, (row) =>
    /^elsewhere:open:\/[^/]*$/.test(fullPathOf(row)),
  );
  await expectSameAsPredicate({ glob: 'open:/*' }, () => false, true); // an exact vault name of another account needs its domain
  await expectSameAsPredicate({ glob: 'else*:o???:/**' }, (row) =>
    fullPathOf(row).startsWith('elsewhere:open'),
  );
  await expectSameAsPredicate(
    { glob: '/dir1/*', vaultIds: [labVault.id] },
    (row) => /^acme:lab:\/dir1\/[^/]*$/.test(fullPathOf(row)),
    true,
  );
  await expectSameAsPredicate({ glob: 'dir*', vaultIds: [labVault.id] }, (row) =>
    /^acme:lab:\/dir[^/]*$/.test(fullPathOf(row)),
  );
  await expectSameAsPredicate({ glob: '**:/**', regex: 'dir1' }, (row) =>
    pathOf(row).includes('dir1'),
  );
  await expectSameAsPredicate(
    { glob: 'lab:/**', regex: 'dir1' },
    (row) => row.vaultId === labVault.id && pathOf(row).includes('dir1'),
  );
  const labObject = rows.find((row) => row.vaultId === labVault.id)!;
  await expectSameAsPredicate({ glob: `acme:lab:${labObject.path}` }, (row) => row === labObject);
  await expectSameAsPredicate(
    { glob: 'lab:/y%' },
    (row) => fullPathOf(row) === 'acme:lab:/y%',
    true,
  );
});

test('Q3: a pattern that is exponential for backtracking engines is answered at once', async () => {
  const { catalog } = catalogFixture;
  const parent = await catalog.objects.ensureFolder(
    labVault.id,
    `/${Array(20).fill('a'.repeat(900)).join('/')}`,
    ann.user.id,
  );
  for (const regex of ['(a+)+$', '(a|a)*b', `${'.*'.repeat(30)}b$`, `(${'a?'.repeat(50)})*c`]) {
    await catalog.objects.list({ viewer, regex }, allRowsPage);
  }
  await catalog.objects.list({ viewer, glob: `lab:/**${'*a'.repeat(30)}` }, allRowsPage);
  await catalog.objects.delete(parent!.ancestorIds[0]!);
});

test('Q4: a pattern that a linear engine does not support is refused by name', async () => {
  for (const regex of ['(a)\\1', '(?=a)', '(?<!a)b', '(', '[', 'a{1001}', '*']) {
    await expect(
      catalogFixture.catalog.objects.list({ viewer, regex }, allRowsPage),
    ).rejects.toMatchObject({
      code: 'invalid',
      fields: { regex: [expect.stringContaining('Not a supported regular expression')] },
    });
  }
  for (const filter of [{ regex: 'x'.repeat(1_025) }, { glob: 'x'.repeat(1_025) }]) {
    await expect(
      catalogFixture.catalog.objects.list({ viewer, ...filter }, allRowsPage),
    ).rejects.toThrow(/may have at most 1024 bytes, and this one has 1025: shorten it/);
  }
  await expect(
    catalogFixture.catalog.objects.list({ viewer, glob: '/x' }, allRowsPage),
  ).rejects.toThrow('begins with a vault');
});

test('Q1: SQL in a filter stays text', async () => {
  const { catalog } = catalogFixture;
  const hostileTexts = [
    "' OR 1=1 --",
    '"; DROP TABLE objects; --',
    '`',
    '\\',
    "%' ESCAPE '",
    '\u202e',
    'NULL',
    '${x}',
    '?',
    '?1',
    ':a',
  ];
  for (const text of hostileTexts) {
    for (const key of [
      'vaultName',
      'vaultFullPath',
      'filename',
      'path',
      'fullPath',
      'query',
      'tag',
      'storageClass',
    ] as const) {
      const matchingObjects = await catalog.objects.list({ viewer, [key]: text }, allRowsPage);
      if (!rows.some((row) => row.path.includes(text)))
        expect([key, text, matchingObjects.total]).toEqual([key, text, 0]);
    }
    const createdObject = await catalog.objects.create({
      vaultId: labVault.id,
      parentId: null,
      objectType: 'folder',
      filename: text,
      userId: ann.user.id,
      description: text,
      tags: [text],
      metadata: { [text]: text, ['__proto__']: 1 },
    });
    expect((await catalog.objects.list({ viewer, filename: text }, allRowsPage)).rows).toEqual([
      createdObject,
    ]);
    expect((await catalog.objects.list({ viewer, tag: text }, allRowsPage)).total).toBe(1);
    await catalog.objects.delete(createdObject.id);
  }
});

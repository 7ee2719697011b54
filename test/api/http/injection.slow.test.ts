import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OperationRow } from '../../../api/http/operation-row.js';
import { operations } from '../../../api/resources/index.js';
import {
  idOf,
  makeVaultFixture,
  startServer,
  type Client,
  type VaultFixture,
  type TestServer,
} from '../server.js';

/** Texts that break, confuse or overload careless parsers (threats Q1, Q2). */
const injectionTexts: readonly string[] = [
  `'`,
  `"`,
  '`',
  `''`,
  `\\`,
  `';--`,
  `' OR '1'='1`,
  `" OR ""="`,
  `'; DROP TABLE vaults; --`,
  `1; SELECT 1`,
  `1 OR 1=1`,
  `/* */`,
  `%`,
  `_`,
  `%%`,
  `\\%`,
  `*`,
  `?`,
  `**`,
  `[`,
  `]`,
  `{`,
  `}`,
  `(`,
  `)`,
  `$1`,
  `?1`,
  `:id`,
  `@id`,
  `#`,
  `;`,
  `,`,
  `|`,
  `&`,
  `<`,
  `>`,
  `=`,
  `__proto__`,
  `constructor`,
  `toString`,
  `hasOwnProperty`,
  `prototype`,
  `__proto__[x]`,
  `null`,
  `undefined`,
  `NaN`,
  `Infinity`,
  `true`,
  `-1`,
  `0`,
  `1e9`,
  `0x10`,
  `9223372036854775808`,
  `99999999999999999999999999`,
  `1.5`,
  `١٢٣`,
  `½`,
  `\u0000`,
  `a\u0000b`,
  `\u0001`,
  `\u001b[31m`,
  `\n`,
  `\r\n`,
  `\t`,
  ` `,
  `\u00a0`,
  `\u2028`,
  `\u202e`,
  `\ufeff`,
  `\ufffd`,
  `😀`,
  `é`,
  `e\u0301`,
  `ß`,
  `İ`,
  `../`,
  `..\\`,
  `/etc/passwd`,
  `C:\\`,
  `file:///etc/passwd`,
  `~`,
  `~/`,
  `:`,
  `::`,
  `a:b:c:d`,
  `//`,
  `/`,
  `.`,
  `..`,
  `read_csv('/etc/passwd')`,
  `getenv('HOME')`,
  `\${7*7}`,
  `{{7*7}}`,
  `<script>alert(1)</script>`,
  `(a+)+$`,
  `(?=a)`,
  `\\1`,
  'x'.repeat(10_000),
];

let server: TestServer;
let ann: Client;
let fixture: VaultFixture;
let groupId: number;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann', { role: 'admin' });
  fixture = await makeVaultFixture(ann);
  groupId = idOf(await ann.post('/v1/groups', { name: 'Readers' }));
});
afterAll(async () => {
  await server.close();
  expect(Object.keys(Object.prototype)).toEqual([]);
});

const listOperations = (Object.values(operations) as OperationRow[]).filter(
  ({ answer }) => typeof answer === 'object' && 'listOf' in answer,
);
const listFilters = listOperations.flatMap((row) =>
  Object.keys(row.query ?? {}).map((name) => [row.paths[0].replace(':id', '$D'), name] as const),
);

/** Returns lists of the catalogue as text; no query may change them. */
async function readCatalogLists(): Promise<string> {
  const paths = [
    '/v2/vaults',
    '/v2/objects',
    '/v2/datasets',
    '/v2/tasks',
    `/v2/datasets/${fixture.datasetId}/fields`,
  ];
  const texts: string[] = [];
  for (const path of paths) texts.push((await ann.get(path)).text);
  return texts.join('\n');
}

describe('odd texts (Q1, Q2)', () => {
  test.each(listFilters)('in %s?%s= find nothing, or are refused', async (path, name) => {
    const { datasetId, vaultId } = fixture;
    const ownerIds: Readonly<Record<string, number>> = { vaults: vaultId, groups: groupId };
    const target = path.replace('$D', String(ownerIds[path.split('/')[2]!] ?? datasetId));
    for (const text of injectionTexts) {
      const { status, text: body } = await ann.get(
        `${target}?${name}=${encodeURIComponent(text.toWellFormed())}`,
      );
      expect([name, text.slice(0, 50), [200, 400].includes(status)]).toEqual([
        name,
        text.slice(0, 50),
        true,
      ]);
      expect(body.startsWith('{')).toBe(true);
    }
  });

  test('as names of parameters are ignored', async () => {
    for (const text of injectionTexts.slice(0, -1)) {
      const { status } = await ann.get(`/v2/vaults?${encodeURIComponent(text)}=1`);
      expect([text, status]).toEqual([text, 200]);
    }
  });

  test('in every part of a query are refused, or are values like others', async () => {
    const listsBefore = await readCatalogLists();
    for (const text of injectionTexts) {
      const bodies: readonly object[] = [
        { filters: [[text, 'x']] },
        { filters: [[`gene__${text}`, 'x']] },
        { filters: [['gene', text]] },
        { filters: [['n', text]] },
        { filters: [['gene__regexp', text]] },
        { filters: [['gene__contains', text]] },
        { filters: [{ [text]: [] }] },
        { fields: [text] },
        { exclude_fields: [text] },
        { ordering: [text] },
        { facets: { [text]: {} } },
        { facets: { gene: { [text]: 1, facet_type: text } } },
        { facets: { gene: { limit: text } } },
        { entities: [[text, text]] },
        { genome_build: text },
        { limit: text },
        { offset: text },
        { query: text },
      ];
      for (const body of bodies) {
        const answer = await ann.post(`/v2/datasets/${fixture.datasetId}/data`, body);
        const bodyText = JSON.stringify(body).slice(0, 80);
        expect([bodyText, [200, 400].includes(answer.status)]).toEqual([bodyText, true]);
        expect(answer.text.startsWith('{')).toBe(true);
      }
    }
    expect(await readCatalogLists()).toBe(listsBefore);
  });

  test('as values of bodies are stored as they are or refused, in every position', async () => {
    for (const [index, text] of injectionTexts.entries()) {
      const createdVault = await ann.post('/v2/vaults', {
        name: text,
        description: text,
        metadata: { [text]: text },
        tags: [text],
        default_storage_class: null,
      });
      expect([text, [201, 400].includes(createdVault.status)]).toEqual([text, true]);
      if (createdVault.status === 201) {
        expect(createdVault.json).toMatchObject({ name: text, description: text });
        expect(Object.entries(createdVault.json['metadata'] as object)).toEqual([[text, text]]);
      }
      const object = await ann.post('/v2/objects', {
        vault_id: fixture.vaultId,
        parent_object_id: text,
        object_type: text,
        filename: text,
        storage_class: text,
        capacity: text,
      });
      expect([text, [400, 404].includes(object.status)]).toEqual([text, true]);
      const field = await ann.post('/v2/dataset_fields', {
        dataset_id: fixture.datasetId,
        name: `n${index}${text}`,
        title: text,
        entity_type: null,
        expression: text,
      });
      expect([text, [201, 400].includes(field.status)]).toEqual([text, true]);
    }
    for (const text of injectionTexts.slice(0, -1)) {
      const { status } = await ann.get(
        `/v2/datasets/${fixture.datasetId}/data/${encodeURIComponent(text)}`,
      );
      expect([text, [200, 400, 404].includes(status)]).toEqual([text, true]);
    }
  });
});

import { expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import type { OperationRow } from '../../../api/http/operation-row.js';
import { unservedOperations } from '../../../api/http/unserved.js';
import { operations } from '../../../api/resources/index.js';
import { expectCurrentPage } from '../../generated-page.js';

const interfaceFile = 'test/api/interface.txt';
const coveragePage = 'docs/coverage.md';

/** A line of test/api/interface.txt: one operation of the interface. */
interface InterfaceLine {
  readonly section: string;
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly meaning: string;
}

const servedRoutes: ReadonlySet<string> = new Set(
  (Object.values(operations) as OperationRow[]).flatMap((row) =>
    row.paths.map((path) => `${row.method} ${pathPatternOf(path)}`),
  ),
);

/** Returns a path with its parameters replaced by `*`: their names may differ, only their positions count. */
function pathPatternOf(path: string): string {
  return path.replaceAll(/:\w+|\{\w+\}/g, '*');
}

async function readInterfaceLines(): Promise<readonly InterfaceLine[]> {
  const lines: InterfaceLine[] = [];
  let sectionName = '';
  for (const text of (await readFile(interfaceFile, 'utf8')).split('\n')) {
    if (text.startsWith('## ')) sectionName = text.slice(3);
    const match = /^(S|C[\d.]+) ([A-Z]+) (\/\S*) (.+)$/.exec(text);
    if (!match) continue;
    const [, origin = '', method = '', path = '', meaning = ''] = match;
    lines.push({ section: sectionName, origin, method, path, meaning });
  }
  return lines;
}

function isServed({ method, path }: InterfaceLine): boolean {
  return servedRoutes.has(`${method} ${pathPatternOf(path)}`);
}

function formatCoverage(lines: readonly InterfaceLine[]): string {
  const servedCount = lines.filter(isServed).length;
  const sections = [...new Set(lines.map((line) => line.section))].map((section) => {
    const rows = lines
      .filter((line) => line.section === section)
      .map((line) => {
        const source = line.origin === 'S' ? 'specification' : `contract ${line.origin.slice(1)}`;
        const state = isServed(line) ? 'works' : 'not yet';
        return `| ${line.method} | \`${line.path}\` | ${line.meaning} | ${source} | ${state} |`;
      });
    const head = ['| Method | Path | Meaning | From | State |', '|---|---|---|---|---|'];
    return [`## ${section}`, '', ...head, ...rows, ''].join('\n');
  });
  return [
    '# Coverage of the interface',
    '',
    '<!-- Written by test/api/http/coverage.test.ts from test/api/interface.txt and the routes that the server has. -->',
    '',
    `${servedCount} of ${lines.length} operations work. Whatever is not served yet answers 501 and says what to do instead.`,
    '',
    ...sections,
  ].join('\n');
}

test('docs/coverage.md says what the server serves', async () => {
  const lines = await readInterfaceLines();
  expect(lines.length).toBeGreaterThan(120);
  expectCurrentPage(coveragePage, formatCoverage(lines));
});

test('what is not served is listed with what to do instead, and nothing else is', async () => {
  const unservedLines = (await readInterfaceLines()).filter((line) => !isServed(line));
  const listedRoutes = unservedOperations.flatMap(({ methods, path }) =>
    methods.map((method) => `${method} ${pathPatternOf(path)}`),
  );
  expect(listedRoutes.toSorted()).toEqual(
    unservedLines.map(({ method, path }) => `${method} ${pathPatternOf(path)}`).toSorted(),
  );
});

test('the interface lists no operation twice', async () => {
  const lines = await readInterfaceLines();
  const routes = lines.map((line) => `${line.method} ${pathPatternOf(line.path)}`);
  expect(routes.filter((key, index) => routes.indexOf(key) !== index)).toEqual([]);
});

test('every operation that the server serves stands in the interface, but for its own and for aliases', async () => {
  const listedRoutes = new Set(
    (await readInterfaceLines()).map((line) => `${line.method} ${pathPatternOf(line.path)}`),
  );
  const ownRoutes = [
    'GET /health',
    'GET /healthz',
    'GET /readyz',
    'GET /metrics',
    'GET /v2/usage',
    'GET /openapi.json',
    'GET /docs',
    'GET /join',
    'GET /v1/users',
    'GET /v1/expressions/functions',
    'POST /v1/users',
    'PUT /v1/users/*',
    'PATCH /v1/users/*',
    'DELETE /v1/users/*',
    'POST /v1/groups',
    'PUT /v1/groups/*',
    'PATCH /v1/groups/*',
    'DELETE /v1/groups/*',
    'PUT /v1/groups/*/memberships',
    'DELETE /v1/groups/*/memberships/*',
    'POST /v1/invitations',
    'GET /v1/invitations',
    'GET /v1/invitations/*',
    'DELETE /v1/invitations/*',
    'POST /v1/invitations/accept',
    'GET /v2/audit_log',
    'GET /v2/audit_log/export',
    'GET /v2/vaults/*/permissions',
    'PUT /v2/vaults/*/permissions',
    'DELETE /v2/vaults/*/permissions/*',
    'GET /v2/datasets/*/diff',
    'GET /v2/datasets/*/migrations',
    'GET /v2/dataset_exports/*/provenance',
    'GET /v2/dataset_imports/*/rejected',
    'GET /v2/dataset_migrations/*/rejected',
    'GET /v2/downloads/rejected/*',
    'PUT /v2/uploads/*/parts/*',
    'POST /v2/datasets/*/verify',
    'GET /v2/datasets/*/disk_use',
    'PUT /v1/user/password',
    'POST /authorize',
    'GET /.well-known/oauth-authorization-server',
    'GET /v1/oauth2/sign_in',
    'POST /v1/oauth2/sign_in',
    'POST /v2/applications/*/secret',
    'POST /v2/tokens',
    'GET /v2/tokens',
    'GET /v2/tokens/*',
    'PUT /v2/tokens/*',
    'PATCH /v2/tokens/*',
    'DELETE /v2/tokens/*',
    'GET /beacon/v2/*/info',
    'GET /beacon/v2/*/service-info',
    'GET /beacon/v2/*/configuration',
    'GET /beacon/v2/*/map',
    'GET /beacon/v2/*/entry_types',
    'GET /beacon/v2/*/filtering_terms',
    'GET /beacon/v2/*/datasets',
    'GET /beacon/v2/*/datasets/*',
    'GET /beacon/v2/*/datasets/*/filtering_terms',
    'GET /beacon/v2/*/datasets/*/g_variants',
    'POST /beacon/v2/*/datasets/*/g_variants',
    'GET /beacon/v2/*/g_variants',
    'POST /beacon/v2/*/g_variants',
    'GET /beacon/v2/*/g_variants/*',
    'POST /beacon/v2/*/g_variants/*',
  ];
  const unlisted = (Object.values(operations) as OperationRow[])
    .map((row) => `${row.method} ${pathPatternOf(row.paths[0])}`)
    .filter((key) => !listedRoutes.has(key) && !ownRoutes.includes(key));
  const advice = unlisted.map(
    (key) => `add ${key} to test/api/interface.txt, or to \`ownRoutes\` in this test`,
  );
  expect(advice).toEqual([]);
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withDataFolder } from '../../cli/data.js';
import { prepareFirstStart, createWorkToken } from '../../cli/first-start.js';
import { main } from '../../cli/main.js';
import { isCorrectPassword } from '../../engine/catalog/passwords.js';
import { openCatalog } from '../../engine/catalog/catalog.js';
import { type Config, parseConfig } from '../../engine/core/config.js';
import { collectingTerminal } from './collect.js';

let folder: string;
let config: Config;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'strandlake-cli-'));
  config = parseConfig(['--data', join(folder, 'data')], {});
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the first start', () => {
  test('creates an owner, a personal vault, a token and the vault of the example, once', async () => {
    const firstStart = await withDataFolder(config.data, (data) => prepareFirstStart(data, config));
    expect(firstStart.firstSecret).toMatch(/^[A-Za-z0-9]{30}$/);
    expect(firstStart.user.role).toBe('primary_owner');
    expect(firstStart.personalVault).toMatchObject({
      vaultType: 'user',
      userId: firstStart.user.id,
    });
    expect(firstStart.exampleVault?.name).toBe('examples');
    const secondStart = await withDataFolder(config.data, (data) =>
      prepareFirstStart(data, config),
    );
    expect(secondStart).toEqual({ ...firstStart, firstSecret: null });
    expect(await isAuthenticated(firstStart.firstSecret)).toBe(true);
  });

  test('uses the chosen token, and skips the example if it is switched off', async () => {
    const token = 'chosen-by-the-operator-1234567';
    const ownConfig = { ...config, token, examples: false };
    const { firstSecret, exampleVault } = await withDataFolder(config.data, (data) =>
      prepareFirstStart(data, ownConfig),
    );
    expect(firstSecret).toBe(token);
    expect(exampleVault).toBeNull();
    const secondStart = await withDataFolder(config.data, (data) =>
      prepareFirstStart(data, config),
    );
    expect(secondStart.exampleVault).toBeNull();
  });

  test('does not repeat an example that was imported or whose vault was deleted', async () => {
    const { exampleVault } = await withDataFolder(config.data, (data) =>
      prepareFirstStart(data, config),
    );
    const id = exampleVault?.id ?? 0;
    await withDataFolder(config.data, ({ catalog }) =>
      catalog.vaults.update(id, { metadata: { example: 'imported' } }),
    );
    expect(
      (await withDataFolder(config.data, (data) => prepareFirstStart(data, config))).exampleVault,
    ).toBeNull();
    await withDataFolder(config.data, ({ catalog }) => catalog.vaults.delete(id));
    expect(
      (await withDataFolder(config.data, (data) => prepareFirstStart(data, config))).exampleVault,
    ).toBeNull();
  });

  test('leaves no secret in the data folder', async () => {
    const { firstSecret, user } = await withDataFolder(config.data, (data) =>
      prepareFirstStart(data, config),
    );
    const workToken = await withDataFolder(config.data, (data) => createWorkToken(data, user));
    for (const name of readdirSync(config.data, { recursive: true, encoding: 'utf8' })) {
      if (!/catalog|key/.test(name) || name === 'keys') continue;
      const text = readFileSync(join(config.data, name), 'latin1');
      expect(text).not.toContain(firstSecret);
      expect(text).not.toContain(workToken.secret);
    }
  });
});

describe.each(['stopped', 'running'])('beside a %s server', (state) => {
  let stop: () => Promise<void>;

  beforeEach(async () => {
    await withDataFolder(config.data, (data) => prepareFirstStart(data, config));
    // A running server holds the catalogue open, with a lock that excludes a second server.
    const serverCatalog =
      state === 'running' ? await openCatalog(join(config.data, 'catalog.sqlite')) : null;
    stop = async () => serverCatalog?.close();
  });
  afterEach(() => stop());

  test('user add creates a user whose token works, and the account if it is new', async () => {
    const secret = await outputOfCommand('user add ann@example.org --account acme --role admin');
    expect(secret).toMatch(/^[A-Za-z0-9]{30}$/);
    expect(await isAuthenticated(secret)).toBe(true);
    const bobSecret = await outputOfCommand('user add bob@example.org --account acme');
    expect(await isAuthenticated(bobSecret)).toBe(true);
    await withDataFolder(config.data, async ({ catalog }) => {
      expect(await catalog.users.byEmail('bob@example.org')).toMatchObject({ role: 'member' });
      expect(await catalog.accounts.byDomain('acme')).toBeDefined();
    });
  });

  test("the README's second user belongs to the account of the first", async () => {
    const readme = readFileSync('README.md', 'utf8');
    const [, line = ''] = /npm run strandlake -- (user add .+)/.exec(readme) ?? [];
    expect(await isAuthenticated(await outputOfCommand(line))).toBe(true);
    await withDataFolder(config.data, async ({ catalog }) => {
      const { rows } = await catalog.users.list({}, { limit: 10, offset: 0 });
      expect(rows.map(({ email, role }) => `${email} ${role}`)).toEqual([
        'owner@localhost primary_owner',
        'ann@example.org admin',
      ]);
      expect(rows[1]?.accountId).toBe(rows[0]?.accountId);
    });
  });

  test('a user cannot be added twice', async () => {
    await outputOfCommand('user add ann@example.org --account acme');
    const terminal = await runCommandLine('user add ANN@example.org --account acme', 1);
    expect(terminal.notes.join()).toMatch(/exists already/);
  });

  test('tokens are added, listed without their secrets, and revoked', async () => {
    await outputOfCommand('user add ann@example.org --account acme');
    const secret = await outputOfCommand(
      'token add ann@example.org --name laptop --read-only --days 30',
    );
    const lines = (await runCommandLine('token list ann@example.org')).outs;
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^\d+ {2}\S{4}… {2}read {2}until \d{4}-\d\d-\d\d {2}laptop {2}ann@/);
    expect(lines.join()).not.toContain(secret);
    const id = lines[0]?.split(' ')[0] ?? '';
    await runCommandLine(`token rename ${id} desktop`);
    expect((await runCommandLine('token list ann@example.org')).outs[0]).toMatch(
      /desktop {2}ann@example.org {2}never used$/,
    );
    await runCommandLine(`token revoke ${id}`);
    expect(await isAuthenticated(secret)).toBe(false);
    expect((await runCommandLine('token list')).outs.join('\n')).toContain('revoked');
  });

  test('user password sets the password of a user, which is no argument', async () => {
    await outputOfCommand('user add ann@example.org --account acme');
    await runCommandLine('user password ann@example.org', 0, 'correct horse battery');
    await withDataFolder(config.data, async ({ catalog }) => {
      const user = await catalog.users.byEmail('ann@example.org');
      const hash = await catalog.passwords.get(user!.id);
      expect(await isCorrectPassword('correct horse battery', hash)).toBe(true);
    });
    const shortRun = await runCommandLine('user password ann@example.org', 1, 'short');
    expect(shortRun.notes.join()).toContain('15 to 256 characters');
    const unknownUserRun = await runCommandLine(
      'user password eve@example.org',
      1,
      'correct horse battery',
    );
    expect(unknownUserRun.notes.join()).toContain('no user eve@');
  });

  test('user login-link prints an address with a code for one sign-in', async () => {
    await outputOfCommand('user add ann@example.org --account acme');
    const link = await outputOfCommand(
      'user login-link ann@example.org --url https://lake.example.org',
    );
    const code = /^https:\/\/lake\.example\.org\/v1\/oauth2\/sign_in\?code=(\w{40})$/.exec(
      link,
    )?.[1];
    await withDataFolder(config.data, async ({ catalog, key }) => {
      const user = await catalog.users.byEmail('ann@example.org');
      expect(await catalog.signIns.find('link', code ?? '', key)).toBe(user?.id);
      expect(await catalog.signIns.find('session', code ?? '', key)).toBeUndefined();
    });
    const line = 'user login-link eve@example.org --url https://lake.example.org';
    expect((await runCommandLine(line, 1)).notes.join()).toContain('no user eve@');
  });

  test('an API key has 40 characters and works like a token', async () => {
    await outputOfCommand('user add ann@example.org --account acme');
    const secret = await outputOfCommand('token add ann@example.org --api-key');
    expect(secret).toMatch(/^[A-Za-z0-9]{40}$/);
    expect(await isAuthenticated(secret)).toBe(true);
  });

  test('errors name unknown users and tokens', async () => {
    expect((await runCommandLine('token add eve@example.org', 1)).notes.join()).toContain(
      'no user eve@',
    );
    expect((await runCommandLine('token rename 999 x', 1)).notes.join()).toContain('no token 999');
    expect((await runCommandLine('token revoke 999', 1)).notes.join()).toContain('no token 999');
  });
});

test('a folder without a catalogue is refused and left unchanged', async () => {
  const terminal = await runCommandLine('token list', 1);
  expect(terminal.notes.join()).toContain('contains no catalogue; start the server once');
  expect(readdirSync(folder)).toEqual([]);
});

async function runCommandLine(
  line: string,
  expectedCode = 0,
  ...secrets: readonly string[]
): Promise<ReturnType<typeof collectingTerminal>> {
  const terminal = collectingTerminal();
  terminal.secrets.push(...secrets);
  const code = await main(line.split(' '), { STRANDLAKE_DATA: config.data }, terminal);
  expect([code, terminal.notes]).toEqual([expectedCode, terminal.notes]);
  return terminal;
}

async function outputOfCommand(line: string): Promise<string> {
  return (await runCommandLine(line)).outs.join('\n');
}

async function isAuthenticated(secret: string | null): Promise<boolean> {
  return withDataFolder(config.data, async ({ catalog, key }) => {
    return (await catalog.tokens.authenticate(secret ?? '', key)) !== undefined;
  });
}

import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  parseArguments,
  parseConfig,
  settings,
  settingsHelp,
} from '../../../engine/core/config.js';

test('without flags and environment every setting has its default', () => {
  expect(parseConfig([], {})).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    data: resolve('data'),
    publicUrl: null,
    trustProxies: [],
    token: null,
    examples: true,
    allowAddresses: [],
    keepVersionsDays: 7,
    log: 'error',
  });
});

test('reads every setting from a flag and from the environment, and the flag wins', () => {
  const settingCases: Record<string, [string, unknown]> = {
    host: ['0.0.0.0', '0.0.0.0'],
    port: ['8080', 8080],
    data: ['elsewhere', resolve('elsewhere')],
    publicUrl: ['https://genes.example.org/lake/', 'https://genes.example.org/lake'],
    trustProxies: ['127.0.0.1, 10.0.0.0/8 fd00::/8', ['127.0.0.1', '10.0.0.0/8', 'fd00::/8']],
    threads: ['3', 3],
    apiMemoryMb: ['512', 512],
    queryCacheMb: ['512', 512],
    workerMemoryMb: ['768', 768],
    token: ['a'.repeat(30), 'a'.repeat(30)],
    examples: ['off', false],
    allowAddresses: [
      '127.0.0.1:9000, 10.0.0.0/8 [::1]:80 fd00::/8',
      ['127.0.0.1:9000', '10.0.0.0/8', '[::1]:80', 'fd00::/8'],
    ],
    rateLimit: ['0', 0],
    connectionsPerAddress: ['50', 50],
    keepVersionsDays: ['0', 0],
    smtpUrl: ['smtps://me:secret@mail.test:465', 'smtps://me:secret@mail.test:465'],
    mailFrom: ['Lake <exports@mail.test>', 'Lake <exports@mail.test>'],
    metricsToken: ['sixteen-letters+', 'sixteen-letters+'],
    multipartMb: ['64', 64],
    log: ['debug', 'debug'],
    logFile: ['lake.log', resolve('lake.log')],
    logFileMb: ['0', 0],
  };
  expect(Object.keys(settingCases)).toEqual(Object.keys(settings));
  for (const [key, setting] of Object.entries(settings)) {
    const [text, value] = settingCases[key] ?? ['', undefined];
    expect(parseConfig([], { [setting.env]: text })).toHaveProperty(key, value);
    expect(parseConfig([`--${setting.flag}`, text], { [setting.env]: '?' })).toHaveProperty(
      key,
      value,
    );
    expect(parseConfig([`--${setting.flag}=${text}`], {})).toHaveProperty(key, value);
  }
});

test('reports all mistakes at once, with the flag or variable', () => {
  const parseWrongSettings = (): unknown =>
    parseConfig(['--port', '70000', '--prot', '1', '--data'], {
      STRANDLAKE_PUBLIC_URL: 'http://host/a%20path',
      STRANDLAKE_EXAMPLES: 'maybe',
      STRANDLAKE_LOG: 'loud',
      STRANDLAKE_ALLOW_ADDRESSES: 'http://x',
      STRANDLAKE_TRUST_PROXIES: 'proxy.local',
    });
  expect(parseWrongSettings).toThrow(/--port: must be a whole number from 0 to 65535, not "70000"/);
  expect(parseWrongSettings).toThrow(/--prot: is not a setting/);
  expect(parseWrongSettings).toThrow(/--data: needs a value/);
  expect(parseWrongSettings).toThrow(/STRANDLAKE_PUBLIC_URL: must be http/);
  expect(parseWrongSettings).toThrow(/STRANDLAKE_EXAMPLES: must be on or off/);
  expect(parseWrongSettings).toThrow(/STRANDLAKE_LOG: must be one of/);
  expect(parseWrongSettings).toThrow(/STRANDLAKE_TRUST_PROXIES: must be addresses and CIDR blocks .* not "proxy.local"/); // prettier-ignore
  expect(parseWrongSettings).toThrow(/STRANDLAKE_ALLOW_ADDRESSES: must be host:port/);
});

test('a token of the wrong length is refused without being repeated', () => {
  const secret = 'secret-that-is-too-short';
  expect(() => parseConfig([], { STRANDLAKE_TOKEN: secret })).toThrow(/exactly 30/);
  expect(() => parseConfig([], { STRANDLAKE_TOKEN: secret })).not.toThrow(new RegExp(secret));
});

test('a mail server is refused without its password being repeated', () => {
  for (const text of ['http://me:secret@mail.test', 'smtp:', 'me:secret@mail.test'])
    expect(() => parseConfig([], { STRANDLAKE_SMTP_URL: text })).toThrow(/^STRANDLAKE_SMTP_URL: must be smtp:\/\/host:port (?!.*secret)/); // prettier-ignore
});

test('separates positional arguments from settings', () => {
  const parsedArguments = parseArguments(['a.vcf', '--port', '1', 'b.vcf.gz', '--help'], {});
  expect(parsedArguments.positionals).toEqual(['a.vcf', 'b.vcf.gz']);
  expect(parsedArguments.help).toBe(true);
  expect(() => parseConfig(['a.vcf'], {})).toThrow(/a\.vcf: not expected here/);
});

test('the help names every flag and every variable', () => {
  for (const { flag, env } of Object.values(settings)) {
    expect(settingsHelp()).toContain(`--${flag} `);
    expect(settingsHelp()).toContain(env);
  }
});

test('the README holds the same table', () => {
  const squeezeSpaces = (text: string): string => text.replaceAll(/ +/g, ' ');
  const page = squeezeSpaces(readFileSync('README.md', 'utf8'));
  const rows = Object.values(settings).map(
    ({ flag, hint, env, help, shown }) =>
      `| \`--${flag} ${hint.replaceAll('|', '\\|')}\` | \`${env}\` | ${help} | ${shown} |`,
  );
  for (const line of ['| Flag | Environment | Meaning | Default |', ...rows])
    expect(page).toContain(squeezeSpaces(line));
});

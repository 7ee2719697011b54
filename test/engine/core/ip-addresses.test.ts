import { describe, expect, test } from '@jest/globals';
import { BlockList, isIP } from 'node:net';
import {
  cidrContains,
  isForbiddenAddress,
  isPublicAddress,
  parseAddress,
  parseCidrBlock,
} from '../../../engine/core/ip-addresses.js';
import { mayConnect, parseAllowedAddress } from '../../../engine/core/allowed-addresses.js';
import { seededRandom as seeded } from '../../random.js';

const parsedAddress = (text: string) => parseAddress(text)!;

describe('addresses', () => {
  test.each([
    '127.0.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '::',
    '::1',
    '[::1]',
    '1::',
    '1:2:3:4:5:6:7:8',
    '2001:DB8::a',
    '::ffff:1.2.3.4',
    '64:ff9b::1.2.3.4',
    '1:2:3:4:5:6:1.2.3.4',
  ])('%s is valid', (text) => expect(parseAddress(text)).toBeDefined());

  test.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '0x7f.0.0.1',
    '2130706433',
    '1.2.3.4 ',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '12345::',
    'g::',
    'fe80::1%eth0',
    '::1.2.3',
    '[::1',
    '[1.2.3.4]',
    'localhost',
  ])('%j is not valid', (text) => expect(parseAddress(text)).toBeUndefined());

  test('are parsed as Node parses them, and blocks contain what its BlockList contains', () => {
    const random = seeded(7);
    const randomGroup = (): string => Math.floor(random() * 65_536).toString(16);
    for (let i = 0; i < 2_000; i += 1) {
      const is4 = random() < 0.4;
      const text = is4
        ? Array.from({ length: 4 }, () => Math.floor(random() * 256)).join('.')
        : Array.from({ length: 8 }, () => (random() < 0.5 ? '0' : randomGroup())).join(':');
      expect([text, isIP(text)]).toEqual([text, is4 ? 4 : 6]);
      const address = parseAddress(text)!;
      if (!is4) {
        // The URL parser writes the shortest form of an address, which denotes the same address.
        const shortAddress = new URL(`http://[${text}]`).hostname;
        expect([shortAddress, parseAddress(shortAddress)]).toEqual([shortAddress, address]);
      }
      const prefixLength = Math.floor(random() * ((is4 ? 32 : 128) + 1));
      const family = is4 ? 'ipv4' : 'ipv6';
      const blockList = new BlockList();
      blockList.addSubnet(text, prefixLength, family);
      const nearAddress = is4
        ? text.replace(/\d+$/, (last) => String(Number(last) ^ 1))
        : text.replace(/[^:]+$/, randomGroup());
      if (!/^0:0:0:0:0:(0|ffff):/.test(text)) {
        const isContained = cidrContains({ address, prefixLength }, parseAddress(nearAddress)!);
        expect([text, prefixLength, nearAddress, isContained]).toEqual([
          text,
          prefixLength,
          nearAddress,
          blockList.check(nearAddress, family),
        ]);
      }
    }
  });

  test.each([
    ['0.1.2.3', false],
    ['9.255.255.255', true],
    ['10.0.0.0', false],
    ['10.255.255.255', false],
    ['11.0.0.0', true],
    ['100.63.255.255', true],
    ['100.64.0.0', false],
    ['100.127.255.255', false],
    ['100.128.0.0', true],
    ['127.0.0.0', false],
    ['126.255.255.255', true],
    ['128.0.0.0', true],
    ['168.63.129.16', false],
    ['169.253.255.255', true],
    ['169.254.0.0', false],
    ['169.255.0.0', true],
    ['172.15.255.255', true],
    ['172.16.0.0', false],
    ['172.31.255.255', false],
    ['172.32.0.0', true],
    ['192.0.0.8', false],
    ['192.0.2.1', false],
    ['192.88.99.1', false],
    ['192.167.255.255', true],
    ['192.168.0.0', false],
    ['192.169.0.0', true],
    ['198.17.255.255', true],
    ['198.18.0.0', false],
    ['198.20.0.0', true],
    ['198.51.100.7', false],
    ['203.0.113.7', false],
    ['223.255.255.255', true],
    ['224.0.0.1', false],
    ['239.255.255.255', false],
    ['240.0.0.1', false],
    ['255.255.255.255', false],
    ['8.8.8.8', true],
    ['::', false],
    ['::1', false],
    ['::7f00:1', false],
    ['::808:808', false],
    ['::ffff:8.8.8.8', true],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::808:808', false],
    ['64:ff9b:1::a00:1', false],
    ['100::1', false],
    ['2001::1', false],
    ['2001:db8::1', false],
    ['2001:4860:4860::8888', true],
    ['2002:a00:1::', false],
    ['2a00:1450:4001::1', true],
    ['3fff::1', false],
    ['4000::1', false],
    ['fc00::1', false],
    ['fd12:3456::1', false],
    ['fe80::1', false],
    ['fec0::1', false],
    ['ff02::1', false],
  ])('%s is public: %s', (text, expected) =>
    expect(isPublicAddress(parsedAddress(text))).toBe(expected),
  );
});

describe('allowed addresses (N1)', () => {
  const ownAddresses = [parsedAddress('93.184.216.34')];
  const mayOpen = (entries: readonly string[], host: string, port: number, at: string): boolean =>
    mayConnect(
      { host, port, address: parsedAddress(at) },
      entries.map(parseAllowedAddress),
      ownAddresses,
    );

  test.each([
    [[], 'example.org', 443, '93.184.216.35', true],
    [[], 'example.org', 443, '93.184.216.34', false],
    [['93.184.216.34:443'], 'example.org', 443, '93.184.216.34', true],
    [[], 'localhost', 8080, '127.0.0.1', false],
    [['127.0.0.1:8080'], 'localhost', 8080, '127.0.0.1', true],
    [['127.0.0.1:8080'], 'localhost', 8081, '127.0.0.1', false],
    [['127.0.0.1:8080'], 'localhost', 8080, '127.0.0.2', false],
    [['[::1]:8080'], '[::1]', 8080, '::1', true],
    [['[::ffff:127.0.0.1]:8080'], 'a', 8080, '127.0.0.1', true],
    [['files.lan:8080'], 'FILES.lan.', 8080, '10.1.2.3', true],
    [['files.lan:8080'], 'other.lan', 8080, '10.1.2.3', false],
    [['files.lan:8080'], 'files.lan', 80, '10.1.2.3', false],
    [['10.0.0.0/8'], 'x', 80, '10.1.2.3', true],
    [['10.0.0.0/8'], 'x', 80, '::ffff:10.1.2.3', true],
    [['10.0.0.0/8'], 'x', 80, '11.0.0.0', true],
    [['10.1.2.3'], 'x', 80, '10.1.2.4', false],
    [['fd00::/8'], 'x', 80, 'fd12::1', true],
    [['files.lan:80'], 'files.lan', 80, '169.254.169.254', false],
    [['0.0.0.0/0'], 'x', 80, '169.254.169.254', false],
    [['0.0.0.0/0'], 'x', 80, '127.0.0.1', true],
    [['::/0'], 'x', 80, 'fe80::1', false],
    [['::/0'], 'x', 80, 'fd00:ec2::254', false],
    [['::/0'], 'x', 80, '64:ff9b::a9fe:a9fe', false],
    [['::/0'], 'x', 80, '64:ff9b:1:a9fe:a9:fe00::', false],
    [['::/0'], 'x', 80, '2002:a9fe:a9fe::', false],
    [['::/0'], 'x', 80, '::a9fe:a9fe', false],
    [['::/0'], 'x', 80, 'fd00::5efe:a9fe:a9fe', false],
    [['::/0'], 'x', 80, '::1', true],
    [['168.0.0.0/8'], 'x', 80, '168.63.129.16', false],
    [['100.64.0.0/10'], 'x', 80, '100.100.100.200', false],
    [['100.64.0.0/10'], 'x', 80, '100.100.100.201', true],
  ] as const)('%j: %s port %i at %s may be opened: %s', (entries, host, port, at, expected) =>
    expect(mayOpen(entries, host, port, at)).toBe(expected),
  );

  test.each([
    '169.254.169.254',
    '169.254.0.0/16',
    '169.254.10.0/24',
    'fe80::/10',
    '[fe80::1]:80',
    '168.63.129.16:80',
    'fd00:ec2::254',
    '::ffff:169.254.169.254',
    '64:ff9b::169.254.169.254',
    '[2002:a9fe:a9fe::1]:80',
  ])('%s cannot be listed', (text) =>
    expect(() => parseAllowedAddress(text)).toThrow(
      'link-local and metadata addresses cannot be listed',
    ),
  );

  test.each(['files.lan:22', '127.0.0.1:0', '127.0.0.1:65536', '[::1]:1023'])(
    '%s has no port of the web',
    (text) => expect(() => parseAllowedAddress(text)).toThrow('must be 80, 443 or 1024 to 65535'),
  );

  test.each(['http://x', 'x', '10.0.0.0/33', '::/129', 'a b:80', '10.0.0.0/8:80'])(
    '%s is no entry',
    (text) => expect(() => parseAllowedAddress(text)).toThrow('must be host:port'),
  );

  test('a block of mapped addresses is a block of IPv4', () => {
    expect(parseCidrBlock('::ffff:10.0.0.0/104')).toEqual(parseCidrBlock('10.0.0.0/8'));
    expect(isForbiddenAddress(parsedAddress('10.0.0.1'))).toBe(false);
  });
});

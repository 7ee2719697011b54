/** An IP address as a number. An IPv4-mapped IPv6 address (`::ffff:…`) is represented as the IPv4 address. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** A CIDR block: the addresses whose first `prefixLength` bits are those of `address`. */
export interface CidrBlock {
  readonly address: IpAddress;
  readonly prefixLength: number;
}

/**
 * Parses an address: IPv4 in dotted decimal, or IPv6 with or without brackets; undefined for anything else, such as IPv4 in brackets,
 * zones or octal numbers.
 */
export function parseAddress(text: string): IpAddress | undefined {
  if (!text.includes(':')) {
    const value = parseIpv4(text);
    return value === undefined ? undefined : { family: 4, value };
  }
  const value = parseIpv6(/^\[(.*)\]$/.exec(text)?.[1] ?? text);
  if (value === undefined) return undefined;
  return value >> 32n === 0xffffn ? { family: 4, value: value & low32Bits } : { family: 6, value };
}

/** Parses `10.0.0.0/8` or `fd00::/8`; a single address is a block with one address. Undefined for any other text. */
export function parseCidrBlock(text: string): CidrBlock | undefined {
  const [, host = '', length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === undefined) return undefined;
  const maxBits = address.family === 4 ? 32 : 128;
  // In an IPv4-mapped IPv6 address, the prefix length counts the bits of IPv6, so 96 bits are subtracted.
  const mappedBits = address.family === 4 && host.includes(':') ? 96 : 0;
  const bits = length === undefined ? maxBits : Number(length) - mappedBits;
  return bits >= 0 && bits <= maxBits ? { address, prefixLength: bits } : undefined;
}

/** Whether a CIDR block contains an IP address. */
export function cidrContains(
  { address: { family, value }, prefixLength }: CidrBlock,
  address: IpAddress,
): boolean {
  if (family !== address.family) return false;
  const hostBits = BigInt((family === 4 ? 32 : 128) - prefixLength);
  return value >> hostBits === address.value >> hostBits;
}

export function isSameAddress(a: IpAddress, b: IpAddress): boolean {
  return a.family === b.family && a.value === b.value;
}

/**
 * Returns whether an address belongs to the public internet: to none of the special blocks below and, for IPv6, to `globalUnicastBlock`.
 */
export function isPublicAddress(address: IpAddress): boolean {
  if (address.family === 4) return !specialIpv4Blocks.some((block) => cidrContains(block, address));
  return (
    cidrContains(globalUnicastBlock, address) &&
    !specialIpv6Blocks.some((block) => cidrContains(block, address))
  );
}

/**
 * Whether the server must never connect to an address: link-local addresses and the metadata and internal services of clouds, including
 * IPv6 addresses that gateways translate to one of these.
 */
export function isForbiddenAddress(address: IpAddress): boolean {
  return [address, ...embeddedIpv4(address)].some((one) =>
    forbiddenBlocks.some((block) => cidrContains(block, one)),
  );
}

/** Returns the IPv4 addresses to which an IPv6 address may be translated: by NAT64, 6to4, ISATAP, or as IPv4-compatible. */
function embeddedIpv4({ family, value }: IpAddress): readonly IpAddress[] {
  if (family === 4) return [];
  const addressValues: bigint[] = [];
  const isIn = (text: string): boolean => cidrContains(requireCidrBlock(text), { family, value });
  if (isIn('64:ff9b::/96') || isIn('::/96')) addressValues.push(value & low32Bits);
  if (isIn('2002::/16')) addressValues.push((value >> 80n) & low32Bits);
  if (isIn('64:ff9b:1::/48')) {
    addressValues.push(value & low32Bits);
    // RFC 6052, section 2.2: after a prefix of 48 bits, the address is split around bits 64 to 71.
    addressValues.push((((value >> 64n) & 0xffffn) << 16n) | ((value >> 40n) & 0xffffn));
  }
  const interfaceId = (value >> 32n) & low32Bits;
  if (interfaceId === 0x5efen || interfaceId === 0x2005efen) addressValues.push(value & low32Bits);
  return addressValues.map((one): IpAddress => ({ family: 4, value: one }));
}

const low32Bits = 0xffff_ffffn;

function parseIpv4(text: string): bigint | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined;
  const parts = text.split('.');
  // A number with a leading zero is refused, because some parsers read `010` as octal 8 and others as 10.
  if (parts.some((part) => Number(part) > 255 || (part.length > 1 && part.startsWith('0')))) {
    return undefined;
  }
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  const dotted = /^(.*:)([\d.]+)$/.exec(text);
  if (dotted?.[2]?.includes('.')) {
    const last = parseIpv4(dotted[2]);
    if (last === undefined) return undefined;
    const pair = `${(last >> 16n).toString(16)}:${(last & 0xffffn).toString(16)}`;
    return parseIpv6(`${dotted[1]}${pair}`);
  }
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missingGroups = 8 - head.length - tail.length;
  if (halves.length === 2 ? missingGroups < 1 : missingGroups !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missingGroups }, () => '0'), ...tail];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/** Parses a CIDR block of this file; throws an `Error` if it is invalid. */
function requireCidrBlock(text: string): CidrBlock {
  const block = parseCidrBlock(text);
  if (block === undefined) throw new Error(`${text} is not a block of addresses`);
  return block;
}

/**
 * The IANA IPv4 special-purpose registry (RFC 6890), multicast and reserved addresses, and an address of Azure. No files are served from
 * the few of them that are global.
 */
const specialIpv4Blocks = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local
  '168.63.129.16', // Azure's own services inside every virtual machine
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
].map(requireCidrBlock);

/** The only block from which IANA has assigned global unicast addresses so far (IANA, Internet Protocol Version 6 Address Space). */
const globalUnicastBlock = requireCidrBlock('2000::/3');
const specialIpv6Blocks = [
  '2001::/23', // protocol assignments such as Teredo, ORCHID and benchmarks
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map(requireCidrBlock);

const forbiddenBlocks = [
  '169.254.0.0/16', // link-local; the metadata services of AWS, Azure, Google and others are at 169.254.169.254
  '168.63.129.16', // internal services of Azure
  '100.100.100.200', // metadata service of Alibaba
  '192.0.0.192', // metadata service of Oracle
  'fe80::/10', // link-local
  'fd00:ec2::/32', // metadata service of AWS
  'fd20:ce::254', // metadata service of Google
  'fd00:42::42', // metadata service of Scaleway
].map(requireCidrBlock);

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import { isSame, parseAddress } from '../../engine/core/addresses.js';
import { notAllowed } from './failure.js';
import type { Network } from './network.js';
import { portOf } from './url.js';

/**
 * Connects to one checked address, with TLS where the URL asks for it. Before a byte is sent, the other end is looked at
 * once more: it must be the address that was checked. `hold` is told each socket as soon as it exists, to end it in time.
 */
export async function connectTo(
  url: URL,
  address: string,
  network: Network,
  hold: (socket: Socket) => void,
): Promise<Socket> {
  const socket = network.open(address, portOf(url));
  hold(socket);
  await once(socket, 'connect');
  const wanted = parseAddress(address);
  const there = parseAddress(socket.remoteAddress ?? '');
  if (wanted === undefined || there === undefined || !isSame(wanted, there)) throw notAllowed();
  if (url.protocol === 'http:') return socket;
  const host = url.hostname.replace(/\.$/, '').replaceAll(/^\[|\]$/g, '');
  const encrypted = secure({
    socket,
    host,
    // A certificate may be for an address, but nobody asks for one by that name (RFC 6066, section 3).
    ...(parseAddress(host) === undefined && { servername: host }),
    ALPNProtocols: ['http/1.1'],
    // Also where the environment says otherwise.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(network.authorities !== undefined && { ca: network.authorities }),
  });
  hold(encrypted);
  await once(encrypted, 'secureConnect');
  return encrypted;
}

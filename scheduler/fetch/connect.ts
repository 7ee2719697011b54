import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import { isSameAddress, parseAddress } from '../../engine/core/ip-addresses.js';
import { addressNotAllowedFailure } from './fetch-failure.js';
import type { Network } from './network.js';
import { portOf } from './url.js';

/**
 * Connects to a checked address, with TLS if the URL is `https`. Before a byte is sent, the peer's address is compared with
 * the checked one. `onSocket` is called with each socket as soon as it exists, so that the caller can destroy it.
 */
export async function connectTo(
  url: URL,
  address: string,
  network: Network,
  onSocket: (socket: Socket) => void,
): Promise<Socket> {
  const socket = network.open(address, portOf(url));
  onSocket(socket);
  await once(socket, 'connect');
  const checkedAddress = parseAddress(address);
  const peer = parseAddress(socket.remoteAddress ?? '');
  if (checkedAddress === undefined || peer === undefined || !isSameAddress(checkedAddress, peer))
    throw addressNotAllowedFailure();
  if (url.protocol === 'http:') return socket;
  const host = url.hostname.replace(/\.$/, '').replaceAll(/^\[|\]$/g, '');
  const encrypted = secure({
    socket,
    host,
    // A server name must not be an address literal (RFC 6066, section 3).
    ...(parseAddress(host) === undefined && { servername: host }),
    ALPNProtocols: ['http/1.1'],
    // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(network.authorities !== undefined && { ca: network.authorities }),
  });
  onSocket(encrypted);
  await once(encrypted, 'secureConnect');
  return encrypted;
}

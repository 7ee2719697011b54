import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Name resolution, connections and the addresses of this machine; tests replace single functions. */
export interface Network {
  /** Returns all addresses of a name, in the order of the system's resolver. */
  lookup(host: string): Promise<readonly string[]>;
  /** Opens a connection to an address, without name resolution. */
  open(address: string, port: number): Socket;
  /** Returns the IP addresses of this machine. */
  ownAddresses(): readonly string[];
  /** Trusted certificate authorities in PEM; by default, those that Node trusts. */
  readonly authorities?: string;
}

/** The system's network. The environment is not read, so its proxy settings have no effect (threat N5). */
export const systemNetwork: Network = {
  lookup: async (host) =>
    (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address),
  open: (address, port) =>
    connect({
      host: address,
      port,
      autoSelectFamily: false,
      // Node calls `lookup` only for host names; a host name that reaches this point was not checked.
      lookup: (_host, _options, done) => done(new Error('host names are not resolved here'), ''),
    }),
  ownAddresses: () =>
    Object.values(networkInterfaces()).flatMap((one) => one?.map(({ address }) => address) ?? []),
};

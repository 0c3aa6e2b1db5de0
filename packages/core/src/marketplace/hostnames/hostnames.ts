import { isIP } from 'node:net';

/** How the ports of an instance are called, and how its tenant gets in. Pure. */

/** What a label of a DNS name may hold. */
const LABEL_MAX = 63;

/** `8080-actual-bonsai-frog.example.com`; null where that would be no DNS name. One label, so that one certificate does for all. */
export function instanceHostname(domain: string, instanceName: string, port: number): string | null {
  const label = `${port}-${instanceName}`;
  return label.length > LABEL_MAX ? null : `${label}.${domain}`;
}

export interface SshEndpoint {
  readonly host: string;
  readonly port: number;
  readonly user: string;
}

const hostName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const userName = /^[a-z_][a-z0-9_-]{0,31}$/;

/**
 * What a tenant types to get in. People paste it into a shell, and hosts of suppliers say what they are called: whatever is
 * not plainly an address and a user is not shown.
 */
export function sshCommandOf(endpoint: SshEndpoint | null): string | null {
  if (endpoint === null) return null;
  const { host, port, user } = endpoint;
  return isPlainHost(host) && userName.test(user) ? `ssh ${user}@${host} -p ${port}` : null;
}

function isPlainHost(host: string): boolean {
  return (isIP(host) !== 0 && !host.includes('%')) || hostName.test(host);
}

export interface PortMapping {
  readonly domain: string;
  readonly protocol: string;
  readonly port: number;
}

export interface OpenPorts {
  readonly instanceName: string;
  /** Where the machine's ports are opened. */
  readonly host: string;
  readonly ports: readonly { readonly internalPort: number; readonly externalPort: number }[];
}

/**
 * Where the ports of an instance are reached, other than SSH's: by a name with HTTPS, with the port that the tenant chose.
 * Where the operator gives no names, at the host itself and the port that stands for it there.
 */
export function toPortMappings(open: OpenPorts, domain: string | null): PortMapping[] {
  return open.ports.flatMap(({ internalPort, externalPort }) => {
    const name = domain === null ? null : instanceHostname(domain, open.instanceName, internalPort);
    if (name !== null) return [{ domain: name, protocol: 'https', port: internalPort }];
    return isPlainHost(open.host) ? [{ domain: open.host, protocol: 'tcp', port: externalPort }] : [];
  });
}

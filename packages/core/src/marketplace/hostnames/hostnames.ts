import { isIP } from 'node:net';

/** Builds the hostnames and the SSH command of an instance. Pure. */

/** Maximum length of a DNS label. */
const LABEL_MAX = 63;

/** `8080-actual-bonsai-frog.example.com`; null if too long. One label, so that one certificate covers all. */
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

/** Tenants paste this into a shell, so it is null unless the supplier's host and user are plainly valid. */
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
  readonly host: string;
  readonly ports: readonly { readonly internalPort: number; readonly externalPort: number }[];
}

/** Without hostnames, a port is shown as the host and its external port. */
export function toPortMappings(open: OpenPorts, domain: string | null): PortMapping[] {
  return open.ports.flatMap(({ internalPort, externalPort }) => {
    const name = domain === null ? null : instanceHostname(domain, open.instanceName, internalPort);
    if (name !== null) return [{ domain: name, protocol: 'https', port: internalPort }];
    return isPlainHost(open.host) ? [{ domain: open.host, protocol: 'tcp', port: externalPort }] : [];
  });
}

import type { DriverKind } from '@millrace/compute';

/** Where the engine of a cluster is reached, as its driver wants it written. Pure. */

const MAX_ENDPOINTS = 16;

/** What is wrong with the endpoint of a cluster; null when nothing is. Secrets belong into credentials, never here. */
export function problemWithEndpoint(driver: DriverKind, endpoint: string): string | null {
  switch (driver) {
    case 'incus':
      return endpoint.startsWith('unix:') ? problemWithSocket(endpoint) : problemWithServers(endpoint);
    case 'ironic':
      return isLocalEndpoint(endpoint) ? null : problemWithServer(endpoint);
    case 'mock':
      return /^mock:[\w./-]{0,200}$/.test(endpoint)
        ? null
        : 'must be mock: and, if there are several, a name of this one';
  }
}

/** One server on this very machine: a password to it travels nowhere. */
function isLocalEndpoint(endpoint: string): boolean {
  return /^http:\/\/(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost):\d{1,5}\/?$/.test(endpoint);
}

function problemWithSocket(endpoint: string): string | null {
  return /^unix:\/[^\s,]+$/.test(endpoint) ? null : 'must be unix: and the absolute path of the socket';
}

/** The members of a cluster, any of which can be asked. */
function problemWithServers(endpoint: string): string | null {
  const servers = endpoint.split(',');
  if (servers.length > MAX_ENDPOINTS) return `must name at most ${MAX_ENDPOINTS} servers`;
  return servers.map(problemWithServer).find((problem) => problem !== null) ?? null;
}

function problemWithServer(text: string): string | null {
  const wanted = 'must be https://host:port, or several of these with commas between them';
  if (!URL.canParse(text)) return wanted;
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'must be https: what machines are told to do travels there';
  if (url.username !== '' || url.password !== '') {
    return 'must hold no password: name a credential in credentialRef instead';
  }
  return url.search === '' && url.hash === '' ? null : wanted;
}

export interface EngineEndpoint {
  readonly driver: DriverKind;
  readonly endpoint: string;
}

/** Whether two clusters are one, because a server of both is the same. Engines of the mock are wherever they are named. */
export function isSameEngine(one: EngineEndpoint, other: EngineEndpoint): boolean {
  if (one.driver !== other.driver || one.driver === 'mock') return false;
  const servers = new Set(serversOf(one.endpoint));
  return serversOf(other.endpoint).some((server) => servers.has(server));
}

function serversOf(endpoint: string): readonly string[] {
  if (endpoint.startsWith('unix:')) return [endpoint];
  return endpoint.split(',').map((server) => (URL.canParse(server) ? new URL(server).host : server));
}

import type { DriverKind } from '@millrace/compute';

/** Validates and compares the endpoints of engines. Pure. */

const MAX_ENDPOINTS = 16;

/** Returns why the endpoint is invalid, or null. Endpoints must not contain secrets. */
export function problemWithEndpoint(driver: DriverKind, endpoint: string): string | null {
  switch (driver) {
    case 'incus':
      return endpoint.startsWith('unix:') ? problemWithSocket(endpoint) : problemWithServers(endpoint);
    case 'ironic':
      return isLocalEndpoint(endpoint) ? null : problemWithServer(endpoint);
    case 'mock':
      return /^mock:[\w./-]{0,200}$/.test(endpoint) ? null : 'must be mock:, optionally followed by a name';
  }
}

/** HTTP is allowed to this machine because the password does not leave it. */
function isLocalEndpoint(endpoint: string): boolean {
  return /^http:\/\/(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost):\d{1,5}\/?$/.test(endpoint);
}

function problemWithSocket(endpoint: string): string | null {
  return /^unix:\/[^\s,]+$/.test(endpoint)
    ? null
    : 'must be unix: followed by the absolute path of the socket';
}

/** An Incus cluster may list several members; the driver can use any of them. */
function problemWithServers(endpoint: string): string | null {
  const servers = endpoint.split(',');
  if (servers.length > MAX_ENDPOINTS) return `must name at most ${MAX_ENDPOINTS} servers`;
  return servers.map(problemWithServer).find((problem) => problem !== null) ?? null;
}

function problemWithServer(text: string): string | null {
  const wanted = 'must be https://host:port, or several of them separated by commas';
  if (!URL.canParse(text)) return wanted;
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'must be https, because credentials and machine specs are sent to it';
  if (url.username !== '' || url.password !== '') {
    return 'must not contain a password; name a credential in credentialRef instead';
  }
  return url.search === '' && url.hash === '' ? null : wanted;
}

export interface EngineEndpoint {
  readonly driver: DriverKind;
  readonly endpoint: string;
}

/** Two clusters are the same engine if they share a server. Mock engines are always distinct. */
export function isSameEngine(one: EngineEndpoint, other: EngineEndpoint): boolean {
  if (one.driver !== other.driver || one.driver === 'mock') return false;
  const servers = new Set(serversOf(one.endpoint));
  return serversOf(other.endpoint).some((server) => servers.has(server));
}

function serversOf(endpoint: string): readonly string[] {
  if (endpoint.startsWith('unix:')) return [endpoint];
  return endpoint.split(',').map((server) => (URL.canParse(server) ? new URL(server).host : server));
}

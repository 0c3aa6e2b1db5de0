import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { writeAtomically, type Site } from '../site.ts';
import { makeAuthority, openAuthority } from './authority.ts';

const tenYearsMs = 3650 * 24 * 3_600_000;

/** The certificate of the site's authority, in PEM. Clients of all engines trust it. */
export function caFile(site: Site): string {
  return path.join(site.stateDir, 'tls', 'ca.pem');
}

function caKeyFile(site: Site): string {
  return path.join(site.stateDir, 'tls', 'ca.key');
}

/** Creates the authority of a secure site, once per state folder. `up` calls this before it starts engines. */
export async function ensureAuthority(site: Site): Promise<void> {
  if (existsSync(caFile(site))) return;
  mkdirSync(path.dirname(caFile(site)), { recursive: true, mode: 0o755 });
  const authority = await makeAuthority('Millrace local engines');
  // The key first: a crash between the two files leaves no certificate, so the next `up` writes both.
  writeAtomically(caKeyFile(site), authority.key, 0o600);
  writeAtomically(caFile(site), authority.certificate);
}

export interface ServerTlsFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Creates the certificate of one node for 127.0.0.1 and localhost, once per folder (the node's home). */
export async function ensureServerCertificate(site: Site, folder: string): Promise<ServerTlsFiles> {
  const files = serverTlsFiles(folder);
  if (!existsSync(files.certificateFile)) await issueServerCertificate(site, folder);
  return files;
}

/** Also replaces the certificate that the node has. */
export async function issueServerCertificate(site: Site, folder: string): Promise<void> {
  const files = serverTlsFiles(folder);
  const authority = openAuthority(readFileSync(caFile(site), 'utf8'), readFileSync(caKeyFile(site), 'utf8'));
  const { certificate, key } = await authority.issue({
    name: path.basename(folder),
    dnsNames: ['localhost'],
    addresses: ['127.0.0.1', '::1'],
    notAfter: new Date(Date.now() + tenYearsMs - 24 * 3_600_000),
  });
  writeAtomically(files.keyFile, key, 0o600);
  writeAtomically(files.certificateFile, certificate);
}

function serverTlsFiles(folder: string): ServerTlsFiles {
  return { certificateFile: path.join(folder, 'server.pem'), keyFile: path.join(folder, 'server.key') };
}

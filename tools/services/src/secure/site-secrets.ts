import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { writeAtomically, type Site } from '../site.ts';

/** A secret of a secure site, such as the password of a role. `create` runs once per state folder; later calls read the file. */
export function siteSecret(site: Site, name: string, create: () => string = randomPassword): string {
  const folder = path.join(site.stateDir, 'secrets');
  const file = path.join(folder, name);
  if (existsSync(file)) return readFileSync(file, 'utf8');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const secret = create();
  writeAtomically(file, secret, 0o600);
  return secret;
}

/** Letters and digits only, so that it needs no escaping in URLs and configuration files. */
function randomPassword(): string {
  return randomBytes(24).toString('hex');
}

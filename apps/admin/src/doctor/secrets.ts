import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { roles, secretSettings, type Installation } from './installation.ts';

/** Files with these names are secrets. */
export const secretName = /\.(?:key|keys|seed|secret|token|url|password)$|^(?:identity|public)\.pem$/;

/** Shorter texts would also hide usual words. */
const SHORTEST_SECRET = 8;

/** The paths of all secrets in the folder and in its folders. */
export function secretFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && secretName.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    // The findings about the files of settings say more.
    return [];
  }
}

/** Every secret of the installation, also parts of URLs: a message of a library could contain one. */
export function secretsOf(installation: Installation): readonly string[] {
  const inFiles = secretFiles(installation.folder).map((path) => readText(path).trim());
  const inSettings = roles.flatMap((role) =>
    Object.entries(installation.environment(role)).flatMap(([name, value = '']) =>
      secretSettings.has(name) ? secretsIn(value.trim()) : passwordsIn(value),
    ),
  );
  const all = [...inFiles, ...inFiles.flatMap(passwordsIn), ...inSettings];
  return [...new Set(all)].filter((text) => text.length >= SHORTEST_SECRET);
}

/** The secrets in the value of a setting that is a secret. URLs without a password have none. */
export function secretsIn(value: string): readonly string[] {
  if (/^[[{]/.test(value)) {
    const inJson = [...value.matchAll(/"clientSecret"\s*:\s*"([^"]+)"/g)].map(([, secret = '']) => secret);
    return inJson.length === 0 ? [] : [value, ...inJson];
  }
  return value.split(',').flatMap((entry) => {
    if (/^\w+:\/\//.test(entry.trim())) return passwordsIn(entry.trim());
    // Sealing keys have an id and a colon before the secret.
    return entry === '' ? [] : [entry, entry.slice(entry.indexOf(':') + 1)];
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The passwords in one or several URLs, and the tokens in those of NATS. */
function passwordsIn(text: string): readonly string[] {
  const [scheme = '', ...rests] = text.split('://');
  return rests.flatMap((rest, index) => {
    const [login] = /^[^/@\s]+(?=@)/.exec(rest) ?? [];
    if (login === undefined) return [];
    const isNats = /(?:nats|tls)$/.test(rests[index - 1] ?? scheme);
    if (!login.includes(':') && !isNats) return [];
    const secret = login.slice(login.indexOf(':') + 1);
    return [secret, decoded(secret)];
  });
}

/** A wrong setting may contain a percent sign that begins no code. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function hideSecrets(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) shown = shown.replaceAll(secret, '(secret)');
  return shown;
}
